"""Searches with misspelled words replaced, and names the replacements.

Words in lower case that no page has are replaced from the start. Where a query finds nothing at all, names and rare
spellings are replaced too, as the large search engines do. A strict query, and one that keeps its spelling, is asked
for as typed, and so is a word behind `+`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from webemu.emulator import relaxation
from webemu.emulator.ports import Ranker
from webemu.emulator.query import ParsedQuery
from webemu.emulator.relaxation import Selection
from webemu.emulator.spelling import Speller, apply_corrections
from webemu.emulator.types import Correction, Query


def correct_unknown_words(parsed: ParsedQuery, query: Query, speller: Speller) -> ParsedQuery:
    """Return the query with similar words for those that no page has."""
    if query.is_strict or query.keeps_spelling:
        return parsed
    return _correct(parsed, speller.find_unknown_corrections(parsed.words))


def select(
    ranker: Ranker, parsed: ParsedQuery, query: Query, limit: int, speller: Speller
) -> tuple[Selection, tuple[Correction, ...]]:
    """Return the first `limit` results of a parsed query, and the corrections with which they were found."""
    selection = relaxation.select(ranker, parsed, query.as_of, limit, query.is_strict)
    if not selection.entries and not (query.is_strict or query.keeps_spelling):
        corrected = _correct(parsed, speller.find_corrections(parsed.words))
        if corrected is not parsed:
            retry = relaxation.select(ranker, corrected, query.as_of, limit, query.is_strict)
            selection, parsed = (retry, corrected) if retry.entries else (selection, parsed)
    return selection, _drop_future_words(ranker, parsed.corrections, query)


def _correct(parsed: ParsedQuery, corrections: Iterable[Correction]) -> ParsedQuery:
    """Return the query with these corrections made, too; the same query if none applies."""
    allowed = tuple(one for one in corrections if not set(one.typed.split()) & set(parsed.required))
    if not allowed:
        return parsed
    words = apply_corrections(parsed.words, allowed)
    return replace(parsed, words=words, corrections=parsed.corrections + allowed)


def _drop_future_words(ranker: Ranker, corrections: tuple[Correction, ...], query: Query) -> tuple[Correction, ...]:
    """Return the corrections that may be named: on the web of a past day, those to words that a page has by then."""
    if query.as_of is None:
        return corrections
    return tuple(
        one
        for one in corrections
        if all(
            relaxation.is_met(ranker, ParsedQuery(is_dated=True), query.as_of, word=word)
            for word in one.replacement.split()
        )
    )
