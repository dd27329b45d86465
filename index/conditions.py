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

from webemu.emulator.query import Group, ParsedQuery
from webemu.index.analysis import extract_terms as analyze

MAX_NARROW_SHARE = 0.15
"""Share of all documents up to which a date range is looked up by months; wider ranges are checked hit by hit."""
MAX_MONTHS = 36
"""Longest date range, in months, that is looked up by months."""
MAX_GROUPED_WORDS = 64
"""Words that rank in all groups of a query together; each alternative has at least two."""
EARLIEST, LATEST = 1900, 2100
"""First and last year that an open date range inside a group reaches to."""

_ANY_WORD = re.compile(r"(?<!\S)\*(?!\S)")
"""A lone `*` inside a phrase, which stands for any one word."""

Clause = tuple[Occur, Query]
Analyze = Callable[[str], Sequence[str]]
Frequency = Callable[[str, str], int]
"""Number of documents that have a term, by (field, term)."""
WordClauses = Callable[[str, int], list[Clause]]
"""Function from a text and a limit to clauses that rank by at most so many of its words."""


@dataclass(frozen=True, slots=True)
class ConditionBuilder:
    """Makes clauses of a parsed query, for one index."""

    schema: tantivy.Schema
    frequency: Frequency
    documents: int
    """Number of documents of the index."""
    word_clauses: WordClauses
    """Makes the clauses that rank."""
    months: Sequence[str]
    """Months that pages are dated in, such as `2024-01`, in order."""
    field: str = "all"
    """Text field in which words and phrases are looked for."""
    analyzers_of: Callable[[str], Sequence[Analyze]] = lambda text: (analyze,)
    """Analyzers of a text: phrases are looked for in each of its readings."""

    def build_clauses(self, parsed: ParsedQuery) -> list[Clause]:
        """Return the clauses of everything that must and must not match, except words and groups that rank."""
        included = [
            self._sequence_query(self.field, text) for text in (*parsed.phrases, *parsed.required, *parsed.texts)
        ]
        included += [self._sequence_query("title", text) for text in parsed.titles]
        included += [self._sequence_query("url", text) for text in parsed.urls]
        included += [self._number_query(first, last) for first, last in parsed.numbers]
        included += [self._any_of([self._site_query(site) for site in parsed.sites])] if parsed.sites else []
        for letter, values in (("t", parsed.types), ("l", parsed.languages)):
            included += [self._any_of([self._key_query(f"{letter}:{value}") for value in values])] if values else []
        if parsed.has_date_filter and (months := self._narrow_months(parsed.after, parsed.before)):
            included.append(self._any_of([self._key_query(f"m:{month}") for month in months]))
        excluded = [self._sequence_query(self.field, text) for text in parsed.excluded_terms]
        excluded += [self._site_query(site) for site in parsed.excluded_sites]
        excluded += [self._any_alternative(group, 0) for group in parsed.excluded_groups]
        # A constant score of 0: conditions filter and do not rank.
        clauses = [(Occur.Must, Query.const_score_query(query, 0.0)) for query in included if query is not None]
        return clauses + [(Occur.MustNot, query) for query in excluded if query is not None]

    def build_groups(self, parsed: ParsedQuery) -> tuple[list[Clause], list[Clause]]:
        """Return the clauses of groups that filter, and those of groups that only rank."""
        return self._build_groups(parsed, max(2, MAX_GROUPED_WORDS // _count_alternatives(parsed)))

    def _build_groups(self, parsed: ParsedQuery, share: int) -> tuple[list[Clause], list[Clause]]:
        """Return the same, with at most `share` ranking words per alternative."""
        group_queries = [(group.is_filter, self._any_alternative(group, share)) for group in parsed.any_of]
        filtering = [(Occur.Must, query) for is_filter, query in group_queries if is_filter and query is not None]
        return filtering, [
            (Occur.Should, query) for is_filter, query in group_queries if not is_filter and query is not None
        ]

    def _any_alternative(self, group: Group, share: int) -> Query | None:
        """Return a query that matches any alternative, scored by the best one; None if no alternative has words.

        With a `share` of 0 nothing ranks, and an alternative must match in everything it says.
        """
        queries = [
            query
            for alternative in group.alternatives
            if (query := self._one_alternative(alternative, share)) is not None
        ]
        # The best alternative counts, not the sum: a page is no better for meeting two of them.
        return Query.disjunction_max_query(queries) if len(queries) > 1 else queries[0] if queries else None

    def _one_alternative(self, alternative: ParsedQuery, share: int) -> Query | None:
        """Return the query of one alternative; None if it has neither words nor conditions."""
        clauses = self.build_clauses(alternative)
        if alternative.has_date_filter:
            clauses.append(
                (Occur.Must, Query.const_score_query(self._date_query(alternative.after, alternative.before), 0.0))
            )
        filtering, ranking = self._build_groups(alternative, share)
        if share:
            ranking += self.word_clauses(alternative.ungrouped_words, share)
            body = [(Occur.Must, Query.boolean_query(ranking))] if ranking else []
        else:
            word_queries = (self._sequence_query(self.field, word) for word in alternative.ungrouped_words.split())
            body = [
                (Occur.Must, query) for query in [query for _, query in ranking] + [one for one in word_queries if one]
            ]
        clauses += filtering + body
        if not clauses:
            return None
        # Tantivy matches nothing by MustNot clauses alone, so they get all pages to exclude from.
        if all(occur == Occur.MustNot for occur, _ in clauses):
            clauses.append((Occur.Must, Query.const_score_query(Query.all_query(), 0.0)))
        return Query.boolean_query(clauses)

    def _key_query(self, key: str) -> Query:
        return Query.term_query(self.schema, "key", key, index_option="basic")

    def _any_of(self, queries: list[Query]) -> Query:
        return queries[0] if len(queries) == 1 else Query.boolean_query([(Occur.Should, query) for query in queries])

    def _site_query(self, site: str) -> Query:
        name, _, path = site.partition("/")
        path_query = self._sequence_query("url", path) if path else None
        if path_query is None:
            return self._key_query(f"h:{name}")
        return Query.boolean_query([(Occur.Must, self._key_query(f"h:{name}")), (Occur.Must, path_query)])

    def _sequence_query(self, field: str, text: str) -> Query | None:
        """Return a query for the words of a text side by side, in any of its readings; None if it has no words.

        URLs have only one reading.
        """
        readings = (analyze,) if field == "url" else self.analyzers_of(text)
        # Distinct readings only: most texts have the same terms in every language.
        runs = dict.fromkeys(_positioned_terms(text, read) for read in readings)
        queries = [self._run_query(field, run) for run in runs if run]
        return self._any_of(queries) if queries else None

    def _run_query(self, field: str, run: tuple[tuple[int, str], ...]) -> Query:
        """Return a phrase query for terms and their positions, or a term query for a single one."""
        if len(run) > 1:
            return Query.phrase_query(self.schema, field, [*run])
        return Query.term_query(self.schema, field, run[0][1])

    def _number_query(self, first: int, last: int) -> Query:
        """Return a query for whole numbers from the first to the last, written in digits only."""
        return Query.regex_query(self.schema, self.field, "|".join(number_patterns(first, last)))

    def _narrow_months(self, after: date | None, before: date | None) -> list[str]:
        """Return the months of a date range if they are few and narrow the search; else an empty list."""
        if after is None or before is None or not 0 < (before - after).days <= 31 * MAX_MONTHS:
            return []
        months = _months_between(after, before)
        share = sum(self.frequency("key", f"m:{month}") for month in months)
        return months if share <= MAX_NARROW_SHARE * self.documents else []

    def _date_query(self, after: date | None, before: date | None) -> Query:
        """Return a query for a date range, to the month. Used inside groups, where hits cannot be checked by day."""
        first = f"{after or date(EARLIEST, 1, 1):%Y-%m}"
        last = f"{max(before or date(LATEST, 1, 1), date(EARLIEST, 1, 2)) - timedelta(days=1):%Y-%m}"
        months = self.months[bisect_left(self.months, first) : bisect_right(self.months, last)]
        return Query.term_set_query(self.schema, "key", [f"m:{month}" for month in months])


def _count_alternatives(parsed: ParsedQuery) -> int:
    """Return the number of alternatives in all groups of a query, nested groups included."""
    return sum(1 + _count_alternatives(alternative) for group in parsed.any_of for alternative in group.alternatives)


def _positioned_terms(text: str, analyze: Analyze) -> tuple[tuple[int, str], ...]:
    """Return the terms of a text with their positions; a `*` leaves a gap of one word."""
    positions: list[tuple[int, str]] = []
    gap = 0
    for piece in _ANY_WORD.split(text):
        terms = analyze(piece)
        positions += enumerate(terms, positions[-1][0] + 1 + gap if positions else 0)
        gap = 1 if terms else gap + 1
    return tuple(positions)


def _months_between(after: date, before: date) -> list[str]:
    """Return every month of a date range; the day `before` itself is outside of it."""
    last = max(before, date(EARLIEST, 1, 2)) - timedelta(days=1)
    first_number, last_number = (
        max(after.year, EARLIEST) * 12 + after.month - 1,
        min(last.year, LATEST) * 12 + last.month - 1,
    )
    return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in range(first_number, last_number + 1)]


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


def list_months(frequency: Frequency) -> list[str]:
    """Return the months that pages of an index are dated in."""
    all_months = _months_between(date(EARLIEST, 1, 1), date(LATEST + 1, 1, 1))
    return [month for month in all_months if frequency("key", f"m:{month}")]
