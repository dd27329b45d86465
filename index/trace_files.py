"""Trace files (Parquet): their columns, how they are written and read. While serving, `webemu.index.traces` does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from webemu.emulator.trace import Trace

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
_LIST = pa.list_(pa.string())
SCHEMA = pa.schema([(name, _TYPES.get(of, _LIST)) for name, of in get_type_hints(Trace).items()])
"""Columns of a file: the fields of `webemu.emulator.trace.Trace`."""


def write_trace_file(path: Path, rows: list[Trace], lost: int) -> None:
    """Write rows to a new file, with the number of rows that were lost since the last one."""
    columns = {field: list(column) for field, column in zip(Trace._fields, zip(*rows, strict=True), strict=True)}
    table = pa.table(columns, schema=SCHEMA.with_metadata({"lost": str(lost)}))
    pq.write_table(table, path, compression="zstd")


def read_traces(folder: Path) -> tuple[list[Trace], int]:
    """Return every row, by session and step, and the number of rows that were lost."""
    rows: list[Trace] = []
    lost = 0
    for path in sorted(folder.glob("[!.]*.parquet")):
        table = pq.read_table(path)
        lost += int((table.schema.metadata or {}).get(b"lost", b"0"))
        rows += _to_traces(table)
    return sorted(rows, key=lambda row: (row.session, row.step)), lost


def _to_traces(table: pa.Table) -> Iterator[Trace]:
    for row in table.to_pylist():
        yield Trace(**{**row, "shown": tuple(row["shown"])})
