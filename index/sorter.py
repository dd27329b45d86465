"""Pairs of bytes in the order of their keys, however many: DuckDB sorts them, on disk what memory does not hold."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa

AT_ONCE = 50_000
"""Pairs that are held here."""


class Sorter:
    """Takes pairs, then gives them: by key, and those of one key as they came."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        """The pairs are in a connection of their own beside `db`, within its bound of memory."""
        self._db = db.cursor()
        self._db.execute("CREATE OR REPLACE TEMP TABLE pair (number BIGINT, key BLOB, value BLOB)")
        self._keys: list[bytes] = []
        self._values: list[bytes] = []
        self._count = 0
        self._bytes = 0

    @property
    def map_size(self) -> int:
        """Upper bound in bytes of an LMDB file of the pairs.

        Pages may be half empty, and what is larger than half a page begins a page of its own.
        """
        return (64 << 20) + 256 * (self._count + len(self._keys)) + 4 * self._bytes

    def add(self, key: bytes, value: bytes) -> None:
        self._bytes += len(key) + len(value)
        self._keys.append(key)
        self._values.append(value)
        if len(self._keys) == AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        numbers = pa.array(range(self._count, self._count + len(self._keys)), pa.int64())
        columns = {
            "number": numbers,
            "key": pa.array(self._keys, pa.binary()),
            "value": pa.array(self._values, pa.binary()),
        }
        self._db.register("taken", pa.table(columns))
        self._db.execute("INSERT INTO pair SELECT * FROM taken")
        self._db.unregister("taken")
        self._count += len(self._keys)
        self._keys, self._values = [], []

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        self._flush()
        self._db.execute("SELECT key, value FROM pair ORDER BY key, number")
        while rows := self._db.fetchmany(AT_ONCE):
            yield from rows
        self._db.close()
