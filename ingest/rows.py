"""Rows of a dump of texts, in order and as a stream: of unpacked JSON lines, and of Parquet.

The meaning of columns is not known here; `webemu.ingest.dump` knows it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from webemu.ingest.records import MAX_BLOCK, Skip

DAMAGED_PARQUET = "damaged-parquet"
"""Drop reason of rows that a damaged Parquet file does not give."""
_BATCH_ROWS = 256


class Row(NamedTuple):
    """One row as the file holds it."""

    offset: int
    """Byte of the unpacked file at which its line begins; in Parquet the number of the row."""
    value: dict[str, object]
    """Values by column name."""


def parse_lines(chunks: Iterator[bytes | Skip]) -> Iterator[Row | Skip]:
    """Yield the rows of JSON lines that come in parts of any size.

    A line that is too long is not kept. Damage ends a line, and another begins after it.
    """
    line_pieces: list[bytes] = []
    start = size = 0
    for chunk in chunks:
        if isinstance(chunk, Skip):
            yield from _parse_row(start, size, line_pieces)
            yield chunk
            start, size, line_pieces = start + size, 0, []
            continue
        *line_ends, line_start = chunk.split(b"\n")
        for line_end in line_ends:
            yield from _parse_row(start, size + len(line_end) + 1, [*line_pieces, line_end])
            start, size, line_pieces = start + size + len(line_end) + 1, 0, []
        size += len(line_start)
        line_pieces = [*line_pieces, line_start] if size <= MAX_BLOCK else []
    yield from _parse_row(start, size, line_pieces)


def _parse_row(start: int, size: int, pieces: list[bytes]) -> Iterator[Row | Skip]:
    """Yield the row of one line, a skip if it is unreadable, or nothing if the line is empty."""
    if size > MAX_BLOCK:
        yield Skip("oversized-record", start, size)
    elif line := b"".join(pieces).removeprefix(b"\xef\xbb\xbf").strip():
        value = _parse_json(line)
        yield Row(start, value) if isinstance(value, dict) else Skip("bad-json", start, size)


def _parse_json(line: bytes) -> object:
    """Return the value of a line, or None if it is not JSON. Python's parser accepts NaN and lone surrogates."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def read_parquet(path: Path, columns: frozenset[str]) -> Iterator[Row | Skip]:
    """Yield the rows of all row groups. Only `columns` are read, if they are there.

    Damage costs the rest of its own group; without its footer a file is unreadable.
    """
    number = 0
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            names = [name for name in file.schema_arrow.names if name in columns]
            for group in range(file.metadata.num_row_groups):
                end = number + file.metadata.row_group(group).num_rows
                for value in _read_row_group(file, group, names):
                    yield Row(number, value) if value is not None else Skip(DAMAGED_PARQUET, number, 0)
                    number += 1
                if number < end:
                    yield Skip(DAMAGED_PARQUET, number, 0, records=end - number)
                number = end
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        yield Skip(DAMAGED_PARQUET, number, path.stat().st_size)


def _read_row_group(file: pq.ParquetFile, group: int, names: list[str]) -> Iterator[dict[str, object] | None]:
    """Yield the rows of a row group up to where it is damaged; None for a row whose texts are not UTF-8."""
    try:
        for batch in file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=names):
            try:
                values = batch.to_pylist()
            except (ValueError, OverflowError):
                values = [_convert_row(batch.slice(number, 1)) for number in range(batch.num_rows)]
            yield from values
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise


def _convert_row(row: pa.RecordBatch) -> dict[str, object] | None:
    """Return a row as Python values, or None if its texts are not UTF-8."""
    try:
        return {name: _convert_cell(row[name][0]) for name in row.schema.names}
    except UnicodeDecodeError:
        return None


def _convert_cell(scalar: pa.Scalar) -> object:
    """Return a cell as a Python value.

    A value that Python cannot represent, such as a date beyond the year 9999, becomes a text that says so.
    """
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        raise
    except (ValueError, OverflowError):
        return f"no {scalar.type} of Python"
