"""Rows of a query on the catalog, as a stream: results may be larger than the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb


def stream_rows(db: duckdb.DuckDBPyConnection, sql: str, batch_rows: int = 10_000) -> Iterator[tuple[Any, ...]]:
    """Run a query and yield its rows; `batch_rows` of them are in memory at once. The query decides their types."""
    db.execute(sql)
    while rows := db.fetchmany(batch_rows):
        yield from rows
