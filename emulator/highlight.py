"""Finds the words of a query in a text, so that they can be highlighted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

Span = tuple[int, int]
"""(start, end) in characters."""
_WORD = re.compile("[\\w\u00ad\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u200d]+")
"""A word with the marks that `re` does not count as letters: Indic vowel signs and viramas, Hebrew points, tone marks.
"""


def spans(text: str, words: str, terms: Callable[[str], Sequence[str]]) -> list[Span]:
    """Return the span of every word in `text` that matches `words` in the search; `terms` returns the index terms of a
    text.
    """
    wanted = set(terms(words))
    if not wanted:
        return []
    typed = set(_WORD.findall(words.lower()))  # for words of several terms, which are compared as text
    return [span for found in _WORD.finditer(text) for span in _inside(found, wanted, typed, terms)]


def pieces(text: str, marks: Sequence[Span]) -> list[tuple[str, bool]]:
    """Return the text cut at the spans, as (piece, True if it is one of the spans); empty pieces are left out."""
    parts, at = [], 0
    for start, end in marks:
        parts += [(text[at:start], False), (text[start:end], True)]
        at = end
    return [part for part in [*parts, (text[at:], False)] if part[0]]


def _inside(
    found: re.Match[str], wanted: set[str], typed: set[str], terms: Callable[[str], Sequence[str]]
) -> Iterator[Span]:
    """Yield the span of a matching word.

    A word of several terms, as in scripts without spaces, yields the spans of the query's words inside it.
    """
    of_word = terms(found[0])
    if len(of_word) == 1 and of_word[0] in wanted:
        yield found.span()
    elif len(of_word) > 1 and typed:
        pattern = "|".join(map(re.escape, sorted(typed, key=len, reverse=True)))
        for part in re.finditer(pattern, found[0].lower()):
            yield found.start() + part.start(), found.start() + part.end()
