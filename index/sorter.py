"""Sorts any number of (key, value) byte pairs by key. DuckDB sorts them, on disk if memory does not suffice."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from webemu.index.arrow_arrays import bytes_array, integer_array

BATCH_PAIRS = 50_000
"""Pairs that are held in memory here."""


class PairSorter:
    """Takes pairs, then yields them once, by key; pairs of one key keep their order."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        """Open a cursor beside `db` for the pairs; they count towards its memory limit."""
        self._db = db.cursor()
        self._db.execute("CREATE OR REPLACE TEMP TABLE pair (number BIGINT, key BLOB, value BLOB)")
        self._keys: list[bytes] = []
        self._values: list[bytes] = []
        self._count = 0
        self._bytes = 0

    @property
    def map_size(self) -> int:
        """Upper bound in bytes of an LMDB file of the pairs.

        Pages may be half empty, and a value larger than half a page begins a page of its own.
        """
        return (64 << 20) + 256 * (self._count + len(self._keys)) + 4 * self._bytes

    def add(self, key: bytes, value: bytes) -> None:
        """Add one pair."""
        self._bytes += len(key) + len(value)
        self._keys.append(key)
        self._values.append(value)
        if len(self._keys) == BATCH_PAIRS:
            self._flush()

    def _flush(self) -> None:
        numbers = integer_array(range(self._count, self._count + len(self._keys)))
        columns = {"number": numbers, "key": bytes_array(self._keys), "value": bytes_array(self._values)}
        self._db.register("taken", pa.table(columns))
        self._db.execute("INSERT INTO pair SELECT * FROM taken")
        self._db.unregister("taken")
        self._count += len(self._keys)
        self._keys, self._values = [], []

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield all pairs in order, then close the cursor."""
        self._flush()
        self._db.execute("SELECT key, value FROM pair ORDER BY key, number")
        while rows := self._db.fetchmany(BATCH_PAIRS):
            yield from rows
        self._db.close()
