"""The query language: what an agent typed, read into words and conditions. Total: every string is a query.

Own parser, since a search library's parser raises on `:` and `(` and forgets repeated words. It splits and sorts; which
words count how much is the index's business. `OR` and parentheses are read by `webemu.emulator.groups`.
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
"""A query is read to here; the rest is ignored."""

_ITEM = re.compile(
    r"""(?:^|(?<=[\s"]))(?P<sign>[-+]?)
        (?:(?P<name>site|intitle|inurl|filetype|ext|before|after|lang):)?
        (?:"(?P<phrase>[^"]*)"|(?P<word>\S+))""",
    re.VERBOSE | re.IGNORECASE,
)
_SPECIAL = re.compile(r'[":+|(&]|\bOR\b|\bAND\b|\.\.|(?:^|\s)-')
"""A text without any of these is words alone."""
_GROUPED = re.compile(r"[|(]|\bOR\b")
MAX_SPAN = 100_000
"""A range of more numbers is words: looking them up takes as long as there are numbers in it."""
MAX_RANGES = 4
"""A query with more of them has none."""
_RANGE = re.compile(r"[$€£¥]?(\d{1,9})\.\.[$€£¥]?(\d{1,9})")
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_]\w+)*", re.IGNORECASE)
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "＂": '"', "\u3000": " ", "\0": " "})


@dataclass(frozen=True, slots=True)
class Group:
    """Parts of a query of which any may be met."""

    text: str
    """As typed."""
    ways: tuple[Parsed, ...]

    @property
    def binds(self) -> bool:
        """Whether a page must meet one of them; of plain words the best only ranks."""
        return any(way.conditional for way in self.ways)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query read: `words` are ranked by, everything else includes or excludes."""

    words: str = ""
    """Free text, phrases included, in the order typed."""
    phrases: tuple[str, ...] = ()
    """Each must occur; `*` stands for any one word."""
    without: tuple[str, ...] = ()
    """Words and phrases that must not occur."""
    sites: tuple[str, ...] = ()
    """Sites, any of which will do."""
    without_sites: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    """Each must occur in the title."""
    urls: tuple[str, ...] = ()
    """Each must occur in the URL."""
    types: tuple[str, ...] = ()
    """File types, any of which will do."""
    before: date | None = None
    """Pages dated earlier than this day."""
    after: date | None = None
    """Pages dated on this day or later."""
    required: tuple[str, ...] = ()
    """Words that must occur; they are among `words` too."""
    languages: tuple[str, ...] = ()
    """Two-letter codes, any of which will do."""
    numbers: tuple[tuple[int, int], ...] = ()
    """Of each range, first and last included, a number must occur."""
    either: tuple[Group, ...] = ()
    """Of each group, a way must be met if it binds."""
    unwanted: tuple[Group, ...] = ()
    """Of no group a way may be met: all that it says, its words too."""
    alone: str = ""
    """The words that are in no group, where there are groups."""

    @property
    def conditional(self) -> bool:
        """Whether anything but words was asked."""
        return any(_CONDITIONS(self)) or any(group.binds for group in self.either)

    @property
    def dated(self) -> bool:
        return self.before is not None or self.after is not None

    @property
    def sited(self) -> bool:
        """Whether all that is found is of sites that were asked for."""
        return bool(self.sites) or any(all(way.sited for way in group.ways) for group in self.either)

    @property
    def own(self) -> str:
        """The words that are in no group."""
        return self.alone if self.either else self.words


_CONDITIONS = attrgetter(
    *("phrases", "without", "sites", "without_sites", "titles", "urls", "types", "before", "after", "required"),
    *("languages", "numbers", "unwanted"),
)


def parse(text: str) -> Parsed:
    """Read a query. Operators that cannot be read (`before:soon`, a lone `site:`) are words."""
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
    """Each condition of a query: what it says alone, and the query without it."""
    text = _clean(text)
    parts = [(parse(text[node.start : node.end]), node) for node in leaves(grouped(text))]
    return [
        (said, " ".join((text[: node.start] + text[node.end :]).split())) for said, node in parts if said.conditional
    ]


def narrowed(text: str, added: Iterable[str]) -> str:
    """The query under more conditions, which nothing in it can take in: no open quote, no `OR` at its end."""
    more = " ".join(added)
    if not more:
        return text
    text = _clean(text)[: max(MAX_CHARS // 2, MAX_CHARS - len(more) - 4)]
    grammar = _ITEM
    if _GROUPED.search(text):
        more, grammar = f"() {more}", TOKEN
    if any(item.start() < len(text) < item.end() for item in grammar.finditer(f"{text} {more}")):
        text = text.replace('"', " ")
    return f"{text} {more}".strip()


def _clean(text: str) -> str:
    return text[:MAX_CHARS].translate(_QUOTES)


class _Found:
    """What was read so far of a query or of a part of it."""

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
        values: dict[str, Any] = {name: tuple(values) for name, values in self.lists.items()} | self.days
        values |= {"words": " ".join(self.lists["words"]), "numbers": tuple(self.numbers)}
        values |= {"either": tuple(self.either), "unwanted": tuple(self.unwanted)}
        return Parsed(**values, alone=" ".join(self.own) if self.either else "")

    def read(self, text: str) -> None:
        """Items side by side."""
        before = len(self.lists["words"])
        for match in _ITEM.finditer(text):
            self._sort(match)
        self.own += self.lists["words"][before:]

    def take(self, text: str, nodes: list[Node]) -> None:
        """Items and groups of them."""
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
        ways = [
            (found, way)
            for found in (_read_in(text, [one]) for one in node.members)
            if (way := found.parsed()) != Parsed()
        ]
        if len(ways) > 1:
            self.either.append(Group(text[node.start : node.end], tuple(way for _, way in ways)))
            self.lists["words"] += [way.words for _, way in ways if way.words]
        for found, _ in ways if len(ways) == 1 else ():
            self._add(found)

    def _add(self, other: _Found) -> None:
        """What was read apart, as if it had been read here."""
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
        """Take a condition in; whether it is one."""
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
    found = _Found()
    found.take(text, nodes)
    return found


def _span(value: str) -> tuple[int, int] | None:
    """First and last of `2010..2020` or `$50..100`."""
    if not (match := _RANGE.fullmatch(value)):
        return None
    first, last = sorted((int(match[1]), int(match[2])))
    return (first, last) if last - first < MAX_SPAN else None


_KINDS = {"intitle": "titles", "inurl": "urls", "filetype": "types", "ext": "types", "lang": "languages"}


def _read(name: str, value: str) -> tuple[str, str]:
    """The list a condition belongs in, and its value; empty if it is none."""
    kind = _KINDS[name]
    if kind == "languages":
        code = _LANGUAGE.fullmatch(value)
        return kind, code[1].lower() if code else ""
    if not any(map(str.isalnum, value)):
        return kind, ""
    return kind, value.lower().lstrip(".") if kind == "types" else value


def _site(value: str) -> str:
    """Host (and path, if any) of what people write after `site:`: lower case, ASCII, no `*.`, scheme or port."""
    value = (value.lower().partition("://")[2] or value.lower()).removeprefix("*").strip("./")
    host, slash, path = value.partition("/")
    host = host.partition(":")[0]
    return (host if host.isascii() else urls.host(urls.exact(f"http://{host}"))) + slash + path
