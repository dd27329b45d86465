"""Writes a dump of any number of documents with the vocabulary of real ones, to measure collections of millions.

python -m benchmarks.many_documents FOLDER --documents 10000000 --texts COLLECTION_FOLDER [--seed 1]
python -m benchmarks.many_documents --curves 200000 --texts COLLECTION_FOLDER

The texts of a collection, such as the documentation web, are cut into passages of some 100 words. Each document is one
of them with another tenth of its words, taken from other passages, with other numbers, and with words that no passage
has. Which of those is decided by Simon's process ("On a class of skew distribution functions", 1955) at a rate of new
words that falls like Heaps' law: a place has a new word, or the word of an earlier place drawn evenly. So the number of
distinct words goes on to grow as in the texts (`--curves` prints both), and their frequencies follow Zipf's law.
Sites have sizes of the same kind; every fourth document states links to earlier ones.

Documents are written as JSON lines with `url`, `title`, `text` and `links`, 250,000 in a file. A document depends on
its number, the seed and the texts alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import exp, log
from multiprocessing import get_context
from pathlib import Path
from random import Random
from statistics import linear_regression
from typing import NamedTuple

import orjson
from tqdm import tqdm

from webemu.index.catalog import Catalog

MAX_PASSAGES = 300_000
"""Passages that are held in memory."""
PASSAGE_WORDS = 100
"""Words of a passage, about."""
DOCUMENTS_PER_FILE = 250_000
"""Documents of a file."""
SWAPPED_SHARE, NEW_SHARE, RENUMBERED_SHARE = 0.1, 0.04, 0.5
"""Shares of words that are taken from other passages, of words that no passage has, and of numbers that are changed."""
SITES_AT_FIRST, SITES_EXPONENT = 3.0, 0.7
"""Curve of the number of sites: a * documents ** b."""
LINK_EVERY, LINKS = 4, 3
"""Every so many documents one states so many links."""
SUFFIXES = ("org", "com", "net", "edu", "co.uk", "de", "fr", "io")
"""Public suffixes of sites."""
_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_MIXER = 0x9E3779B97F4A7C15
"""Odd number that spreads consecutive numbers over 64 bits (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", 2014)."""
_SYLLABLES = tuple(f"{first}{second}" for first in "bcdfghjklmnprstvwyz" for second in ("a", "e", "i", "o", "u"))


class Passage(NamedTuple):
    """A passage of a real text."""

    title: str
    text: str


class GrowthCurve(NamedTuple):
    """Number of distinct things among n: factor * n ** exponent (Heaps' law)."""

    factor: float
    exponent: float

    def chance_of_new(self, place: int) -> float:
        """Return the chance that the thing at a place is new: the slope of the curve there, at most 1."""
        slope: float = self.factor * self.exponent * (place + 1) ** (self.exponent - 1)
        return min(1.0, slope)


def mix(number: int, salt: int) -> float:
    """Return a number in [0, 1) that is always the same for the same two and looks random."""
    state = (number * _MIXER + salt) & 0xFFFFFFFFFFFFFFFF
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return ((state ^ (state >> 31)) >> 11) / (1 << 53)


def draw_repeated(place: int, curve: GrowthCurve, salt: int) -> int:
    """Return which thing stands at a place, named by the place where it stood first."""
    while place and mix(place, salt) >= curve.chance_of_new(place):
        place = int(mix(place, salt + 1) * place)
    return place


def spell(number: int) -> str:
    """Return a word for a number; different numbers have different words."""
    syllables = []
    number += len(_SYLLABLES) ** 2  # of three syllables at least
    while number:
        number, place = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[place])
    return "".join(syllables)


def read_passages(collection: Path) -> list[Passage]:
    """Return passages of the searchable pages of a collection, at most MAX_PASSAGES."""
    with Catalog(collection, read_only=True) as catalog:
        rows = catalog.db.execute(
            "SELECT title, text FROM pages WHERE searchable AND language IS NOT DISTINCT FROM 'en' ORDER BY md5(url)"
        )
        passages: list[Passage] = []
        while (batch := rows.fetchmany(1000)) and len(passages) < MAX_PASSAGES:
            passages += [Passage(title or "", text) for title, page in batch for text in split_passages(page)]
    return passages[:MAX_PASSAGES]


def split_passages(text: str) -> Iterator[str]:
    """Yield passages of whole lines; a line that is longer than a passage is one alone."""
    lines: list[str] = []
    words = 0
    for line in text.split("\n"):
        lines.append(line)
        words += line.count(" ") + 1
        if words >= PASSAGE_WORDS:
            yield "\n".join(lines).strip()
            lines, words = [], 0
    if words >= PASSAGE_WORDS // 3:
        yield "\n".join(lines).strip()


def fit_heaps(texts: Sequence[str]) -> GrowthCurve:
    """Return the curve of distinct words of the texts, fitted to its upper half on a logarithmic scale."""
    points = list(count_distinct_words(texts))
    points = points[len(points) // 2 :]
    exponent, constant = linear_regression([log(words) for words, _ in points], [log(count) for _, count in points])
    return GrowthCurve(exp(constant), exponent)


def count_distinct_words(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield (words, distinct words) of the first 10 texts, of twice as many, and so on."""
    seen_words: set[str] = set()
    words, due = 0, 10
    for number, text in enumerate(texts, 1):
        found_words = [word for word in _TOKEN.findall(text.lower()) if not word.isdigit()]
        words += len(found_words)
        seen_words.update(found_words)
        if number == due or number == len(texts):
            yield words, len(seen_words)
            due *= 2


class DocumentMaker:
    """Makes documents by number."""

    def __init__(self, passages: Sequence[Passage], seed: int) -> None:
        self._passages, self._seed = passages, seed
        heaps = fit_heaps([passage.text for passage in passages[:100_000]])
        self._words_curve = GrowthCurve(heaps.factor * NEW_SHARE**-heaps.exponent, heaps.exponent)
        self._sites_curve = GrowthCurve(SITES_AT_FIRST, SITES_EXPONENT)

    def url(self, number: int) -> str:
        """Return the URL of a document."""
        site = draw_repeated(number, self._sites_curve, 11 * self._seed)
        return f"https://{spell(site)}.{SUFFIXES[site % len(SUFFIXES)]}/{spell(number)}"

    def title(self, number: int) -> str:
        """Return the title of a document: that of its passage and a word."""
        return f"{self._passage(number).title} {self._new_word(number * PASSAGE_WORDS)}"

    def document(self, number: int) -> dict[str, object]:
        """Return the document as a row of a dump."""
        document: dict[str, object] = {"url": self.url(number), "title": self.title(number), "text": self._text(number)}
        if number % LINK_EVERY == 0 and number:
            targets = {int(mix(number, self._seed + place) * number) for place in range(LINKS)}
            document["links"] = [{"target": self.url(target), "anchor": self.title(target)} for target in targets]
        return document

    def _passage(self, number: int) -> Passage:
        return self._passages[int(mix(number, self._seed) * len(self._passages))]

    def _new_word(self, place: int) -> str:
        """Return a word that no passage has; `place` counts the words of all documents before it."""
        return spell(draw_repeated(int(place * NEW_SHARE), self._words_curve, 7 * self._seed))

    def _text(self, number: int) -> str:
        random = Random(number * 1009 + self._seed)
        other_words = _TOKEN.findall(self._passages[int(random.random() * len(self._passages))].text)
        places = iter(range(number * PASSAGE_WORDS, (number + 1) * PASSAGE_WORDS))

        def replace_token(token: re.Match[str]) -> str:
            word, chance = token[0], random.random()
            if word.isdigit():
                if chance >= RENUMBERED_SHARE:
                    return word
                return "".join(random.choice("0123456789") for _ in word)
            if chance < NEW_SHARE:
                return self._new_word(next(places, number * PASSAGE_WORDS))
            return random.choice(other_words) if chance < NEW_SHARE + SWAPPED_SHARE and other_words else word

        return _TOKEN.sub(replace_token, self._passage(number).text)


_maker: DocumentMaker | None = None


def _prepare_worker(collection: Path, seed: int) -> None:
    global _maker
    _maker = DocumentMaker(read_passages(collection), seed)


def _write_file(folder: Path, span: tuple[int, int]) -> int:
    """Write the documents of a span to a file; return how many."""
    assert _maker is not None
    with (folder / f"documents-{span[0] // DOCUMENTS_PER_FILE:05}.jsonl").open("wb") as file:
        for number in range(*span):
            file.write(orjson.dumps(_maker.document(number)) + b"\n")
    return span[1] - span[0]


def write_documents(folder: Path, documents: int, collection: Path, seed: int) -> None:
    """Write the files of a dump, in a process for each core."""
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, documents, DOCUMENTS_PER_FILE)
    spans = [(start, min(documents, start + DOCUMENTS_PER_FILE)) for start in starts]
    workers = min(len(spans), os.cpu_count() or 1)
    with (
        ProcessPoolExecutor(
            workers, mp_context=get_context("spawn"), initializer=_prepare_worker, initargs=(collection, seed)
        ) as pool,
        tqdm(total=documents, unit="document", unit_scale=True) as bar,
    ):
        for written in pool.map(partial(_write_file, folder), spans):
            bar.update(written)


def print_curves(documents: int, collection: Path, seed: int) -> None:
    """Print how distinct words grow, and how frequent they are, in the passages and in as many documents."""
    passages = read_passages(collection)[:documents]
    maker = DocumentMaker(passages, seed)
    texts = {
        "passages": [passage.text for passage in passages],
        "documents": [str(maker.document(number)["text"]) for number in range(documents)],
    }
    print("| words of passages | distinct | words of documents | distinct |\n|---|---|---|---|")
    counts = (count_distinct_words(texts[name]) for name in ("passages", "documents"))
    for passage_counts, document_counts in zip(*counts, strict=True):
        print(f"| {' | '.join(f'{count:,}' for count in (*passage_counts, *document_counts))} |")
    for name, sample in texts.items():
        frequencies = Counter(Counter(word for text in sample for word in set(_TOKEN.findall(text.lower()))).values())
        distinct = sum(frequencies.values())
        shares = ", ".join(f"{frequencies[count] / distinct:.3f}" for count in (1, 2, 3, 5, 10))
        lengths = sorted(text.count(" ") + 1 for text in sample)
        middle, long = lengths[len(lengths) // 2], lengths[len(lengths) * 9 // 10]
        print(f"{name}: words in 1, 2, 3, 5, 10 texts: {shares}; words of a text: median {middle}, 90% {long}")


def main() -> None:
    """Parse the command line; write documents, or print curves."""
    parser = argparse.ArgumentParser(
        "benchmarks.many_documents", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="Folder for the files.")
    parser.add_argument("--documents", type=int, default=1_000_000, help="Number of documents. [default: %(default)s]")
    parser.add_argument("--texts", type=Path, required=True, help="Folder of the collection whose texts are used.")
    parser.add_argument("--seed", type=int, default=1, help="Seed. [default: %(default)s]")
    parser.add_argument("--curves", type=int, metavar="N", help="Print the curves of N passages and documents instead.")
    options = parser.parse_args()
    if options.curves:
        print_curves(options.curves, options.texts, options.seed)
    elif options.folder:
        write_documents(options.folder, options.documents, options.texts, options.seed)
        print(json.dumps({"documents": options.documents, "seed": options.seed}))
    else:
        parser.error("name a folder, or give --curves")


if __name__ == "__main__":
    main()
