"""What a query was perhaps meant to say: words that occur nowhere, or hardly, replaced by words near them that do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

MAX_WORDS = 8
"""So many unknown words are looked at; a query with more was not mistyped."""
RARE, RATIO = 20, 100
"""A word of few pages is mistyped too if, with two letters swapped, it is one of so many times as many: `strucutre`.
Other words near a rare one are not what was meant: of rare words of a crawl most are names."""
SHORT = 4
"""Too many words are near a shorter one."""
PART = 3
"""Letters that each half of a word has at least."""
_WORD = re.compile(r"(?<![\w:/@.\-+])[^\W\d_]{3,30}(?![\w:/@]|\.\w)")
"""A word that is no operator, no part of one, of a name or of an address."""

Frequency = Callable[[str], int]
Nearest = Callable[[str], Iterable[str]]


def correct(text: str, frequency: Frequency, nearest: Nearest) -> str | None:
    """The query with its unknown words corrected; None where there is nothing to correct or no word is near.

    `frequency` says in how many pages a word occurs, `nearest` gives the words spelled nearly so, the nearest first.
    """
    counts = {word: frequency(word) for word in _WORD.findall(text)}
    unknown = {word for word, count in counts.items() if not count}
    if len(unknown) > MAX_WORDS:
        return None
    joined = _joined(text, unknown, frequency)
    meant = {word: _meant(word, count, frequency, nearest) for word, count in counts.items() if count <= RARE}
    corrected = _WORD.sub(lambda found: meant.get(found[0], found[0]), joined)
    return corrected if corrected != text else None


def _meant(word: str, count: int, frequency: Frequency, nearest: Nearest) -> str:
    if count or len(word) < SHORT:
        common = (one for one in _swapped(word.lower()) if frequency(one) >= RATIO * max(1, count))
        return next((one for one in common if one in nearest(word)), word)
    return next((near for near in nearest(word) if frequency(near)), "") or _halved(word, frequency) or word


def _swapped(word: str) -> Iterator[str]:
    """The word with each two letters side by side swapped that differ."""
    for at, (one, other) in enumerate(pairwise(word)):
        if one != other:
            yield word[:at] + other + one + word[at + 2 :]


def _halved(word: str, frequency: Frequency) -> str:
    """Two words that were written as one: those of which the rarer is the most frequent."""
    halves = [(word[:at], word[at:]) for at in range(PART, len(word) - PART + 1)]
    known = [(min(frequency(first), frequency(last)), f"{first} {last}") for first, last in halves]
    count, both = max(known, default=(0, ""))
    return both if count else ""


def _joined(text: str, unknown: set[str], frequency: Frequency) -> str:
    """The text with the first two words side by side written as one that are one and not two."""
    for first, last in pairwise(_WORD.finditer(text)):
        is_odd = first[0] in unknown or last[0] in unknown
        if is_odd and text[first.end() : last.start()] == " " and frequency(first[0] + last[0]):
            return text[: first.end()] + text[last.start() :]
    return text
