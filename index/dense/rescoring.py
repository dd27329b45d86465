"""Scores the first pages of a ranking of words by their vectors too, in some tens of microseconds.

The vectors of all other pages are not looked at: `webemu.index.dense.store` does that, for models that find pages
which the words miss. The files are the same; the sum of scores is that of `webemu.index.dense.fusion` with a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from pathlib import Path

import numkong
import numpy as np
from numpy.typing import NDArray

from webemu.emulator.ports import ScoredDoc
from webemu.index.dense.store import OWNERS, VECTORS, Vector

COSINE_WEIGHT = 0.5
"""Weight of the cosine beside the score of the words, as a share of the best page's. A weight of 1 gains more on
questions, and loses more on names of pages (docs/dense.md).
"""


class Rescorer:
    """Memory-mapped reader. Thread-safe."""

    def __init__(self, folder: Path, dimensions: int, scale: float, order: Sequence[int]) -> None:
        """Open the files; `order` is the rank of each page among pages of equal score."""
        # Plain arrays over the maps: numpy's class for maps costs microseconds at each index.
        self._vectors = np.asarray(np.memmap(folder / VECTORS, np.int8, "r")).reshape((-1, dimensions))
        owners = np.asarray(np.memmap(folder / OWNERS, np.uint32, "r"))
        self._order = np.asarray(order)
        self._first_rows = np.searchsorted(owners, np.arange(len(self._order) + 1, dtype=np.uint32))
        self._scale = scale

    def rescore(self, query: Vector, entries: Sequence[ScoredDoc]) -> list[ScoredDoc]:
        """Return the entries by their scores, as a share of the best one, plus their weighted cosines; ties by order.

        Each entry must be a page that has vectors.
        """
        if not entries:
            return []
        docs = np.fromiter((doc for _, doc in entries), np.int64, len(entries))
        scores = np.fromiter((score for score, _ in entries), np.float64, len(entries))
        scores = scores / scores[0] + COSINE_WEIGHT * self._cosines(query, docs)
        ranking = np.lexsort((self._order[docs], -scores))
        return list(zip(scores[ranking].tolist(), docs[ranking].tolist(), strict=True))

    def _cosines(self, query: Vector, docs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cosine of the query and each page's best window."""
        firsts = self._first_rows[docs]
        counts = self._first_rows[docs + 1] - firsts
        ends = np.cumsum(counts)
        rows = np.arange(ends[-1]) + np.repeat(firsts - ends + counts, counts)
        dots: NDArray[np.float64] = np.asarray(numkong.cdist(query[None], self._vectors[rows], metric="dot"))[0]
        length = self._scale * sqrt(int(np.square(query, dtype=np.int64).sum()))
        best: NDArray[np.float64] = np.maximum.reduceat(dots, ends - counts) / length
        return best
