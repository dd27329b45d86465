"""Corrects a query's spelling: words that occur nowhere, or hardly, are replaced by similar words that do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from webemu.emulator.types import Correction

MAX_UNKNOWN_WORDS = 8
"""A query with more unknown words is taken to be intended and is not corrected."""
MAX_RARE_PAGES, MIN_SWAP_RATIO = 20, 100
"""A word on at most `MAX_RARE_PAGES` pages is misspelled too if swapping two letters makes a word that is
`MIN_SWAP_RATIO` times as frequent (`strucutre`).

Other similar words are not tried: most rare words of a crawl are names.
"""
MIN_FUZZY_CHARS = 4
"""Minimum length of a word that is replaced by similar words; shorter words have too many neighbours."""
MIN_HALF_CHARS = 3
"""Minimum length of each half when a word is split in two."""
_WORD = re.compile(r"(?<![\w:/@.\-+])[^\W\d_]{3,30}(?![\w:/@]|\.\w)")
"""A word that is not an operator, nor part of an operator, a name or an address."""

Frequency = Callable[[str], int]
"""Returns the number of pages that contain a word."""
Nearest = Callable[[str], Iterable[str]]
"""Returns words with a similar spelling, nearest first."""


@dataclass(frozen=True, slots=True)
class Speller:
    """Finds the misspelled words of texts, as the pages of one world spell them."""

    knows: Callable[[str], bool]
    """Returns True if a page has the word; much faster than `frequency`."""
    frequency: Frequency
    nearest: Nearest

    def correct(self, text: str) -> str | None:
        """Return the text with its misspelled words corrected; None if there is nothing to correct."""
        corrected = apply_corrections(text, self.find_corrections(text))
        return corrected if corrected != text else None

    def find_corrections(self, text: str) -> tuple[Correction, ...]:
        """Return the corrections of misspelled words, with a similar word for each; a pair of words that are one word
        comes first.
        """
        counts = {word: self.frequency(word) for word in _WORD.findall(text)}
        unknown = {word for word, count in counts.items() if not count}
        if len(unknown) > MAX_UNKNOWN_WORDS:  # looking up neighbours is the expensive part
            return ()
        joined = _find_split_word(text, unknown, self.frequency)
        halves = joined.typed.split() if joined else []
        rare = {word: count for word, count in counts.items() if count <= MAX_RARE_PAGES and word not in halves}
        replaced = self._replace_words(rare)
        return (joined, *replaced) if joined else replaced

    def find_unknown_corrections(self, words: str) -> tuple[Correction, ...]:
        """Return the corrections of words in lower case that no page has.

        Names begin with a capital and stay, since a similar name is another name.
        """
        unknown = {word: 0 for word in _WORD.findall(words) if word.islower() and not self.knows(word)}
        return self._replace_words(unknown) if len(unknown) <= MAX_UNKNOWN_WORDS else ()

    def _replace_words(self, counts: dict[str, int]) -> tuple[Correction, ...]:
        """Return a correction for each word that has a better spelling, given the number of pages of each."""
        replacements = (
            Correction(word, _best_replacement(word, count, self.frequency, self.nearest))
            for word, count in counts.items()
        )
        return tuple(one for one in replacements if one.replacement != one.typed)


def apply_corrections(text: str, corrections: Iterable[Correction]) -> str:
    """Return the text with its words corrected; those that belong to operators, names and addresses stay."""
    replacements = dict(corrections)
    for typed, replacement in replacements.items():
        if " " in typed:
            text = text.replace(typed, replacement, 1)
    return _WORD.sub(lambda match: replacements.get(match[0], match[0]), text)


def keep_as_typed(text: str, corrections: Iterable[Correction]) -> str:
    """Return the query with a `+` before each word that would be corrected, which keeps its spelling."""
    words = {word for correction in corrections for word in correction.typed.split()}
    return _WORD.sub(lambda match: f"+{match[0]}" if match[0] in words else match[0], text)


def _best_replacement(word: str, count: int, frequency: Frequency, nearest: Nearest) -> str:
    """Return the best replacement of a word; the word itself if there is none."""
    if count or len(word) < MIN_FUZZY_CHARS:
        common = (one for one in _transpositions(word.lower()) if frequency(one) >= MIN_SWAP_RATIO * max(1, count))
        return next((one for one in common if one in nearest(word)), word)
    return next((near for near in nearest(word) if frequency(near)), "") or _split_word(word, frequency) or word


def _transpositions(word: str) -> Iterator[str]:
    """Yield the word with each pair of different neighbouring letters swapped."""
    for index, (letter, next_letter) in enumerate(pairwise(word)):
        if letter != next_letter:
            yield word[:index] + next_letter + letter + word[index + 2 :]


def _split_word(word: str, frequency: Frequency) -> str:
    """Return two words that were written as one, choosing the split whose rarer half is most frequent; empty if none
    occurs.
    """
    halves = [(word[:index], word[index:]) for index in range(MIN_HALF_CHARS, len(word) - MIN_HALF_CHARS + 1)]
    scored_splits = [(min(frequency(first), frequency(last)), f"{first} {last}") for first, last in halves]
    count, split = max(scored_splits, default=(0, ""))
    return split if count else ""


def _find_split_word(text: str, unknown: set[str], frequency: Frequency) -> Correction | None:
    """Return the first pair of words that occurs as one word and of which one is unknown; None if there is none."""
    for left_word, right_word in pairwise(_WORD.finditer(text)):
        is_odd = left_word[0] in unknown or right_word[0] in unknown
        if is_odd and text[left_word.end() : right_word.start()] == " " and frequency(left_word[0] + right_word[0]):
            return Correction(f"{left_word[0]} {right_word[0]}", left_word[0] + right_word[0])
    return None
