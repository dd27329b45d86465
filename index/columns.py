"""Per-document numbers by dense id (Lucene's doc values): visibility in time, date, domain, duplicates, ranking
features.

`webemu.emulator.ranking` filters and collapses hits by them; `webemu.index.engine` ranks with them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING

from webemu.emulator import ranking
from webemu.emulator.ports import ScoredDoc
from webemu.index.blobs import map_file
from webemu.index.page_columns import TYPES as PAGE_TYPES
from webemu.index.page_columns import column_values

if TYPE_CHECKING:
    import pyarrow as pa

try:
    from webemu.index._reading import drop_duplicates
except ImportError:  # no compiler where it was installed
    drop_duplicates = None  # type: ignore[assignment]

FOREVER = ranking.FOREVER
"""Value of `until` for a page that is the latest of its URL."""
_TYPES = {"since": "q", "day": "i", "host": "f", "address": "f", "quality": "f"}
"""Type codes of the columns that have a file of their own."""
_ROW_PREFIX, _ROW_BYTES = Struct("<qqI"), 24
"""Values that every entry of a ranking needs are stored side by side: each separate array would be a cache miss."""
_ROW_FILE = "rows.bin"
"""File of the rows: until, cluster, domain and order of each page, side by side."""


def write_columns(folder: Path, page_columns: Sequence[Path], batches: Iterable[pa.RecordBatch]) -> None:
    """Write one file per column, and the file of rows, to a new folder.

    - page_columns: folders of the columns of each shard (`webemu.index.page_columns`), in dense order
    - batches: the other columns of the same pages. until and cluster are integers of 64 bits, order is an unsigned one
      of 32, host is a float of 32

    Raises ValueError if a value is null, or if there are not as many pages in both.
    """
    folder.mkdir()
    for name in PAGE_TYPES.keys() & _TYPES.keys():
        with (folder / f"{name}.bin").open("wb") as file:
            for columns in page_columns:
                with (columns / f"{name}.bin").open("rb") as part:
                    shutil.copyfileobj(part, file)
    domains = memoryview(b"".join((columns / "domain.bin").read_bytes() for columns in page_columns)).cast("I")
    pages = 0
    with (folder / _ROW_FILE).open("wb") as row_file, (folder / "host.bin").open("wb") as host_file:
        for batch in batches:
            host_file.write(column_values(batch["host"], "f"))
            rows = memoryview(bytearray(_ROW_BYTES * len(batch)))
            rows.cast("q")[0::3] = column_values(batch["until"], "q")
            rows.cast("q")[1::3] = column_values(batch["cluster"], "q")
            rows.cast("I")[4::6] = domains[pages : pages + len(batch)]
            rows.cast("I")[5::6] = column_values(batch["order"], "I")
            row_file.write(rows)
            pages += len(batch)
    if pages != len(domains):
        raise ValueError(f"the shards have columns of {len(domains)} pages, and the catalog has {pages}")


class Columns:
    """Memory-mapped reader: the port `DocValues`, and the ranking features.

    `since`, `until`: seconds between which the page is what its URL shows, `until` being FOREVER for the latest;
    `day`: number of the day it is dated; `domain`: hash of its registrable domain; `cluster`: hash of its text, or
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
        return map(_ROW_PREFIX.unpack_from, repeat(self._rows), [_ROW_BYTES * doc for doc in docs])

    def drop_duplicates(self, ranked: list[ScoredDoc]) -> list[tuple[ScoredDoc, int]]:
        """Return the live entries of a ranking without later duplicates, each with its domain
        (`webemu.emulator.ranking.drop_duplicates`).
        """
        if drop_duplicates is not None:
            return drop_duplicates(self._rows, ranked)
        return ranking.drop_duplicates(ranked, self.rows([doc for _, doc in ranked]))
