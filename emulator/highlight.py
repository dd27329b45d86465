"""Finds the words of a query in a text, so that they can be highlighted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

Span = tuple[int, int]
"""(start, end) in characters."""
_WORD = re.compile("[\\w\u00ad\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u200d]+")
"""A word with the marks that `re` does not count as letters: Indic vowel signs and viramas, Hebrew points, tone marks.
"""


def match_spans(text: str, words: str, terms: Callable[[str], Sequence[str]]) -> list[Span]:
    """Return the span of every word in `text` that matches `words` in the search; `terms` returns the index terms of a
    text.
    """
    query_terms = set(terms(words))
    if not query_terms:
        return []
    query_words = set(_WORD.findall(words.lower()))  # for words of several terms, which are compared as text
    return [span for match in _WORD.finditer(text) for span in _spans_in_word(match, query_terms, query_words, terms)]


def split_at_spans(text: str, marks: Sequence[Span]) -> list[tuple[str, bool]]:
    """Return the text cut at the spans, as (piece, True if it is one of the spans); empty pieces are left out."""
    parts, offset = [], 0
    for start, end in marks:
        parts += [(text[offset:start], False), (text[start:end], True)]
        offset = end
    return [part for part in [*parts, (text[offset:], False)] if part[0]]


def _spans_in_word(
    match: re.Match[str], query_terms: set[str], query_words: set[str], terms: Callable[[str], Sequence[str]]
) -> Iterator[Span]:
    """Yield the span of a matching word.

    A word of several terms, as in scripts without spaces, yields the spans of the query's words inside it.
    """
    word_terms = terms(match[0])
    if len(word_terms) == 1 and word_terms[0] in query_terms:
        yield match.span()
    elif len(word_terms) > 1 and query_words:
        pattern = "|".join(map(re.escape, sorted(query_words, key=len, reverse=True)))
        for part_match in re.finditer(pattern, match[0].lower()):
            yield match.start() + part_match.start(), match.start() + part_match.end()
