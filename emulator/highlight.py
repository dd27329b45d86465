"""Where the words of a query stand in a text that is shown, so that they can be marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

Span = tuple[int, int]
_WORD = re.compile("[\\w\u00ad\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u200d]+")
"""A word with the marks that are no letters to `re`: vowels and viramas of India, points, tones."""


def spans(text: str, words: str, terms: Callable[[str], Sequence[str]]) -> list[Span]:
    """(start, end) of every word of `text` that is one of `words` to the search: `terms` makes terms of a text."""
    wanted = set(terms(words))
    if not wanted:
        return []
    typed = set(_WORD.findall(words.lower()))
    return [span for found in _WORD.finditer(text) for span in _inside(found, wanted, typed, terms)]


def pieces(text: str, marks: Sequence[Span]) -> list[tuple[str, bool]]:
    """The text cut at the spans, and whether a piece is one of them."""
    parts, at = [], 0
    for start, end in marks:
        parts += [(text[at:start], False), (text[start:end], True)]
        at = end
    return [part for part in [*parts, (text[at:], False)] if part[0]]


def _inside(
    found: re.Match[str], wanted: set[str], typed: set[str], terms: Callable[[str], Sequence[str]]
) -> Iterator[Span]:
    """The word itself; what was typed inside one that is several terms, as in scripts without spaces."""
    of_word = terms(found[0])
    if len(of_word) == 1 and of_word[0] in wanted:
        yield found.span()
    elif len(of_word) > 1 and typed:
        pattern = "|".join(map(re.escape, sorted(typed, key=len, reverse=True)))
        for part in re.finditer(pattern, found[0].lower()):
            yield found.start() + part.start(), found.start() + part.end()
