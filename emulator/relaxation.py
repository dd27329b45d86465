"""Goes on without a phrase or a `+word` where few pages meet it, as the large search engines do.

A quotation from memory, or quotes by habit, would otherwise empty the answer. Pages that meet every condition come
first. Where they are fewer than a page of results, those follow that miss a condition which no page meets, then those
that miss any phrase or `+word`. Sites, dates, exclusions, `intext:` and all other operators bind in every case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from webemu.emulator.ports import Ranker, ScoredDoc, SearchPlan
from webemu.emulator.query import ParsedQuery
from webemu.emulator.ranking import BLOCK_SIZE, select_results

MAX_TRIED = 8
"""Conditions that are tried one by one; where a query has more, all are given up together."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The first results of a query."""

    plan: SearchPlan
    """Plan that renders and explains the entries."""
    entries: list[ScoredDoc]
    more: bool
    """True if the ranking goes on after the entries."""
    relaxed: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """Conditions that were given up, each time with the number of entries that meet them still."""

    def relaxed_until(self, last: int) -> tuple[str, ...]:
        """Return the conditions that some of the first `last` entries need not meet."""
        return next((texts for start, texts in reversed(self.relaxed) if start < min(last, len(self.entries))), ())


def select(ranker: Ranker, parsed: ParsedQuery, as_of: datetime | None, limit: int, is_strict: bool) -> Selection:
    """Return the first `limit` results of a query; if `is_strict`, only those that meet every condition."""
    plan = ranker.plan(parsed)
    entries, more = select_results(plan, ranker.doc_values, parsed, as_of, limit)
    relaxed: list[tuple[int, tuple[str, ...]]] = []
    if is_strict or not (parsed.phrases or parsed.required):
        return Selection(plan, entries, more)
    cluster = ranker.doc_values.cluster
    # A page that meets all conditions shows that each of them is met.
    for milder in [_without_conditions(parsed)] if entries else _milder_queries(ranker, parsed, as_of):
        if more or len(entries) >= BLOCK_SIZE:
            break
        plan, selected = ranker.plan(milder), {cluster[doc] for _, doc in entries}
        wider, more = select_results(plan, ranker.doc_values, milder, as_of, limit + len(entries))
        further = [entry for entry in wider if cluster[entry[1]] not in selected]
        relaxed.append((len(entries), _describe_difference(parsed, milder)))
        more = more or len(entries) + len(further) > limit
        entries = (entries + further)[:limit]
    return Selection(plan, entries, more, tuple(relaxed))


def _milder_queries(ranker: Ranker, parsed: ParsedQuery, as_of: datetime | None) -> Iterator[ParsedQuery]:
    """Yield the query without the conditions that no page meets, if others remain, then without any."""
    if 1 < len(parsed.phrases) + len(parsed.required) <= MAX_TRIED:
        phrases = tuple(one for one in parsed.phrases if is_met(ranker, parsed, as_of, phrase=one))
        required = tuple(one for one in parsed.required if is_met(ranker, parsed, as_of, word=one))
        if phrases or required:
            milder = replace(parsed, phrases=phrases, required=required)
            if milder != parsed:
                yield milder
    yield _without_conditions(parsed)


def _without_conditions(parsed: ParsedQuery) -> ParsedQuery:
    return replace(parsed, phrases=(), required=())


def is_met(ranker: Ranker, parsed: ParsedQuery, as_of: datetime | None, phrase: str = "", word: str = "") -> bool:
    """True if a page meets one phrase or word and everything that binds in every case."""
    alone = replace(
        parsed,
        words="",
        words_outside_groups="",
        phrases=(phrase,) if phrase else (),
        required=(word,) if word else (),
    )
    return bool(select_results(ranker.plan(alone), ranker.doc_values, alone, as_of, 1)[0])


def _describe_difference(parsed: ParsedQuery, milder: ParsedQuery) -> tuple[str, ...]:
    """Return the conditions that a milder query lacks, as they are typed."""
    phrases = (f'"{phrase}"' for phrase in parsed.phrases if phrase not in milder.phrases)
    return (*phrases, *(f"+{word}" for word in parsed.required if word not in milder.required))
