"""Queries on the catalog: their rows as a stream, since results may be larger than the memory, and paths in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb


def stream_rows(db: duckdb.DuckDBPyConnection, sql: str, batch_rows: int = 10_000) -> Iterator[tuple[Any, ...]]:
    """Run a query and yield its rows; `batch_rows` of them are in memory at once. The query decides their types."""
    db.execute(sql)
    while rows := db.fetchmany(batch_rows):
        yield from rows


def quote_path(path: Path) -> str:
    """Return a path as it stands between single quotes in SQL, where no parameter is allowed."""
    return str(path).replace("'", "''")
