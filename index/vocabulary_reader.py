"""Finds the crawl's own words that are nearest to a mistyped one.

Words are compared with rapidfuzz, but first by the letters that they have, which leaves one in a hundred. symspellpy is
faster still, but takes seconds and 100 MB per process to load.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from rapidfuzz import process
from rapidfuzz.distance import OSA

from webemu.index.vocabulary import normalize_word

_LETTER_GROUPS = [chr(code) for code in range(64, 96)]
"""Groups of letters, by which words are compared before they are read; each letter of English is one of its own."""


def _group_of(letter: str) -> str:
    return chr(64 + ord(letter) % 32)


class Vocabulary:
    """Reader; loads the words at the first lookup. Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @cached_property
    def _words(self) -> list[str]:
        """All words, the most frequent first."""
        return self._file.read_text(encoding="utf-8").split()

    @cached_property
    def _bits_by_letter_group(self) -> list[int]:
        """One number for each group of letters, with a bit for each word that has one of them. The first word has the
        second highest bit: the highest is set in all, so that each number has as many binary digits.
        """
        text = " ".join(self._words)
        groups_of_words = text.translate({ord(letter): _group_of(letter) for letter in {*text} - {" "}}).split()
        return [
            int("".join(["1", *["1" if group in groups else "0" for groups in groups_of_words]]), 2)
            for group in _LETTER_GROUPS
        ]

    def nearest(self, word: str) -> list[str]:
        """Return words within a small edit distance (optimal string alignment), nearest first.

        Ties are broken by the same first letter, then by frequency. The word itself is not returned.
        """
        word = normalize_word(word)
        max_distance = 1 if len(word) < 6 else 2  # two edits of a short word make another word
        close_words = process.extract(
            word, self._find_candidates(word, max_distance), scorer=OSA.distance, score_cutoff=max_distance, limit=None
        )
        neighbours = [
            (distance, neighbour[0] != word[:1], rank, neighbour)
            for neighbour, distance, rank in close_words
            if distance
        ]
        return [neighbour for *_, neighbour in sorted(neighbours)]

    def _find_candidates(self, word: str, max_distance: int) -> dict[int, str]:
        """Return the words, by frequency rank, that may be within so many edits: an edit takes away one letter at
        most, and adds one at most. About one word in a hundred is left.
        """
        groups = set(map(_group_of, word))
        all_bits = (2 << len(self._words)) - 1
        # For words that lack at least one letter, two letters, and so on; and for words that have as many others.
        lacking, extra = [0] * (max_distance + 1), [0] * (max_distance + 1)
        for group, bits in zip(_LETTER_GROUPS, self._bits_by_letter_group, strict=True):
            counts, changed = (lacking, bits ^ all_bits) if group in groups else (extra, bits)
            for number in range(max_distance, 0, -1):
                counts[number] |= counts[number - 1] & changed
            counts[0] |= changed
        digits = bin(((lacking[-1] | extra[-1]) ^ all_bits) | (1 << len(self._words)))[3:]
        return {match.start(): self._words[match.start()] for match in re.finditer("1", digits)}
