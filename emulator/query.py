"""The query language: parses what an agent typed into words and filters. Every string is a valid query.

A parser of our own, since those of search libraries raise on `:` and `(` and drop repeated words. It only splits and
classifies; the index decides how much a word counts. `webemu.emulator.groups` parses `OR` and parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from operator import attrgetter

from webemu.emulator import urls
from webemu.emulator.command_lines import find_exclusions
from webemu.emulator.dates import parse_date_range
from webemu.emulator.groups import TOKEN_PATTERN, Node, parse_groups, removable_groups
from webemu.emulator.types import Correction

MAX_CHARS = 4096
"""Characters of a query that are read; the rest is ignored."""

_ITEM_PATTERN = re.compile(
    r"""(?:^|(?<=[\s"]))(?P<sign>[-+]?)
        (?:(?P<name>site|intitle|intext|inurl|filetype|ext|before|after|lang):)?
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
_TYPOGRAPHIC = "“”„«»"
_QUOTES = str.maketrans(dict.fromkeys(_TYPOGRAPHIC + "＂", '"') | {"\u3000": " ", "\0": " "})
_PROSE_QUOTES = _QUOTES | dict.fromkeys(map(ord, _TYPOGRAPHIC), " ")
_SENTENCE_END = re.compile(r"[.?!][”“»]?\s*$")
MAX_KEYWORDS = 12
"""A query of more words is prose, whose typographic quotes are no operators."""


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
    """Phrases that must occur if enough pages have them (`webemu.emulator.relaxation`); `*` stands for any one word."""
    excluded_terms: tuple[str, ...] = ()
    """Words and phrases that must not occur."""
    sites: tuple[str, ...] = ()
    """Sites of which any must match."""
    excluded_sites: tuple[str, ...] = ()
    """Sites that must not match."""
    titles: tuple[str, ...] = ()
    """Words and phrases that must occur in the title."""
    texts: tuple[str, ...] = ()
    """Words and phrases that must occur, however few pages have them; they are among `words` too."""
    urls: tuple[str, ...] = ()
    """Texts that must occur in the URL."""
    types: tuple[str, ...] = ()
    """File types of which any must match."""
    before: date | None = None
    """Pages must be dated before this day."""
    after: date | None = None
    """Pages must be dated on this day or later."""
    required: tuple[str, ...] = ()
    """Words that must occur if enough pages have them; they are among `words` too."""
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
    corrections: tuple[Correction, ...] = ()
    """Corrections that `words` already contains (`webemu.emulator.spelling`); parsing alone makes none."""
    snippet_characters: int = 0
    """Characters to which snippets are widened by whole sentences; 0 leaves them as they are."""
    is_dated: bool = False
    """True if the search is as of a day: pages are found by what they say themselves, since links to them may be
    later.
    """

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
    *("phrases", "excluded_terms", "sites", "excluded_sites", "titles", "texts", "urls", "types", "before", "after"),
    *("required", "languages", "numbers", "excluded_groups"),
)


def parse_query(text: str, is_strict: bool = False) -> ParsedQuery:
    """Return the parsed query. Never raises: operators that cannot be read (`before:soon`, a lone `site:`) are words.

        parse_query('lighthouse -tower site:example.org').sites  # ("example.org",)

    A dash excludes only where it is plainly an operator, and belongs to an option where it is not
    (`webemu.emulator.command_lines`); if `is_strict`, every dash before a letter or digit excludes.
    """
    text = _clean_text(text).encode("utf-8", "replace").decode()
    if ".." in text and len(_NUMBER_RANGE.findall(text)) > MAX_RANGES:
        text = text.replace("..", " ")
    if not _OPERATOR_PATTERN.search(text):
        return ParsedQuery(words=" ".join(text.split()))
    builder = _QueryBuilder(None if is_strict else find_exclusions(text) if "-" in text else frozenset())
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
    """Return the readable part of a query with plain quotes and spaces; typographic quotes of prose become spaces."""
    text = text[:MAX_CHARS]
    is_prose = bool(_SENTENCE_END.search(text)) or len(text.split()) > MAX_KEYWORDS
    return text.translate(_PROSE_QUOTES if is_prose else _QUOTES)


@dataclass(slots=True)
class _QueryBuilder:
    """Collects the items of a query, or of a part of it. Most fields are those of `ParsedQuery`."""

    exclusions: frozenset[int] | None
    """Offsets of the dashes of the query that exclude; None if all do."""
    words: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)
    excluded_terms: list[str] = field(default_factory=list)
    sites: list[str] = field(default_factory=list)
    excluded_sites: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    before: date | None = None
    after: date | None = None
    required: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    numbers: list[tuple[int, int]] = field(default_factory=list)
    any_of: list[Group] = field(default_factory=list)
    excluded_groups: list[Group] = field(default_factory=list)
    ungrouped_words: list[str] = field(default_factory=list)

    def build(self) -> ParsedQuery:
        """Return what was collected."""
        return ParsedQuery(
            words=" ".join(self.words),
            phrases=tuple(self.phrases),
            excluded_terms=tuple(self.excluded_terms),
            sites=tuple(self.sites),
            excluded_sites=tuple(self.excluded_sites),
            titles=tuple(self.titles),
            texts=tuple(self.texts),
            urls=tuple(self.urls),
            types=tuple(self.types),
            before=self.before,
            after=self.after,
            required=tuple(self.required),
            languages=tuple(self.languages),
            numbers=tuple(self.numbers),
            any_of=tuple(self.any_of),
            excluded_groups=tuple(self.excluded_groups),
            words_outside_groups=" ".join(self.ungrouped_words) if self.any_of else "",
        )

    def add_items(self, text: str, offset: int = 0) -> None:
        """Add the items of a text without groups, which begins at an offset of the query."""
        before = len(self.words)
        for match in _ITEM_PATTERN.finditer(text):
            self._add_item(match, match["sign"] == "-" and self._is_exclusion(offset + match.start()))
        self.ungrouped_words += self.words[before:]

    def add_nodes(self, text: str, nodes: list[Node]) -> None:
        """Add the parts of a text with groups."""
        for node in nodes:
            part = text[node.start : node.end]
            if node.is_leaf:
                self.add_items(part, node.start)
            elif node.is_excluded:
                if (alternative := self._build_part(text, node.members).build()) != ParsedQuery():
                    self.excluded_groups.append(Group(part[2:-1].strip(), (alternative,)))
            elif node.is_choice:
                self._add_choice(text, node)
            else:
                self.add_nodes(text, node.members)

    def _add_choice(self, text: str, node: Node) -> None:
        """Add an `OR` group. Empty alternatives are dropped; a single remaining one is no choice and is merged."""
        alternatives = [
            (builder, alternative)
            for builder in (self._build_part(text, [one]) for one in node.members)
            if (alternative := builder.build()) != ParsedQuery()
        ]
        if len(alternatives) > 1:
            self.any_of.append(
                Group(text[node.start : node.end], tuple(alternative for _, alternative in alternatives))
            )
            self.words += [alternative.words for _, alternative in alternatives if alternative.words]
        for builder, _ in alternatives if len(alternatives) == 1 else ():  # a choice with one alternative is no choice
            self._merge(builder)

    def _build_part(self, text: str, nodes: list[Node]) -> _QueryBuilder:
        """Parse some parts of a text on their own."""
        builder = _QueryBuilder(self.exclusions)
        builder.add_nodes(text, nodes)
        return builder

    def _is_exclusion(self, offset: int) -> bool:
        """True if the dash at an offset of the query excludes what is behind it."""
        return self.exclusions is None or offset in self.exclusions

    def _merge(self, other: _QueryBuilder) -> None:
        """Merge the items of a separately parsed part."""
        for items, further_items in zip(self._text_lists(), other._text_lists(), strict=True):
            items += further_items
        self._limit_days(other.before, other.after)
        self.numbers += other.numbers
        self.any_of += other.any_of
        self.excluded_groups += other.excluded_groups

    def _text_lists(self) -> tuple[list[str], ...]:
        """Return all lists of texts."""
        return (
            *(self.words, self.phrases, self.excluded_terms, self.sites, self.excluded_sites, self.titles, self.texts),
            *(self.urls, self.types, self.required, self.languages, self.ungrouped_words),
        )

    def _limit_days(self, before: date | None, after: date | None) -> None:
        """Narrow the dates of the query; None leaves a bound as it is."""
        if before is not None:
            self.before = min(before, self.before or before)
        if after is not None:
            self.after = max(after, self.after or after)

    def _add_item(self, match: re.Match[str], is_excluded: bool) -> None:
        """Add one item to the list that it belongs to."""
        name, phrase = (match["name"] or "").lower(), match["phrase"]
        value = (phrase if phrase is not None else match["word"]).strip()
        if name:
            if not self._add_operator(name, match["sign"] == "-", value):
                self._add_words(match)
        elif is_excluded and any(map(str.isalnum, value)):
            self._exclude(value, is_phrase=phrase is not None)
        elif phrase is not None:
            self._add_phrase(value)
        elif span := _parse_number_range(value):
            self.numbers.append(span)
        elif match["sign"] == "+" and any(map(str.isalpha, value)):
            self.required.append(value)
            self.words.append(value)
        elif value not in ("OR", "AND", "|", "&"):
            self._add_words(match)

    def _add_words(self, match: re.Match[str]) -> None:
        """Add an item as plain words, as typed but for its quotes."""
        self.words.append(match[0].replace('"', " "))

    def _exclude(self, value: str, is_phrase: bool) -> None:
        """Add a word, phrase or number range that must not occur."""
        if not is_phrase and (span := _parse_number_range(value)):
            self.excluded_groups.append(Group(value, (ParsedQuery(numbers=(span,)),)))
        else:
            self.excluded_terms.append(value)

    def _add_phrase(self, value: str) -> None:
        """Add a phrase, whose words rank too; one without letters and digits is ignored."""
        if any(map(str.isalnum, value)):
            self.phrases.append(value)
            self.words.append(" ".join(value.replace("*", " ").split()) if "*" in value else value)

    def _add_operator(self, name: str, is_excluded: bool, value: str) -> bool:
        """Add a `name:value` filter; return False if it cannot be read and is to be treated as words."""
        if name in ("before", "after"):
            return not is_excluded and self._add_date(name, value)
        if name == "site":
            if site := _parse_site(value):
                (self.excluded_sites if is_excluded else self.sites).append(site)
            return bool(site)
        if not is_excluded:
            return self._add_operand(name, value)
        excluded = _QueryBuilder(self.exclusions)
        if is_readable := excluded._add_operand(name, value):
            self.excluded_groups.append(Group(f"{name}:{value}", (excluded.build(),)))
        return is_readable

    def _add_date(self, name: str, value: str) -> bool:
        """Add a `before:` or `after:` filter; return False if it is no date."""
        span = parse_date_range(value)
        if span and name == "before":
            self._limit_days(span[0], None)
        elif span:
            self._limit_days(None, span[0])
        return span is not None

    def _add_operand(self, name: str, value: str) -> bool:
        """Add the operand of any other operator; return False if it cannot be read."""
        if name == "lang":
            code = _LANGUAGE.fullmatch(value)
            if code:
                self.languages.append(code[1].lower())
            return code is not None
        if not any(map(str.isalnum, value)):
            return False
        if name == "intitle":
            self.titles.append(value)
        elif name == "intext":
            self.texts.append(value)
            self.words.append(value)
        elif name == "inurl":
            self.urls.append(value)
        else:  # `filetype` and `ext`
            self.types.append(value.lower().lstrip("."))
        return True


def _parse_number_range(value: str) -> tuple[int, int] | None:
    """Return the bounds of a number range, such as `2010..2020` or `$50..100`; None if it is not one or is too wide."""
    if not (match := _NUMBER_RANGE.fullmatch(value)):
        return None
    first, last = sorted((int(match[1]), int(match[2])))
    return (first, last) if last - first < MAX_SPAN else None


def _parse_site(value: str) -> str:
    """Return host and path of what people write after `site:`: lower case, ASCII, without `*.`, scheme and port."""
    value = (value.lower().partition("://")[2] or value.lower()).removeprefix("*").strip("./")
    host, slash, path = value.partition("/")
    host = host.partition(":")[0]
    return (host if host.isascii() else urls.host_of(urls.normalize(f"http://{host}"))) + slash + path
