"""Searches with misspelled words replaced, and names the replacements.

Words in lower case that no page has are replaced from the start. Where a query finds nothing at all, names and rare
spellings are replaced too, as the large search engines do. A strict query, and one that keeps its spelling, is asked
for as typed, and so is a word behind `+`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from webemu.emulator import relaxation
from webemu.emulator.ports import Ranker
from webemu.emulator.query import ParsedQuery
from webemu.emulator.ranking import select_results
from webemu.emulator.relaxation import Selection
from webemu.emulator.spelling import Speller, apply_corrections
from webemu.emulator.types import Correction, Query

PageText = Callable[[int], tuple[str, str]]
"""Returns the title and the text of a page by its dense id."""
MAX_PAGES_READ = 8
"""Pages that are read for the exact form of a corrected word."""


def correct_unknown_words(parsed: ParsedQuery, query: Query, speller: Speller) -> ParsedQuery:
    """Return the query with similar words for those that no page has."""
    if query.is_strict or query.keeps_spelling:
        return parsed
    return _correct(parsed, speller.find_unknown_corrections(parsed.words))


def select(
    ranker: Ranker, parsed: ParsedQuery, query: Query, limit: int, speller: Speller, text: PageText
) -> tuple[Selection, tuple[Correction, ...]]:
    """Return the first `limit` results of a parsed query, and the corrections with which they were found.

    `text` returns the title and the text of a page by its dense id.
    """
    selection = relaxation.select(ranker, parsed, query.as_of, limit, query.is_strict)
    if not selection.entries and not (query.is_strict or query.keeps_spelling):
        corrected = _correct(parsed, speller.find_corrections(parsed.words))
        if corrected is not parsed:
            retry = relaxation.select(ranker, corrected, query.as_of, limit, query.is_strict)
            selection, parsed = (retry, corrected) if retry.entries else (selection, parsed)
    return selection, _drop_future_words(ranker, parsed.corrections, query, text)


def _correct(parsed: ParsedQuery, corrections: Iterable[Correction]) -> ParsedQuery:
    """Return the query with these corrections made, too; the same query if none applies."""
    allowed = tuple(one for one in corrections if not set(one.typed.split()) & set(parsed.required))
    if not allowed:
        return parsed
    words = apply_corrections(parsed.words, allowed)
    return replace(parsed, words=words, corrections=parsed.corrections + allowed)


def _drop_future_words(
    ranker: Ranker, corrections: tuple[Correction, ...], query: Query, text: PageText
) -> tuple[Correction, ...]:
    """Return the corrections that may be named: on the web of a past day, those to words that a page of then has.

    The index knows stems alone, and so `attentive` by a page that says `attention`: pages are read for the word itself.
    """
    if query.as_of is None:
        return corrections
    return tuple(
        one
        for one in corrections
        if all(_is_written(ranker, word, query.as_of, text) for word in one.replacement.split())
    )


def _is_written(ranker: Ranker, word: str, as_of: datetime, text: PageText) -> bool:
    """True if one of the first pages of a past day that match a word has it in exactly this form."""
    parsed = ParsedQuery(required=(word,), is_dated=True)
    entries, _ = select_results(ranker.plan(parsed), ranker.doc_values, parsed, as_of, MAX_PAGES_READ)
    is_word = re.compile(rf"\b{re.escape(word.casefold())}\b")
    return any(is_word.search("\n".join(text(doc)).casefold()) for _, doc in entries)
