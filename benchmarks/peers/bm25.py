"""The peer bm25s: BM25 of all words of all pages, computed beforehand as sparse arrays (`requirements-bm25.txt`).

It is measured with its default backend, NumPy, and with its scorer for Numba, which has to be selected.
"""

from __future__ import annotations

from pathlib import Path

import bm25s
import Stemmer

from benchmarks.peers.passages import RankedPassages, build_passage, read_rows


class Bm25:
    """Index in memory with its passages. `folder` holds the index, built from the corpus if it is missing."""

    BACKEND = "numpy"
    """Scorer of bm25s."""

    def __init__(self, corpus: Path, folder: Path) -> None:
        self._stemmer = Stemmer.Stemmer("english")
        self._passages = [build_passage(row) for row in read_rows(corpus)]
        marker = folder / "params.index.json"
        if not marker.exists():
            texts = [f"{row['title']} {row['text']}" for row in read_rows(corpus)]
            index = bm25s.BM25()
            index.index(bm25s.tokenize(texts, stopwords="en", stemmer=self._stemmer, show_progress=False))
            index.save(str(folder))
        self._index = bm25s.BM25.load(str(folder), load_corpus=False)
        if self.BACKEND == "numba":
            self._index.backend = self.BACKEND
            self._index.activate_numba_scorer()
            self.search(["compiled when it is first used"], 1)

    def search(self, queries: list[str], count: int) -> RankedPassages:
        """Return the best `count` passages for each query."""
        words = bm25s.tokenize(queries, stopwords="en", stemmer=self._stemmer, show_progress=False, return_ids=False)
        page_numbers, scores = self._index.retrieve(words, k=count, show_progress=False)
        return [
            [(self._passages[page], float(score)) for page, score in zip(*pair, strict=True)]
            for pair in zip(page_numbers.tolist(), scores.tolist(), strict=True)
        ]


class Bm25Numba(Bm25):
    """The same index with the compiled scorer."""

    BACKEND = "numba"
