"""Numbers by dense id: by which hits are shown (visibility in time, date, domain, duplicates) and ranked."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from index.blobs import map_file

FOREVER = 2**62
_TYPES = {
    "since": "q",
    "until": "q",
    "day": "i",
    "domain": "I",
    "cluster": "q",
    "order": "I",
    "host": "f",
    "address": "f",
    "quality": "f",
}


def write_columns(folder: Path, rows: Iterable[tuple[float, ...]]) -> None:
    """Write one file per column from rows of them all in dense order."""
    folder.mkdir()
    columns: dict[str, array[Any]] = {name: array(code) for name, code in _TYPES.items()}
    for row in rows:
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    for name, column in columns.items():
        (folder / f"{name}.bin").write_bytes(column.tobytes())


class Columns:
    """Read side, memory-mapped.

    `since`, `until`: seconds between which the page is what its URL shows, `until` being FOREVER for the latest;
    `day`: day number it is dated; `domain`: number of its registrable domain; `cluster`: hash of its text,
    or of that which it is a near-duplicate of; `order`: place of its URL among all, for ties. In [0, 1], what
    `index.signals` says of its `host`, its `address` and the `quality` of its text.
    """

    def __init__(self, folder: Path) -> None:
        columns: dict[str, memoryview] = {
            name: map_file(folder / f"{name}.bin").cast(code)  # type: ignore[call-overload]
            for name, code in _TYPES.items()
        }
        self.since = columns["since"]
        self.until = columns["until"]
        self.day = columns["day"]
        self.domain = columns["domain"]
        self.cluster = columns["cluster"]
        self.order = columns["order"]
        self.host = columns["host"]
        self.address = columns["address"]
        self.quality = columns["quality"]
