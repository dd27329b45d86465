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
from webemu.emulator.dates import parse_date_range
from webemu.emulator.groups import TOKEN_PATTERN, Node, parse_groups, removable_groups

MAX_CHARS = 4096
"""Characters of a query that are read; the rest is ignored."""

_ITEM_PATTERN = re.compile(
    r"""(?:^|(?<=[\s"]))(?P<sign>[-+]?)
        (?:(?P<name>site|intitle|inurl|filetype|ext|before|after|lang):)?
        (?:"(?P<phrase>[^"]*)"|(?P<word>\S+))""",
    re.VERBOSE | re.IGNORECASE,
)
"""One item: an optional sign, an optional operator, and a phrase or a word."""
_OPERATOR_PATTERN = re.compile(r'[":+|(&]|\bOR\b|\bAND\b|\.\.|(?:^|\s)-')
"""Anything that makes a query more than plain words."""
_GROUP_PATTERN = re.compile(r"[|(]|\bOR\b")
"""Anything that makes groups."""
MAX_SPAN = 100_000
"""A wider number range is read as words, because looking it up takes time in proportion to its width."""
MAX_RANGES = 4
"""A query with more number ranges than this has none."""
_NUMBER_RANGE = re.compile(r"[$€£¥]?(\d{1,9})\.\.[$€£¥]?(\d{1,9})")
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_]\w+)*", re.IGNORECASE)
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "＂": '"', "\u3000": " ", "\0": " "})


@dataclass(frozen=True, slots=True)
class Group:
    """Alternatives of a query, of which any may match."""

    text: str
    """The group as typed."""
    alternatives: tuple[ParsedQuery, ...]
    """Operands of the `OR`."""

    @property
    def is_filter(self) -> bool:
        """True if the group filters pages; False if it only affects their rank."""
        return any(way.has_filters for way in self.alternatives)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed query: `words` rank pages, everything else includes or excludes them."""

    words: str = ""
    """Free text, phrases included, in the order typed."""
    phrases: tuple[str, ...] = ()
    """Phrases that must occur; `*` stands for any one word."""
    excluded_terms: tuple[str, ...] = ()
    """Words and phrases that must not occur."""
    sites: tuple[str, ...] = ()
    """Sites of which any must match."""
    excluded_sites: tuple[str, ...] = ()
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
    any_of: tuple[Group, ...] = ()
    """`OR` groups: if a group is a filter, one of its alternatives must match."""
    excluded_groups: tuple[Group, ...] = ()
    """Excluded groups: a page that matches any alternative, words included, is dropped."""
    words_outside_groups: str = ""
    """Words outside all groups; empty if there are no groups."""

    @property
    def has_filters(self) -> bool:
        """True if the query has any filter besides its words."""
        return any(_filter_fields(self)) or any(group.is_filter for group in self.any_of)

    @property
    def has_date_filter(self) -> bool:
        """True if the query filters by date."""
        return self.before is not None or self.after is not None

    @property
    def is_site_restricted(self) -> bool:
        """True if every result must be from a site that the query names."""
        return bool(self.sites) or any(
            all(way.is_site_restricted for way in group.alternatives) for group in self.any_of
        )

    @property
    def ungrouped_words(self) -> str:
        """Words outside all groups; all words if there are no groups."""
        return self.words_outside_groups if self.any_of else self.words


_filter_fields = attrgetter(
    *("phrases", "excluded_terms", "sites", "excluded_sites", "titles", "urls", "types", "before", "after", "required"),
    *("languages", "numbers", "excluded_groups"),
)


def parse_query(text: str) -> ParsedQuery:
    """Return the parsed query. Never raises: operators that cannot be read (`before:soon`, a lone `site:`) are words.

    parse_query('lighthouse -tower site:example.org').sites  # ("example.org",)
    """
    text = _clean_text(text).encode("utf-8", "replace").decode()
    if ".." in text and len(_NUMBER_RANGE.findall(text)) > MAX_RANGES:
        text = text.replace("..", " ")
    if not _OPERATOR_PATTERN.search(text):
        return ParsedQuery(words=" ".join(text.split()))
    builder = _QueryBuilder()
    if _GROUP_PATTERN.search(text):
        builder.add_nodes(text, parse_groups(text))
    else:
        builder.add_items(text)
    return builder.build()


def list_conditions(text: str) -> list[tuple[ParsedQuery, str]]:
    """Return each filter of a query, parsed alone, with the query as it reads without that filter."""
    text = _clean_text(text)
    parts = [(parse_query(text[node.start : node.end]), node) for node in removable_groups(parse_groups(text))]
    return [
        (parsed, " ".join((text[: node.start] + text[node.end :]).split()))
        for parsed, node in parts
        if parsed.has_filters
    ]


def add_conditions(text: str, added: Iterable[str]) -> str:
    """Return the query with more filters appended.

    It is shortened and its quotes are dropped where needed, so that nothing in it (an open quote, a final `OR`)
    absorbs the new filters.
    """
    addition = " ".join(added)  # filters such as site:example.org
    if not addition:
        return text
    text = _clean_text(text)[: max(MAX_CHARS // 2, MAX_CHARS - len(addition) - 4)]
    pattern = _ITEM_PATTERN
    if _GROUP_PATTERN.search(text):
        addition, pattern = f"() {addition}", TOKEN_PATTERN
    # An item that spans the end of the query would absorb the filters; an open quote makes one.
    if any(item.start() < len(text) < item.end() for item in pattern.finditer(f"{text} {addition}")):
        text = text.replace('"', " ")
    return f"{text} {addition}".strip()


def _clean_text(text: str) -> str:
    """Return the readable part of a query with plain quotes and spaces."""
    return text[:MAX_CHARS].translate(_QUOTES)


class _QueryBuilder:
    """Collects the items of a query, or of a part of it."""

    def __init__(self) -> None:
        self.lists: dict[str, list[str]] = {
            name: []
            for name in ("words", "phrases", "excluded_terms", "sites", "excluded_sites", "titles", "urls", "types")
        }
        self.lists |= {name: [] for name in ("required", "languages")}
        self.numbers: list[tuple[int, int]] = []
        self.days: dict[str, date] = {}
        self.any_of: list[Group] = []
        self.excluded_groups: list[Group] = []
        self.ungrouped_words: list[str] = []

    def build(self) -> ParsedQuery:
        """Return what was collected."""
        values: dict[str, Any] = {name: tuple(values) for name, values in self.lists.items()} | self.days
        values |= {"words": " ".join(self.lists["words"]), "numbers": tuple(self.numbers)}
        values |= {"any_of": tuple(self.any_of), "excluded_groups": tuple(self.excluded_groups)}
        return ParsedQuery(**values, words_outside_groups=" ".join(self.ungrouped_words) if self.any_of else "")

    def add_items(self, text: str) -> None:
        """Add the items of a text without groups."""
        before = len(self.lists["words"])
        for match in _ITEM_PATTERN.finditer(text):
            self._add_item(match)
        self.ungrouped_words += self.lists["words"][before:]

    def add_nodes(self, text: str, nodes: list[Node]) -> None:
        """Add the parts of a text with groups."""
        for node in nodes:
            part = text[node.start : node.end]
            if node.is_leaf:
                self.add_items(part)
            elif node.is_excluded:
                if (alternative := _build_part(text, node.members).build()) != ParsedQuery():
                    self.excluded_groups.append(Group(part[2:-1].strip(), (alternative,)))
            elif node.is_choice:
                self._add_choice(text, node)
            else:
                self.add_nodes(text, node.members)

    def _add_choice(self, text: str, node: Node) -> None:
        """Add an `OR` group. Empty alternatives are dropped; a single remaining one is no choice and is merged."""
        alternatives = [
            (builder, alternative)
            for builder in (_build_part(text, [one]) for one in node.members)
            if (alternative := builder.build()) != ParsedQuery()
        ]
        if len(alternatives) > 1:
            self.any_of.append(
                Group(text[node.start : node.end], tuple(alternative for _, alternative in alternatives))
            )
            self.lists["words"] += [alternative.words for _, alternative in alternatives if alternative.words]
        for builder, _ in alternatives if len(alternatives) == 1 else ():  # a choice with one alternative is no choice
            self._merge(builder)

    def _merge(self, other: _QueryBuilder) -> None:
        """Merge the items of a separately parsed part."""
        for name, values in other.lists.items():
            self.lists[name] += values
        for name, stricter in (("before", min), ("after", max)):
            if name in other.days:
                self.days[name] = stricter(other.days[name], self.days.get(name, other.days[name]))
        self.numbers += other.numbers
        self.any_of += other.any_of
        self.excluded_groups += other.excluded_groups
        self.ungrouped_words += other.ungrouped_words

    def _add_item(self, match: re.Match[str]) -> None:
        """Add one item to the list that it belongs to."""
        name = (match["name"] or "").lower()
        phrase, word = match["phrase"], match["word"]
        value = (phrase if phrase is not None else word).strip()
        if name:
            if not self._add_operator(name, match["sign"], value):
                self.lists["words"].append(match[0].replace('"', " "))
        elif match["sign"] == "-" and any(map(str.isalnum, value)):
            if phrase is None and (span := _parse_number_range(value)):
                self.excluded_groups.append(Group(value, (ParsedQuery(numbers=(span,)),)))
            else:
                self.lists["excluded_terms"].append(value)
        elif phrase is not None:
            if any(map(str.isalnum, value)):
                self.lists["phrases"].append(value)
                self.lists["words"].append(" ".join(value.replace("*", " ").split()) if "*" in value else value)
        elif span := _parse_number_range(value):
            self.numbers.append(span)
        elif match["sign"] == "+" and any(map(str.isalpha, value)):
            self.lists["required"].append(value)
            self.lists["words"].append(value)
        elif value not in ("OR", "AND", "|", "&"):
            self.lists["words"].append(match[0].replace('"', " "))

    def _add_operator(self, name: str, sign: str, value: str) -> bool:
        """Add a `name:value` filter; return False if it cannot be read and is to be treated as words."""
        is_excluded = sign == "-"
        if name in ("before", "after"):
            span = parse_date_range(value)
            if span and not is_excluded:
                days, stricter = self.days, min if name == "before" else max
                days[name] = stricter(span[0], days.get(name, span[0]))
            return span is not None and not is_excluded
        if name == "site":
            if site := _parse_site(value):
                self.lists["excluded_sites" if is_excluded else "sites"].append(site)
            return bool(site)
        field_name, operand = _parse_operand(name, value)
        if operand and is_excluded:
            fields: dict[str, Any] = {field_name: (operand,)}
            self.excluded_groups.append(Group(f"{name}:{value}", (ParsedQuery(**fields),)))
        elif operand:
            self.lists[field_name].append(operand)
        return bool(operand)


def _build_part(text: str, nodes: list[Node]) -> _QueryBuilder:
    """Parse some parts of a text on their own."""
    builder = _QueryBuilder()
    builder.add_nodes(text, nodes)
    return builder


def _parse_number_range(value: str) -> tuple[int, int] | None:
    """Return the bounds of a number range, such as `2010..2020` or `$50..100`; None if it is not one or is too wide."""
    if not (match := _NUMBER_RANGE.fullmatch(value)):
        return None
    first, last = sorted((int(match[1]), int(match[2])))
    return (first, last) if last - first < MAX_SPAN else None


_FIELD_OF_OPERATOR = {"intitle": "titles", "inurl": "urls", "filetype": "types", "ext": "types", "lang": "languages"}


def _parse_operand(name: str, value: str) -> tuple[str, str]:
    """Return the `ParsedQuery` field that an operator fills, and its operand (empty if it cannot be read)."""
    field_name = _FIELD_OF_OPERATOR[name]
    if field_name == "languages":
        code = _LANGUAGE.fullmatch(value)
        return field_name, code[1].lower() if code else ""
    if not any(map(str.isalnum, value)):
        return field_name, ""
    return field_name, value.lower().lstrip(".") if field_name == "types" else value


def _parse_site(value: str) -> str:
    """Return host and path of what people write after `site:`: lower case, ASCII, without `*.`, scheme and port."""
    value = (value.lower().partition("://")[2] or value.lower()).removeprefix("*").strip("./")
    host, slash, path = value.partition("/")
    host = host.partition(":")[0]
    return (host if host.isascii() else urls.host_of(urls.normalize(f"http://{host}"))) + slash + path
