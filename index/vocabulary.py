"""Spelling corrections from the crawl's own words: those of all titles, and of a sample of texts.

    word_counts.txt  of a shard: count and word in each line, from the most frequent to the least
    words.txt        of a snapshot: one word per line in the same order

Searched with rapidfuzz: symspellpy is ten times faster, but takes seconds and 100 MB per process to load.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

import zstandard
from rapidfuzz import process
from rapidfuzz.distance import OSA

from webemu.index.blobs import Blobs

FILE = "words.txt"
"""Name of the file in a snapshot folder."""
COUNTS_FILE = "word_counts.txt"
"""Name of the file in the folder of a shard."""
MAX_WORDS = 50_000
"""Words of a snapshot that are kept, the most frequent ones; of a shard twice as many."""
SAMPLE_TEXTS, SAMPLE_CHARACTERS = 10_000, 4000
"""Texts of a shard that are sampled, and characters that are read of each."""
MIN_TEXTS = 2
"""Texts that must have a word for it to be kept; the titles of a shard count as this many."""
_WORD = re.compile(r"[^\W\d_]{3,30}")
_LETTERS = bytes(byte if chr(byte).isascii() and chr(byte).isalpha() else ord(" ") for byte in range(256))
"""Table of bytes in which all but ASCII letters are spaces."""


def normalize_word(text: str) -> str:
    """Return the text in the form in which words are compared: NFKC, lower case."""
    return unicodedata.normalize("NFKC", text).lower()


def sample_texts(shard: Path, documents: int) -> Iterator[str]:
    """Yield the beginnings of evenly spaced texts of a shard with so many searchable pages."""
    count = min(SAMPLE_TEXTS, documents)
    views, decompressor = Blobs(shard / "views"), zstandard.ZstdDecompressor()
    for number in range(count):
        blob = views[number * documents // count]
        beginning = decompressor.stream_reader(blob).read(4 * SAMPLE_CHARACTERS).decode(errors="ignore")
        yield beginning.partition("\n")[2][:SAMPLE_CHARACTERS]


def count_words(file: Path, titles: Iterable[str], texts: Iterable[str]) -> None:
    """Write how many texts of a shard have each word, in a reproducible order: by frequency, then alphabetically."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(_WORD.findall(normalize_word(text))))
    for word in _find_words(titles):
        counts[word] += MIN_TEXTS
    lines = [f"{count} {word}\n" for word, count in _order_by_frequency(counts)[: 2 * MAX_WORDS]]
    file.write_text("".join(lines), encoding="utf-8")


def write_words(file: Path, count_files: Iterable[Path]) -> None:
    """Write the words of a snapshot, given the counts of its shards."""
    counts: Counter[str] = Counter()
    for count_file in count_files:
        for line in count_file.read_text(encoding="utf-8").splitlines():
            count, word = line.split(" ")
            counts[word] += int(count)
    frequent_words = [word for word, count in _order_by_frequency(counts)[:MAX_WORDS] if count >= MIN_TEXTS]
    file.write_text("\n".join(frequent_words), encoding="utf-8")


def _order_by_frequency(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))


def _find_words(texts: Iterable[str]) -> set[str]:
    """Return the distinct words of texts, most of which are plain English."""
    words, letters = set[str](), set[bytes]()
    for text in texts:
        if text.isascii():  # a third of the time of a regular expression on each text
            letters.update(text.lower().encode().translate(_LETTERS).split())
        else:
            words.update(_WORD.findall(normalize_word(text)))
    return words.union(*(_WORD.findall(run.decode()) for run in letters))


class Vocabulary:
    """Reader; loads the words at the first lookup. Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @cached_property
    def _words(self) -> dict[int, tuple[list[str], list[int]]]:
        """Words and their frequency ranks, by length."""
        by_length: dict[int, tuple[list[str], list[int]]] = {}
        for frequency_rank, word in enumerate(self._file.read_text(encoding="utf-8").split()):
            words, places = by_length.setdefault(len(word), ([], []))
            words.append(word)
            places.append(frequency_rank)
        return by_length

    def nearest(self, word: str) -> list[str]:
        """Return words within a small edit distance (optimal string alignment), nearest first.

        Ties are broken by the same first letter, then by frequency. The word itself is not returned.
        """
        word = normalize_word(word)
        max_distance = 1 if len(word) < 6 else 2  # two edits of a short word make another word
        neighbours: list[tuple[float, bool, int, str]] = []
        for length in range(max(1, len(word) - max_distance), len(word) + max_distance + 1):
            words, places = self._words.get(length, ([], []))
            close_words = process.extract(word, words, scorer=OSA.distance, score_cutoff=max_distance, limit=None)
            neighbours += [
                (distance, neighbour[0] != word[:1], places[index], neighbour)
                for neighbour, distance, index in close_words
                if distance
            ]
        return [neighbour for *_, neighbour in sorted(neighbours)]
