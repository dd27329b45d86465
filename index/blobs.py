"""Byte strings by dense id in one flat, memory-mapped file: the storage of result records and page views.

A flat file and not LMDB, since ids are dense, nothing is updated, and a memory view needs no transaction per thread
(`docs/decisions/002-flat-records.md`).
"""

from __future__ import annotations

import mmap
import os
from array import array
from pathlib import Path


def map_file(path: Path) -> memoryview:
    """Return a read-only memory view of a file; empty for an empty file."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


class BlobWriter:
    """Writer of `path`.bin and `path`.idx (u64 offsets, one more than there are blobs). A context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.with_suffix(".bin").open("wb")
        self._offsets = array("Q", [0])

    def add(self, blob: bytes) -> None:
        """Append one blob; its number is how many were added before it."""
        self._file.write(blob)
        self._offsets.append(self._offsets[-1] + len(blob))

    def __enter__(self) -> BlobWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._path.with_suffix(".idx").write_bytes(self._offsets.tobytes())


class Blobs:
    """Reader: `blobs[i]` is a memory view, valid as long as this object lives."""

    def __init__(self, path: Path) -> None:
        self._bytes = map_file(path.with_suffix(".bin"))
        self._offsets = map_file(path.with_suffix(".idx")).cast("Q")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> memoryview:
        return self._bytes[self._offsets[number] : self._offsets[number + 1]]
