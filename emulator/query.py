"""The query language: parses what an agent typed into words and filters. Every string is a valid query.

A parser of our own, since those of search libraries raise on `:` and `(` and drop repeated words. It only splits and
classifies; the index decides how much a word counts. `webemu.emulator.groups` parses `OR` and parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from operator import attrgetter
from typing import Any

from webemu.emulator import urls
from webemu.emulator.dates import parse_span
from webemu.emulator.groups import TOKEN, Node, grouped, leaves

MAX_CHARS = 4096
"""Characters of a query that are read; the rest is ignored."""

_ITEM = re.compile(
    r"""(?:^|(?<=[\s"]))(?P<sign>[-+]?)
        (?:(?P<name>site|intitle|inurl|filetype|ext|before|after|lang):)?
        (?:"(?P<phrase>[^"]*)"|(?P<word>\S+))""",
    re.VERBOSE | re.IGNORECASE,
)
"""One item: an optional sign, an optional operator, and a phrase or a word."""
_SPECIAL = re.compile(r'[":+|(&]|\bOR\b|\bAND\b|\.\.|(?:^|\s)-')
"""Anything that makes a query more than plain words."""
_GROUPED = re.compile(r"[|(]|\bOR\b")
"""Anything that makes groups."""
MAX_SPAN = 100_000
"""A wider number range is read as words, because looking it up takes time in proportion to its width."""
MAX_RANGES = 4
"""A query with more number ranges than this has none."""
_RANGE = re.compile(r"[$€£¥]?(\d{1,9})\.\.[$€£¥]?(\d{1,9})")
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_]\w+)*", re.IGNORECASE)
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "＂": '"', "\u3000": " ", "\0": " "})


@dataclass(frozen=True, slots=True)
class Group:
    """Alternatives of a query, of which any may match."""

    text: str
    """The group as typed."""
    ways: tuple[Parsed, ...]
    """Operands of the `OR`."""

    @property
    def binds(self) -> bool:
        """True if the group filters pages; False if it only affects their rank."""
        return any(way.conditional for way in self.ways)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed query: `words` rank pages, everything else includes or excludes them."""

    words: str = ""
    """Free text, phrases included, in the order typed."""
    phrases: tuple[str, ...] = ()
    """Phrases that must occur; `*` stands for any one word."""
    without: tuple[str, ...] = ()
    """Words and phrases that must not occur."""
    sites: tuple[str, ...] = ()
    """Sites of which any must match."""
    without_sites: tuple[str, ...] = ()
    """Sites that must not match."""
    titles: tuple[str, ...] = ()
    """Words and phrases that must occur in the title."""
    urls: tuple[str, ...] = ()
    """Texts that must occur in the URL."""
    types: tuple[str, ...] = ()
    """File types of which any must match."""
    before: date | None = None
    """Pages must be dated before this day."""
    after: date | None = None
    """Pages must be dated on this day or later."""
    required: tuple[str, ...] = ()
    """Words that must occur; they are among `words` too."""
    languages: tuple[str, ...] = ()
    """Language codes of which any must match."""
    numbers: tuple[tuple[int, int], ...] = ()
    """Number ranges, bounds included; a number of each range must occur."""
    either: tuple[Group, ...] = ()
    """`OR` groups: if a group is a filter, one of its alternatives must match."""
    unwanted: tuple[Group, ...] = ()
    """Excluded groups: a page that matches any alternative, words included, is dropped."""
    alone: str = ""
    """Words outside all groups; empty if there are no groups."""

    @property
    def conditional(self) -> bool:
        """True if the query has any filter besides its words."""
        return any(_CONDITIONS(self)) or any(group.binds for group in self.either)

    @property
    def dated(self) -> bool:
        """True if the query filters by date."""
        return self.before is not None or self.after is not None

    @property
    def sited(self) -> bool:
        """True if every result must be from a site that the query names."""
        return bool(self.sites) or any(all(way.sited for way in group.ways) for group in self.either)

    @property
    def own(self) -> str:
        """Words outside all groups; all words if there are no groups."""
        return self.alone if self.either else self.words


_CONDITIONS = attrgetter(
    *("phrases", "without", "sites", "without_sites", "titles", "urls", "types", "before", "after", "required"),
    *("languages", "numbers", "unwanted"),
)


def parse(text: str) -> Parsed:
    """Return the parsed query. Never raises: operators that cannot be read (`before:soon`, a lone `site:`) are words.

    parse_query('lighthouse -tower site:example.org').sites  # ("example.org",)
    """
    text = _clean(text).encode("utf-8", "replace").decode()
    if ".." in text and len(_RANGE.findall(text)) > MAX_RANGES:
        text = text.replace("..", " ")
    if not _SPECIAL.search(text):
        return Parsed(words=" ".join(text.split()))
    found = _Found()
    if _GROUPED.search(text):
        found.take(text, grouped(text))
    else:
        found.read(text)
    return found.parsed()


def conditions(text: str) -> list[tuple[Parsed, str]]:
    """Return each filter of a query, parsed alone, with the query as it reads without that filter."""
    text = _clean(text)
    parts = [(parse(text[node.start : node.end]), node) for node in leaves(grouped(text))]
    return [
        (said, " ".join((text[: node.start] + text[node.end :]).split())) for said, node in parts if said.conditional
    ]


def narrowed(text: str, added: Iterable[str]) -> str:
    """Return the query with more filters appended.

    It is shortened and its quotes are dropped where needed, so that nothing in it (an open quote, a final `OR`)
    absorbs the new filters.
    """
    more = " ".join(added)  # filters such as site:example.org
    if not more:
        return text
    text = _clean(text)[: max(MAX_CHARS // 2, MAX_CHARS - len(more) - 4)]
    grammar = _ITEM
    if _GROUPED.search(text):
        more, grammar = f"() {more}", TOKEN
    # An item that spans the end of the query would absorb the filters; an open quote makes one.
    if any(item.start() < len(text) < item.end() for item in grammar.finditer(f"{text} {more}")):
        text = text.replace('"', " ")
    return f"{text} {more}".strip()


def _clean(text: str) -> str:
    """Return the readable part of a query with plain quotes and spaces."""
    return text[:MAX_CHARS].translate(_QUOTES)


class _Found:
    """Collects the items of a query, or of a part of it."""

    def __init__(self) -> None:
        self.lists: dict[str, list[str]] = {
            name: [] for name in ("words", "phrases", "without", "sites", "without_sites", "titles", "urls", "types")
        }
        self.lists |= {name: [] for name in ("required", "languages")}
        self.numbers: list[tuple[int, int]] = []
        self.days: dict[str, date] = {}
        self.either: list[Group] = []
        self.unwanted: list[Group] = []
        self.own: list[str] = []

    def parsed(self) -> Parsed:
        """Return what was collected."""
        values: dict[str, Any] = {name: tuple(values) for name, values in self.lists.items()} | self.days
        values |= {"words": " ".join(self.lists["words"]), "numbers": tuple(self.numbers)}
        values |= {"either": tuple(self.either), "unwanted": tuple(self.unwanted)}
        return Parsed(**values, alone=" ".join(self.own) if self.either else "")

    def read(self, text: str) -> None:
        """Add the items of a text without groups."""
        before = len(self.lists["words"])
        for match in _ITEM.finditer(text):
            self._sort(match)
        self.own += self.lists["words"][before:]

    def take(self, text: str, nodes: list[Node]) -> None:
        """Add the parts of a text with groups."""
        for node in nodes:
            said = text[node.start : node.end]
            if node.is_leaf:
                self.read(said)
            elif node.is_unwanted:
                if (way := _read_in(text, node.members).parsed()) != Parsed():
                    self.unwanted.append(Group(said[2:-1].strip(), (way,)))
            elif node.is_choice:
                self._choose(text, node)
            else:
                self.take(text, node.members)

    def _choose(self, text: str, node: Node) -> None:
        """Add an `OR` group. Empty alternatives are dropped; a single remaining one is no choice and is merged."""
        ways = [
            (found, way)
            for found in (_read_in(text, [one]) for one in node.members)
            if (way := found.parsed()) != Parsed()
        ]
        if len(ways) > 1:
            self.either.append(Group(text[node.start : node.end], tuple(way for _, way in ways)))
            self.lists["words"] += [way.words for _, way in ways if way.words]
        for found, _ in ways if len(ways) == 1 else ():  # a choice with one alternative is no choice
            self._add(found)

    def _add(self, other: _Found) -> None:
        """Merge the items of a separately parsed part."""
        for name, values in other.lists.items():
            self.lists[name] += values
        for name, stricter in (("before", min), ("after", max)):
            if name in other.days:
                self.days[name] = stricter(other.days[name], self.days.get(name, other.days[name]))
        self.numbers += other.numbers
        self.either += other.either
        self.unwanted += other.unwanted
        self.own += other.own

    def _sort(self, match: re.Match[str]) -> None:
        """Add one item to the list that it belongs to."""
        name = (match["name"] or "").lower()
        phrase, word = match["phrase"], match["word"]
        value = (phrase if phrase is not None else word).strip()
        if name:
            if not self._operator(name, match["sign"], value):
                self.lists["words"].append(match[0].replace('"', " "))
        elif match["sign"] == "-" and any(map(str.isalnum, value)):
            if phrase is None and (span := _span(value)):
                self.unwanted.append(Group(value, (Parsed(numbers=(span,)),)))
            else:
                self.lists["without"].append(value)
        elif phrase is not None:
            if any(map(str.isalnum, value)):
                self.lists["phrases"].append(value)
                self.lists["words"].append(" ".join(value.replace("*", " ").split()) if "*" in value else value)
        elif span := _span(value):
            self.numbers.append(span)
        elif match["sign"] == "+" and any(map(str.isalpha, value)):
            self.lists["required"].append(value)
            self.lists["words"].append(value)
        elif value not in ("OR", "AND", "|", "&"):
            self.lists["words"].append(match[0].replace('"', " "))

    def _operator(self, name: str, sign: str, value: str) -> bool:
        """Add a `name:value` filter; return False if it cannot be read and is to be treated as words."""
        is_unwanted = sign == "-"
        if name in ("before", "after"):
            span = parse_span(value)
            if span and not is_unwanted:
                days, stricter = self.days, min if name == "before" else max
                days[name] = stricter(span[0], days.get(name, span[0]))
            return span is not None and not is_unwanted
        if name == "site":
            if site := _site(value):
                self.lists["without_sites" if is_unwanted else "sites"].append(site)
            return bool(site)
        kind, read = _read(name, value)
        if read and is_unwanted:
            said: dict[str, Any] = {kind: (read,)}
            self.unwanted.append(Group(f"{name}:{value}", (Parsed(**said),)))
        elif read:
            self.lists[kind].append(read)
        return bool(read)


def _read_in(text: str, nodes: list[Node]) -> _Found:
    """Parse some parts of a text on their own."""
    found = _Found()
    found.take(text, nodes)
    return found


def _span(value: str) -> tuple[int, int] | None:
    """Return the bounds of a number range, such as `2010..2020` or `$50..100`; None if it is not one or is too wide."""
    if not (match := _RANGE.fullmatch(value)):
        return None
    first, last = sorted((int(match[1]), int(match[2])))
    return (first, last) if last - first < MAX_SPAN else None


_KINDS = {"intitle": "titles", "inurl": "urls", "filetype": "types", "ext": "types", "lang": "languages"}


def _read(name: str, value: str) -> tuple[str, str]:
    """Return the `ParsedQuery` field that an operator fills, and its operand (empty if it cannot be read)."""
    kind = _KINDS[name]
    if kind == "languages":
        code = _LANGUAGE.fullmatch(value)
        return kind, code[1].lower() if code else ""
    if not any(map(str.isalnum, value)):
        return kind, ""
    return kind, value.lower().lstrip(".") if kind == "types" else value


def _site(value: str) -> str:
    """Return host and path of what people write after `site:`: lower case, ASCII, without `*.`, scheme and port."""
    value = (value.lower().partition("://")[2] or value.lower()).removeprefix("*").strip("./")
    host, slash, path = value.partition("/")
    host = host.partition(":")[0]
    return (host if host.isascii() else urls.host(urls.exact(f"http://{host}"))) + slash + path
