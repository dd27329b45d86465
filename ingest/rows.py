"""Rows of a dump of texts, in order and as a stream: JSON lines (plain, gzip, zstd) and Parquet.

What a row means is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from webemu.ingest.records import MAX_BLOCK, Skip
from webemu.ingest.unpack import parts

KINDS = ("jsonl", "jsonl.gz", "jsonl.zst", "parquet")
_BATCH = 256
_STEP = 1 << 18


class Row(NamedTuple):
    """One row as it came."""

    offset: int
    """Byte of the unpacked file at which its line begins; in Parquet its number."""
    value: dict[str, Any]


def rows(path: Path, kind: str, columns: frozenset[str]) -> Iterator[Row | Skip]:
    """Every row, and what cannot be read; of Parquet only these columns, if they are there."""
    return _of_parquet(path, columns) if kind == "parquet" else _of_lines(_parts(path, kind))


def _parts(path: Path, kind: str) -> Iterator[bytes | Skip]:
    if kind != "jsonl":
        yield from parts(path, kind)
        return
    with path.open("rb") as file:
        while part := file.read(_STEP):
            yield part


def _of_lines(found: Iterator[bytes | Skip]) -> Iterator[Row | Skip]:
    """Lines of pieces of any size. Of one that is too long nothing is kept; damage ends a line and begins another."""
    held: list[bytes] = []
    start = size = 0
    for part in found:
        if isinstance(part, Skip):
            yield from _row(start, size, held)
            yield part
            start, size, held = start + size, 0, []
            continue
        *ends, rest = part.split(b"\n")
        for end in ends:
            yield from _row(start, size + len(end) + 1, [*held, end])
            start, size, held = start + size + len(end) + 1, 0, []
        size += len(rest)
        held = [*held, rest] if size <= MAX_BLOCK else []
    yield from _row(start, size, held)


def _row(start: int, size: int, pieces: list[bytes]) -> Iterator[Row | Skip]:
    if size > MAX_BLOCK:
        yield Skip("oversized-record", start, size)
    elif line := b"".join(pieces).removeprefix(b"\xef\xbb\xbf").strip():
        value = _read(line)
        yield Row(start, value) if isinstance(value, dict) else Skip("bad-json", start, size)


def _read(line: bytes) -> Any:
    """The value of a line, None if it is no JSON. Python's reader knows NaN and halves of surrogates."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _of_parquet(path: Path, columns: frozenset[str]) -> Iterator[Row | Skip]:
    """Rows of every row group; damage costs the rest of its own. Without its footer nothing of a file can be read."""
    number = 0
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            names = [name for name in file.schema_arrow.names if name in columns]
            for group in range(file.metadata.num_row_groups):
                end = number + file.metadata.row_group(group).num_rows
                for value in _of_group(file, group, names):
                    yield Row(number, value) if value is not None else Skip("damaged-parquet", number, 0, "no UTF-8")
                    number += 1
                if number < end:
                    yield Skip("damaged-parquet", number, 0, f"row group {group}", records=end - number)
                number = end
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        yield Skip("damaged-parquet", number, path.stat().st_size, str(error)[:200])


def _of_group(file: pq.ParquetFile, group: int, names: list[str]) -> Iterator[dict[str, Any] | None]:
    """Rows of a row group up to where it is damaged; None for a row whose texts are no UTF-8."""
    try:
        for batch in file.iter_batches(_BATCH, row_groups=[group], columns=names):
            try:
                values = batch.to_pylist()
            except (ValueError, OverflowError):
                values = [_values(batch.slice(number, 1)) for number in range(batch.num_rows)]
            yield from values
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise


def _values(row: pa.RecordBatch) -> dict[str, Any] | None:
    """Return a row as Python values, or None if its texts are not UTF-8."""
    try:
        return {name: _value(row[name][0]) for name in row.schema.names}
    except UnicodeDecodeError:
        return None


def _value(scalar: pa.Scalar) -> Any:
    """Return a cell; one that Python has no value for, such as a date beyond the year 9999, as a text that says so."""
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        raise
    except (ValueError, OverflowError):
        return f"no {scalar.type} of Python"
