"""Words of the crawl for people who mistype one: those of titles, and those of a sample of texts.

    words.txt  a word a line, from that of the most pages to that of the fewest

Looked through with rapidfuzz: symspellpy finds the same words in a tenth of the time, and takes seconds and a hundred
megabytes of each process to be made ready for it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import zstandard
from rapidfuzz import process
from rapidfuzz.distance import OSA

from webemu.index.blobs import Blobs

FILE = "words.txt"
MAX_WORDS = 50_000
SAMPLE, CHARS = 20_000, 4000
"""So many texts are read, and so much of each."""
LEAST = 2
"""Words of fewer texts are left out, if no title has them."""
_WORD = re.compile(r"[^\W\d_]{3,30}")


def lower(text: str) -> str:
    """The text as its words are compared."""
    return unicodedata.normalize("NFKC", text).lower()


def sampled(shards: Sequence[tuple[Path, int]]) -> Iterator[str]:
    """The beginnings of texts of a snapshot, evenly chosen from (folder, searchable pages) of its shards."""
    total, base = sum(documents for _, documents in shards), 0
    count = min(SAMPLE, total)
    decompressor = zstandard.ZstdDecompressor()
    for folder, documents in shards:
        views = Blobs(folder / "views")
        for number in range(-(-base * count // total), -(-(base + documents) * count // total)) if count else ():
            blob = views[number * total // count - base]
            beginning = decompressor.stream_reader(blob).read(4 * CHARS).decode(errors="ignore")
            yield beginning.partition("\n")[2][:CHARS]
        base += documents


def write_words(file: Path, titles: Iterable[str], texts: Iterable[str]) -> None:
    """Write the words in a fixed order."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(_WORD.findall(lower(text))))
    for word in {word for title in titles for word in _WORD.findall(lower(title))}:
        counts[word] += LEAST
    known = sorted((word for word, count in counts.items() if count >= LEAST), key=lambda word: (-counts[word], word))
    file.write_text("\n".join(known[:MAX_WORDS]), encoding="utf-8")


class Vocabulary:
    """Read side; the words are read when the first is asked for. Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @cached_property
    def _words(self) -> dict[int, tuple[list[str], list[int]]]:
        """By length: words, and their places among all."""
        by_length: dict[int, tuple[list[str], list[int]]] = {}
        for place, word in enumerate(self._file.read_text(encoding="utf-8").split()):
            words, places = by_length.setdefault(len(word), ([], []))
            words.append(word)
            places.append(place)
        return by_length

    def nearest(self, word: str) -> list[str]:
        """Words spelled nearly so: by optimal string alignment, the same first letter before another, then frequent."""
        word = lower(word)
        far = 1 if len(word) < 6 else 2
        found: list[tuple[float, bool, int, str]] = []
        for length in range(max(1, len(word) - far), len(word) + far + 1):
            words, places = self._words.get(length, ([], []))
            near = process.extract(word, words, scorer=OSA.distance, score_cutoff=far, limit=None)
            found += [(distance, one[0] != word[:1], places[at], one) for one, distance, at in near if distance]
        return [one for *_, one in sorted(found)]
