"""Builds Tantivy clauses for what a query includes and excludes: sites, phrases, dates, numbers, and groups of them.

A condition never changes a score. Of a group's alternatives (`a OR b`) the best one ranks.
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
"""Share of all documents up to which a date range is looked up by months; wider ranges are checked hit by hit."""
MAX_MONTHS = 36
"""Longest date range, in months, that is looked up by months."""
GROUPED = 64
"""Words that rank in all groups of a query together; each alternative has at least two."""
EARLIEST, LATEST = 1900, 2100
"""First and last year that an open date range inside a group reaches to."""

_ANY = re.compile(r"(?<!\S)\*(?!\S)")
"""A lone `*` inside a phrase, which stands for any one word."""

Clause = tuple[Occur, Query]
Analyze = Callable[[str], Sequence[str]]
Frequency = Callable[[str, str], int]
"""Number of documents that have a term, by (field, term)."""
Words = Callable[[str, int], list[Clause]]
"""Function from a text and a limit to clauses that rank by at most so many of its words."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Makes clauses of a parsed query, for one index."""

    schema: tantivy.Schema
    frequency: Frequency
    documents: int
    """Number of documents of the index."""
    words: Words
    """Makes the clauses that rank."""
    months: Sequence[str]
    """Months that pages are dated in, such as `2024-01`, in order."""
    readings: Callable[[str], Sequence[Analyze]] = lambda text: (analyze,)
    """Analyzers of a text: phrases are looked for in each of its readings."""

    def clauses(self, parsed: Parsed) -> list[Clause]:
        """Return the clauses of everything that must and must not match, except words and groups that rank."""
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
        # A constant score of 0: conditions filter and do not rank.
        clauses = [(Occur.Must, Query.const_score_query(query, 0.0)) for query in wanted if query is not None]
        return clauses + [(Occur.MustNot, query) for query in unwanted if query is not None]

    def groups(self, parsed: Parsed) -> tuple[list[Clause], list[Clause]]:
        """Return the clauses of groups that filter, and those of groups that only rank."""
        return self._groups(parsed, max(2, GROUPED // _ways_in(parsed)))

    def _groups(self, parsed: Parsed, share: int) -> tuple[list[Clause], list[Clause]]:
        """Return the same, with at most `share` ranking words per alternative."""
        made = [(group.binds, self._ways(group, share)) for group in parsed.either]
        binding = [(Occur.Must, query) for binds, query in made if binds and query is not None]
        return binding, [(Occur.Should, query) for binds, query in made if not binds and query is not None]

    def _ways(self, group: Group, share: int) -> Query | None:
        """Return a query that matches any alternative, scored by the best one; None if no alternative has words.

        With a `share` of 0 nothing ranks, and an alternative must match in everything it says.
        """
        ways = [query for way in group.ways if (query := self._way(way, share)) is not None]
        # The best alternative counts, not the sum: a page is no better for meeting two of them.
        return Query.disjunction_max_query(ways) if len(ways) > 1 else ways[0] if ways else None

    def _way(self, way: Parsed, share: int) -> Query | None:
        """Return the query of one alternative; None if it has neither words nor conditions."""
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
        # Tantivy matches nothing by MustNot clauses alone, so they get all pages to exclude from.
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
        """Return a query for the words of a text side by side, in any of its readings; None if it has no words.

        URLs have only one reading.
        """
        readings = (analyze,) if field == "url" else self.readings(text)
        # Distinct readings only: most texts have the same terms in every language.
        placed = dict.fromkeys(_placed(text, read) for read in readings)
        queries = [self._run(field, run) for run in placed if run]
        return self._any(queries) if queries else None

    def _run(self, field: str, run: tuple[tuple[int, str], ...]) -> Query:
        """Return a phrase query for terms and their positions, or a term query for a single one."""
        if len(run) > 1:
            return Query.phrase_query(self.schema, field, [*run])
        return Query.term_query(self.schema, field, run[0][1])

    def _number(self, first: int, last: int) -> Query:
        """Return a query for whole numbers from the first to the last, written in digits only."""
        return Query.regex_query(self.schema, "all", "|".join(number_patterns(first, last)))

    def _months(self, after: date | None, before: date | None) -> list[str]:
        """Return the months of a date range if they are few and narrow the search; else an empty list."""
        if after is None or before is None or not 0 < (before - after).days <= 31 * MAX_MONTHS:
            return []
        months = _between(after, before)
        share = sum(self.frequency("key", f"m:{month}") for month in months)
        return months if share <= NARROW * self.documents else []

    def _dated(self, after: date | None, before: date | None) -> Query:
        """Return a query for a date range, to the month. Used inside groups, where hits cannot be checked by day."""
        first = f"{after or date(EARLIEST, 1, 1):%Y-%m}"
        last = f"{max(before or date(LATEST, 1, 1), date(EARLIEST, 1, 2)) - timedelta(days=1):%Y-%m}"
        months = self.months[bisect_left(self.months, first) : bisect_right(self.months, last)]
        return Query.term_set_query(self.schema, "key", [f"m:{month}" for month in months])


def _ways_in(parsed: Parsed) -> int:
    """Return the number of alternatives in all groups of a query, nested groups included."""
    return sum(1 + _ways_in(way) for group in parsed.either for way in group.ways)


def _placed(text: str, analyze: Analyze) -> tuple[tuple[int, str], ...]:
    """Return the terms of a text with their positions; a `*` leaves a gap of one word."""
    places: list[tuple[int, str]] = []
    gap = 0
    for part in _ANY.split(text):
        terms = analyze(part)
        places += enumerate(terms, places[-1][0] + 1 + gap if places else 0)
        gap = 1 if terms else gap + 1
    return tuple(places)


def _between(after: date, before: date) -> list[str]:
    """Return every month of a date range; the day `before` itself is outside of it."""
    last = max(before, date(EARLIEST, 1, 2)) - timedelta(days=1)
    first, final = max(after.year, EARLIEST) * 12 + after.month - 1, min(last.year, LATEST) * 12 + last.month - 1
    return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in range(first, final + 1)]


def number_patterns(first: int, last: int) -> Iterator[str]:
    """Yield regular expressions that together match the numbers from the first to the last and no others."""
    # Greedy: from `first` on, the largest block of numbers that one pattern `head[digits][0-9]*` can cover.
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
    """Return the months that pages of an index are dated in."""
    every = _between(date(EARLIEST, 1, 1), date(LATEST + 1, 1, 1))
    return [month for month in every if frequency("key", f"m:{month}")]
