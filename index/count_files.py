"""Files of term counts (`webemu.index.term_counts`): those of a shard are written with it, all are read as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from webemu.emulator.ports import ScoredDoc
from webemu.index.blobs import BlobWriter, map_file
from webemu.index.term_counts import WeightedHashes

try:
    from webemu.index._reading import complete_scores, encode_counts
except ImportError:  # no compiler where it was installed
    from webemu.index.term_counts import complete_scores, encode_counts

FILE = "counts"
"""Name of the file in a shard, without its ending."""


class CountWriter(BlobWriter):
    """Writer of the counts of a shard, page by page."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.terms = 0
        """Terms of all pages so far, repetitions included."""

    def add_terms(self, terms: str) -> None:
        """Append the counts of a page, given the terms of its field `all`, separated by spaces."""
        blob = encode_counts(terms)
        self.terms += int.from_bytes(blob[:4], "little")
        self.add(blob)


class TermCounts:
    """Reader of the counts of all shards of an index."""

    def __init__(self, paths: Sequence[Path], bases: Sequence[int], average: float) -> None:
        """Open files that `CountWriter` wrote.

        - bases: first dense id of each shard
        - average: mean length of the field `all`, in terms
        """
        self._files = [(map_file(path.with_suffix(".bin")), map_file(path.with_suffix(".idx"))) for path in paths]
        self._bases, self._average = list(bases), average

    def complete_scores(self, ranked: Sequence[ScoredDoc], terms: WeightedHashes) -> list[ScoredDoc]:
        """Return pages with the scores that they have by further terms too, best first, then by dense id."""
        return complete_scores(self._files, self._bases, ranked, terms, self._average)
