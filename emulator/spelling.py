"""Corrects a query's spelling: words that occur nowhere, or hardly, are replaced by similar words that do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

MAX_WORDS = 8
"""A query with more unknown words is taken to be intended and is not corrected."""
RARE, RATIO = 20, 100
"""A word on at most `MAX_RARE_PAGES` pages is misspelled too if swapping two letters makes a word that is
`MIN_SWAP_RATIO` times as frequent (`strucutre`).

Other similar words are not tried: most rare words of a crawl are names.
"""
SHORT = 4
"""Minimum length of a word that is replaced by similar words; shorter words have too many neighbours."""
PART = 3
"""Minimum length of each half when a word is split in two."""
_WORD = re.compile(r"(?<![\w:/@.\-+])[^\W\d_]{3,30}(?![\w:/@]|\.\w)")
"""A word that is not an operator, nor part of an operator, a name or an address."""

Frequency = Callable[[str], int]
"""Returns the number of pages that contain a word."""
Nearest = Callable[[str], Iterable[str]]
"""Returns words with a similar spelling, nearest first."""


def correct(text: str, frequency: Frequency, nearest: Nearest) -> str | None:
    """Return the query with its misspelled words corrected; None if there is nothing to correct or no similar word."""
    counts = {word: frequency(word) for word in _WORD.findall(text)}
    unknown = {word for word, count in counts.items() if not count}
    if len(unknown) > MAX_WORDS:  # looking up neighbours is the expensive part
        return None
    joined = _joined(text, unknown, frequency)
    meant = {word: _meant(word, count, frequency, nearest) for word, count in counts.items() if count <= RARE}
    corrected = _WORD.sub(lambda found: meant.get(found[0], found[0]), joined)
    return corrected if corrected != text else None


def _meant(word: str, count: int, frequency: Frequency, nearest: Nearest) -> str:
    """Return the best replacement of a word; the word itself if there is none."""
    if count or len(word) < SHORT:
        common = (one for one in _swapped(word.lower()) if frequency(one) >= RATIO * max(1, count))
        return next((one for one in common if one in nearest(word)), word)
    return next((near for near in nearest(word) if frequency(near)), "") or _halved(word, frequency) or word


def _swapped(word: str) -> Iterator[str]:
    """Yield the word with each pair of different neighbouring letters swapped."""
    for at, (one, other) in enumerate(pairwise(word)):
        if one != other:
            yield word[:at] + other + one + word[at + 2 :]


def _halved(word: str, frequency: Frequency) -> str:
    """Return two words that were written as one, choosing the split whose rarer half is most frequent; empty if none
    occurs.
    """
    halves = [(word[:at], word[at:]) for at in range(PART, len(word) - PART + 1)]
    known = [(min(frequency(first), frequency(last)), f"{first} {last}") for first, last in halves]
    count, both = max(known, default=(0, ""))
    return both if count else ""


def _joined(text: str, unknown: set[str], frequency: Frequency) -> str:
    """Return the text with the first pair of words joined that occurs as one word and of which one is unknown."""
    for first, last in pairwise(_WORD.finditer(text)):
        is_odd = first[0] in unknown or last[0] in unknown
        if is_odd and text[first.end() : last.start()] == " " and frequency(first[0] + last[0]):
            return text[: first.end()] + text[last.start() :]
    return text
