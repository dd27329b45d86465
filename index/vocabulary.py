"""Counts the crawl's own words, those of all titles and of a sample of texts, for spelling corrections.

    word_counts.txt  of a shard: count and word in each line, from the most frequent to the least
    words.txt        of a snapshot: one word per line in the same order

`webemu.index.vocabulary_reader` finds the nearest words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import zstandard

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
