"""Reads the duplicates of a snapshot, which `webemu.index.signals.duplicates` finds and writes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from webemu.index.blobs import map_file

FOLDER = "duplicates"
"""Name of the folder in a snapshot."""


class Duplicates:
    """Memory-mapped reader."""

    def __init__(self, folder: Path) -> None:
        self._clusters: memoryview = map_file(folder / "clusters.bin").cast("q")
        self._starts: memoryview = map_file(folder / "starts.bin").cast("I")
        self._docs: memoryview = map_file(folder / "docs.bin").cast("I")

    def members_of(self, cluster: int) -> Sequence[int]:
        """Return the dense ids of all searchable pages of a cluster, past captures included; empty if it has one."""
        index = bisect_left(self._clusters, cluster)
        if index == len(self._clusters) or self._clusters[index] != cluster:
            return ()
        return self._docs[self._starts[index] : self._starts[index + 1]]
