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


class RowRange(NamedTuple):
    """Rows of a file that are copied by themselves."""

    start: int
    """Offset of the first line; in Parquet the number of the first row group."""
    end: int
    """Offset or number behind the last one."""
    first_row: int
    """Number of the first row in the file."""


def parse_lines(chunks: Iterator[bytes | Skip], start: int = 0) -> Iterator[Row | Skip]:
    """Yield the rows of JSON lines that come in parts of any size; `start` is the offset of the first.

    A line that is too long is not kept. Damage ends a line, and another begins after it.
    """
    for line in _iter_lines(chunks, start):
        if isinstance(line, Skip):
            yield line
            continue
        value = _parse_json(line.content)
        yield Row(line.start, value) if isinstance(value, dict) else Skip("bad-json", line.start, line.size)


def divide_lines(chunks: Iterator[bytes | Skip], range_bytes: int, column: bytes) -> list[RowRange]:
    """Return JSON lines as ranges of about `range_bytes`; none if they make fewer than two, or if a row may have the
    column, whose value holds for later rows. `column` is its name in quotes.
    """
    ranges: list[RowRange] = []
    start = end = first_row = row = 0
    for row, line in enumerate(_iter_lines(chunks)):
        if not isinstance(line, Skip) and column in line.content:
            return []
        line_start = line.offset if isinstance(line, Skip) else line.start
        if line_start - start >= range_bytes and row > first_row:
            ranges.append(RowRange(start, line_start, first_row))
            start, first_row = line_start, row
        end = line_start + (line.bytes if isinstance(line, Skip) else line.size)
    # A short remainder stays with the range before.
    if ranges and end - start < range_bytes // 2:
        start, _, first_row = ranges.pop()
    return [*ranges, RowRange(start, end, first_row)] if ranges else []


class _Line(NamedTuple):
    """One line that is not empty."""

    start: int
    size: int
    """Bytes with the line end."""
    content: bytes
    """Bytes without byte order mark and white space around them."""


def _iter_lines(chunks: Iterator[bytes | Skip], start: int = 0) -> Iterator[_Line | Skip]:
    """Yield each line that is not empty, a skip for one that is too long, and the skips among the parts."""
    line_pieces: list[bytes] = []
    size = 0
    for chunk in chunks:
        if isinstance(chunk, Skip):
            yield from _join_line(start, size, line_pieces)
            yield chunk
            start, size, line_pieces = start + size, 0, []
            continue
        *line_ends, line_start = chunk.split(b"\n")
        for line_end in line_ends:
            yield from _join_line(start, size + len(line_end) + 1, [*line_pieces, line_end])
            start, size, line_pieces = start + size + len(line_end) + 1, 0, []
        size += len(line_start)
        line_pieces = [*line_pieces, line_start] if size <= MAX_BLOCK else []
    yield from _join_line(start, size, line_pieces)


def _join_line(start: int, size: int, pieces: list[bytes]) -> Iterator[_Line | Skip]:
    if size > MAX_BLOCK:
        yield Skip("oversized-record", start, size)
    elif content := b"".join(pieces).removeprefix(b"\xef\xbb\xbf").strip():
        yield _Line(start, size, content)


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


def read_parquet(path: Path, columns: frozenset[str], rows: RowRange | None = None) -> Iterator[Row | Skip]:
    """Yield the rows of all row groups, or of a range of them. Only `columns` are read, if they are there.

    Damage costs the rest of its own group; without its footer a file is unreadable.
    """
    number = rows.first_row if rows else 0
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            names = [name for name in file.schema_arrow.names if name in columns]
            for group in range(rows.start, rows.end) if rows else range(file.metadata.num_row_groups):
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


def divide_parquet(path: Path, range_bytes: int, columns: frozenset[str]) -> list[RowRange]:
    """Return the row groups of a file as ranges of about `range_bytes`, unpacked; none if they make fewer than two, or
    if the file has one of `columns`, whose values hold for later rows.
    """
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            if not columns.isdisjoint(file.schema_arrow.names):
                return []
            groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    except (pa.ArrowException, OSError):  # reading the whole tells what is wrong
        return []
    ranges: list[RowRange] = []
    start = first_row = row = size = 0
    for number, group in enumerate(groups, 1):
        row, size = row + group.num_rows, size + group.total_byte_size
        if size >= range_bytes or number == len(groups):
            ranges.append(RowRange(start, number, first_row))
            start, first_row, size = number, row, 0
    return ranges if len(ranges) > 1 else []


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
