"""Per-document numbers by dense id (Lucene's doc values): visibility in time, date, domain, duplicates, ranking
features.

`webemu.emulator.ranking` filters and collapses hits by them; `webemu.index.engine` ranks with them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from struct import Struct

from webemu.emulator import ranking
from webemu.emulator.ports import ScoredDoc
from webemu.index.blobs import map_file

try:
    from webemu.index._reading import drop_duplicates
except ImportError:  # no compiler where it was installed
    drop_duplicates = None  # type: ignore[assignment]

FOREVER = ranking.FOREVER
"""Value of `until` for a page that is the latest of its URL."""
_TYPES = {"since": "q", "day": "i", "host": "f", "address": "f", "quality": "f"}
_ROW, _ROW_PREFIX = Struct("<qqII"), Struct("<qqI")
"""Values that every entry of a ranking needs are stored side by side: each separate array would be a cache miss."""
_ROW_FILE = "rows.bin"
"""File of the rows: until, cluster, domain and order of each page, side by side."""


def write_columns(folder: Path, rows: Iterable[tuple[float, ...]]) -> None:
    """Write one file per column, and the file of rows, to a new folder.

    `rows` come in dense order: since, until, day, domain, cluster, order, host, address, quality.
    """
    folder.mkdir()
    columns: dict[str, array[float]] = {name: array(code) for name, code in _TYPES.items()}
    with (folder / _ROW_FILE).open("wb") as file:
        for since, until, day, domain, cluster, order, *signals in rows:
            file.write(_ROW.pack(until, cluster, domain, order))
            for column, value in zip(columns.values(), (since, day, *signals), strict=True):
                column.append(value)
    for name, column in columns.items():
        (folder / f"{name}.bin").write_bytes(column.tobytes())


class Columns:
    """Memory-mapped reader: the port `DocValues`, and the ranking features.

    `since`, `until`: seconds between which the page is what its URL shows, `until` being FOREVER for the latest;
    `day`: number of the day it is dated; `domain`: number of its registrable domain; `cluster`: hash of its text, or
    of the text that it nearly duplicates; `order`: rank of its URL among all, to break ties. `host`, `address` and
    `quality` are the features of `webemu.index.signals`, each in [0, 1].
    """

    def __init__(self, folder: Path) -> None:
        columns: dict[str, memoryview] = {
            name: map_file(folder / f"{name}.bin").cast(code)  # type: ignore[call-overload]
            for name, code in _TYPES.items()
        }
        self.since = columns["since"]
        self.day = columns["day"]
        self.host = columns["host"]
        self.address = columns["address"]
        self.quality = columns["quality"]
        self._rows = map_file(folder / _ROW_FILE)
        # Strided views of the rows: 24 bytes are 3 values of 8 bytes, or 6 of 4.
        self.until, self.cluster = self._rows.cast("q")[0::3], self._rows.cast("q")[1::3]
        self.domain, self.order = self._rows.cast("I")[4::6], self._rows.cast("I")[5::6]

    def rows(self, docs: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """Yield (until, cluster, domain) of each page."""
        # Positions are computed in one list: a search reads thousands of rows, and this stays in C.
        return map(_ROW_PREFIX.unpack_from, repeat(self._rows), [_ROW.size * doc for doc in docs])

    def drop_duplicates(self, ranked: list[ScoredDoc]) -> list[tuple[ScoredDoc, int]]:
        """Return the live entries of a ranking without later duplicates, each with its domain
        (`webemu.emulator.ranking.drop_duplicates`).
        """
        if drop_duplicates is not None:
            return drop_duplicates(self._rows, ranked)
        return ranking.drop_duplicates(ranked, self.rows([doc for _, doc in ranked]))
