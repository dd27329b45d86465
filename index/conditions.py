"""What a query includes and excludes, as clauses of a Tantivy query: sites, phrases, dates, numbers, groups of them.

A condition counts nothing in the ranking. Of the ways of a group (`a OR b`) the best one ranks.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import tantivy
from tantivy import Occur, Query

from webemu.emulator.query import Group, Parsed
from webemu.index.analysis import terms as analyze

NARROW = 0.15
"""Up to this share of all documents a date range is looked up by months, above it hits are checked by column."""
MAX_MONTHS = 36
GROUPED = 64
"""So many words rank in all the groups of a query; each way has two at least."""
EARLIEST, LATEST = 1900, 2100
"""Years that a date inside a group reaches to."""

_ANY = re.compile(r"(?<!\S)\*(?!\S)")

Clause = tuple[Occur, Query]
Analyze = Callable[[str], Sequence[str]]
Frequency = Callable[[str, str], int]
"""(field, term) to in how many documents it occurs."""
Words = Callable[[str, int], list[Clause]]
"""A text to the clauses that rank by it, of at most so many of its words."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Makes clauses of what was parsed, for one index."""

    schema: tantivy.Schema
    frequency: Frequency
    documents: int
    words: Words
    months: Sequence[str]
    """Those that pages are dated in, as `2024-01`, in order."""
    readings: Callable[[str], Sequence[Analyze]] = lambda text: (analyze,)
    """How a text may be analyzed: phrases are looked for in each reading."""

    def clauses(self, parsed: Parsed) -> list[Clause]:
        """What must and what must not be, but for the words."""
        wanted = [self._sequence("all", text) for text in (*parsed.phrases, *parsed.required)]
        wanted += [self._sequence("title", text) for text in parsed.titles]
        wanted += [self._sequence("url", text) for text in parsed.urls]
        wanted += [self._number(first, last) for first, last in parsed.numbers]
        wanted += [self._any([self._site(site) for site in parsed.sites])] if parsed.sites else []
        for letter, values in (("t", parsed.types), ("l", parsed.languages)):
            wanted += [self._any([self._key(f"{letter}:{value}") for value in values])] if values else []
        if parsed.dated and (months := self._months(parsed.after, parsed.before)):
            wanted.append(self._any([self._key(f"m:{month}") for month in months]))
        unwanted = [self._sequence("all", text) for text in parsed.without]
        unwanted += [self._site(site) for site in parsed.without_sites]
        unwanted += [self._ways(group, 0) for group in parsed.unwanted]
        clauses = [(Occur.Must, Query.const_score_query(query, 0.0)) for query in wanted if query is not None]
        return clauses + [(Occur.MustNot, query) for query in unwanted if query is not None]

    def groups(self, parsed: Parsed) -> tuple[list[Clause], list[Clause]]:
        """The groups of which a way must be met, and those that only rank."""
        return self._groups(parsed, max(2, GROUPED // _ways_in(parsed)))

    def _groups(self, parsed: Parsed, share: int) -> tuple[list[Clause], list[Clause]]:
        """Likewise, each way by at most `share` words."""
        made = [(group.binds, self._ways(group, share)) for group in parsed.either]
        binding = [(Occur.Must, query) for binds, query in made if binds and query is not None]
        return binding, [(Occur.Should, query) for binds, query in made if not binds and query is not None]

    def _ways(self, group: Group, share: int) -> Query | None:
        """Whether any way is met, scored by the best; with no words to rank by each must be met in all it says."""
        ways = [query for way in group.ways if (query := self._way(way, share)) is not None]
        return Query.disjunction_max_query(ways) if len(ways) > 1 else ways[0] if ways else None

    def _way(self, way: Parsed, share: int) -> Query | None:
        clauses = self.clauses(way)
        if way.dated:
            clauses.append((Occur.Must, Query.const_score_query(self._dated(way.after, way.before), 0.0)))
        binding, ranking = self._groups(way, share)
        if share:
            ranking += self.words(way.own, share)
            body = [(Occur.Must, Query.boolean_query(ranking))] if ranking else []
        else:
            said = (self._sequence("all", word) for word in way.own.split())
            body = [(Occur.Must, query) for query in [query for _, query in ranking] + [one for one in said if one]]
        clauses += binding + body
        if not clauses:
            return None
        if all(occur == Occur.MustNot for occur, _ in clauses):
            clauses.append((Occur.Must, Query.const_score_query(Query.all_query(), 0.0)))
        return Query.boolean_query(clauses)

    def _key(self, key: str) -> Query:
        return Query.term_query(self.schema, "key", key, index_option="basic")

    def _any(self, queries: list[Query]) -> Query:
        return queries[0] if len(queries) == 1 else Query.boolean_query([(Occur.Should, query) for query in queries])

    def _site(self, site: str) -> Query:
        name, _, path = site.partition("/")
        inside = self._sequence("url", path) if path else None
        if inside is None:
            return self._key(f"h:{name}")
        return Query.boolean_query([(Occur.Must, self._key(f"h:{name}")), (Occur.Must, inside)])

    def _sequence(self, field: str, text: str) -> Query | None:
        """The words of a text one after another in any of its readings; None if it has none. URLs have one reading."""
        readings = (analyze,) if field == "url" else self.readings(text)
        placed = dict.fromkeys(_placed(text, read) for read in readings)
        queries = [self._run(field, run) for run in placed if run]
        return self._any(queries) if queries else None

    def _run(self, field: str, run: tuple[tuple[int, str], ...]) -> Query:
        if len(run) > 1:
            return Query.phrase_query(self.schema, field, [*run])
        return Query.term_query(self.schema, field, run[0][1])

    def _number(self, first: int, last: int) -> Query:
        """A whole number from the first to the last, as digits alone."""
        return Query.regex_query(self.schema, "all", "|".join(number_patterns(first, last)))

    def _months(self, after: date | None, before: date | None) -> list[str]:
        """The months of a range if they are few and narrow the search, else none."""
        if after is None or before is None or not 0 < (before - after).days <= 31 * MAX_MONTHS:
            return []
        months = _between(after, before)
        share = sum(self.frequency("key", f"m:{month}") for month in months)
        return months if share <= NARROW * self.documents else []

    def _dated(self, after: date | None, before: date | None) -> Query:
        """A range to the month, for ways of groups: hits are checked by day only where all must be in the range."""
        first = f"{after or date(EARLIEST, 1, 1):%Y-%m}"
        last = f"{max(before or date(LATEST, 1, 1), date(EARLIEST, 1, 2)) - timedelta(days=1):%Y-%m}"
        months = self.months[bisect_left(self.months, first) : bisect_right(self.months, last)]
        return Query.term_set_query(self.schema, "key", [f"m:{month}" for month in months])


def _ways_in(parsed: Parsed) -> int:
    """How many ways there are in all groups of a query and in groups inside them."""
    return sum(1 + _ways_in(way) for group in parsed.either for way in group.ways)


def _placed(text: str, analyze: Analyze) -> tuple[tuple[int, str], ...]:
    """The terms of a text and where each stands, `*` being any one word."""
    places: list[tuple[int, str]] = []
    gap = 0
    for part in _ANY.split(text):
        terms = analyze(part)
        places += enumerate(terms, places[-1][0] + 1 + gap if places else 0)
        gap = 1 if terms else gap + 1
    return tuple(places)


def _between(after: date, before: date) -> list[str]:
    """Every month from that of the first day to that of the last."""
    last = max(before, date(EARLIEST, 1, 2)) - timedelta(days=1)
    first, final = max(after.year, EARLIEST) * 12 + after.month - 1, min(last.year, LATEST) * 12 + last.month - 1
    return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in range(first, final + 1)]


def number_patterns(first: int, last: int) -> Iterator[str]:
    """Regular expressions that the numbers from the first to the last match and no other."""
    while first <= last:
        zeros = 0
        while first and first % 10 ** (zeros + 1) == 0 and first + 10 ** (zeros + 1) - 1 <= last:
            zeros += 1
        size = 10**zeros
        head, digit = divmod(first // size, 10)
        count = min((last - first + 1) // size, 10 - digit)
        yield f"{head or ''}[{digit}-{digit + count - 1}]{'[0-9]' * zeros}"
        first += count * size


def months_of(frequency: Frequency) -> list[str]:
    """The months that pages of an index are dated in."""
    every = _between(date(EARLIEST, 1, 1), date(LATEST + 1, 1, 1))
    return [month for month in every if frequency("key", f"m:{month}")]
