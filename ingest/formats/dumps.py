"""Dumps of texts: JSON lines (plain, gzip, zstd) and Parquet. Each row is copied as a WARC record.

The meaning of columns is in `webemu.ingest.dump`, the reading of rows in `webemu.ingest.rows`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import orjson

from webemu.ingest import dump
from webemu.ingest.formats.format import CopyTarget, Format, Probe, RangeCopier
from webemu.ingest.formats.har import HAR_START
from webemu.ingest.formats.members import read_span, write_records
from webemu.ingest.formats.recordings import JSON_CASSETTE_START, begins_service_log
from webemu.ingest.records import Skip
from webemu.ingest.rows import (
    DAMAGED_PARQUET,
    Row,
    RowRange,
    divide_lines,
    divide_parquet,
    parse_lines,
    read_parquet,
)
from webemu.ingest.unpack import GZIP, PLAIN, ZSTD, Packing

_JSON_OBJECT_START = re.compile(rb'\{\s*"(?:[^"\\]|\\.){1,200}"\s*:')
"""Start of a JSON object: a brace, a name and a colon."""


def _begins_object(probe: Probe) -> bool:
    """True if the first line is a JSON object, or if what is here of it begins like one; recordings are none of
    rows.
    """
    if HAR_START.match(probe.start) or JSON_CASSETTE_START.match(probe.start) or begins_service_log(probe):
        return False
    line, end, _ = probe.text.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if not end:
        return bool(_JSON_OBJECT_START.match(line))
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def _begins_parquet(probe: Probe) -> bool:
    return probe.start.startswith(b"PAR1")


def _copy_lines(path: Path, target: CopyTarget, *, packing: Packing) -> list[Skip]:
    return _copy_rows(path.name, parse_lines(packing.iter_content(path)), target)


def _divide_lines(path: Path, range_bytes: int) -> list[RowRange]:
    return divide_lines(PLAIN.iter_content(path), range_bytes, f'"{dump.CRAWL_COLUMN}"'.encode())


def _copy_line_range(path: Path, rows: RowRange, target: CopyTarget) -> list[Skip]:
    with path.open("rb") as file:
        lines = parse_lines(read_span(file.fileno(), rows.start, rows.end - rows.start), rows.start)
        return _copy_rows(path.name, lines, target, rows.first_row)


def _copy_parquet(path: Path, target: CopyTarget) -> list[Skip]:
    return _copy_rows(path.name, read_parquet(path, dump.COLUMNS), target)


def _divide_row_groups(path: Path, range_bytes: int) -> list[RowRange]:
    return divide_parquet(path, range_bytes, frozenset((dump.CRAWL_COLUMN, *dump.NESTED_COLUMNS)))


def _copy_row_groups(path: Path, rows: RowRange, target: CopyTarget) -> list[Skip]:
    return _copy_rows(path.name, read_parquet(path, dump.COLUMNS, rows), target, rows.first_row)


def _copy_rows(file_name: str, rows: Iterator[Row | Skip], target: CopyTarget, first_row: int = 0) -> list[Skip]:
    """Copy every row of a dump; `first_row` is the number of the first."""
    return write_records(dump.iter_records(file_name, rows, first_row), target.file)


JSONL = Format(
    name="jsonl",
    title="JSONL",
    suffixes=(".jsonl", ".ndjson"),
    packing=PLAIN,
    begins=_begins_object,
    copy_records=partial(_copy_lines, packing=PLAIN),
    range_copier=RangeCopier(_divide_lines, _copy_line_range),
    is_dump=True,
)
JSONL_GZ = Format(
    name="jsonl.gz",
    title="JSONL",
    suffixes=(".jsonl.gz", ".ndjson.gz", ".json.gz"),
    packing=GZIP,
    begins=_begins_object,
    copy_records=partial(_copy_lines, packing=GZIP),
    is_dump=True,
    drop_reasons=GZIP.drop_reasons,
)
JSONL_ZST = Format(
    name="jsonl.zst",
    title="JSONL",
    suffixes=(".jsonl.zst", ".ndjson.zst", ".json.zst"),
    packing=ZSTD,
    begins=_begins_object,
    copy_records=partial(_copy_lines, packing=ZSTD),
    is_dump=True,
    drop_reasons=ZSTD.drop_reasons,
)
PARQUET = Format(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet",),
    packing=PLAIN,
    begins=_begins_parquet,
    copy_records=_copy_parquet,
    range_copier=RangeCopier(_divide_row_groups, _copy_row_groups),
    is_dump=True,
    drop_reasons=(DAMAGED_PARQUET,),
)
