"""Columns of what is known of a page by itself, written with its shard.

`webemu.index.columns` joins those of all shards, and adds what depends on other pages.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from webemu.index.signals.quality import QUALITY
from webemu.index.signals.urls import ADDRESS

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

FOLDER = "columns"
"""Name of the folder in a shard."""
TYPES = {"since": "q", "day": "i", "domain": "I", "address": "f", "quality": "f"}
"""Type codes of the columns (`array.array`), which mean what those of `webemu.index.columns.Columns` do."""
# One query for all spans: to expand the macros takes longer than to read a hundred pages.
_COLUMNS = """
SELECT floor(epoch(c.fetch_time))::BIGINT AS since,
       (coalesce(p.published, c.fetch_time::DATE) - DATE '1970-01-01')::INTEGER AS day,
       ('0x' || left(md5(coalesce(c.url_host_registered_domain, '')), 8))::UINTEGER AS domain,
       coalesce(address(c.url_path, c.url_query), 0)::FLOAT AS address, coalesce(quality(p), 1)::FLOAT AS quality
FROM pages p JOIN captures c USING (source_id, warc_record_offset)
JOIN column_spans s ON s.source_id = p.source_id AND p.warc_record_offset >= first AND p.warc_record_offset < last
WHERE {inside}
ORDER BY p.searchable DESC, p.source_id, p.warc_record_offset
"""
_SPANS = """
CREATE OR REPLACE TEMP TABLE column_spans AS
SELECT unnest($1::BIGINT[]) AS source_id, unnest($2::BIGINT[]) AS first, unnest($3::BIGINT[]) AS last
"""


def write_page_columns(
    db: duckdb.DuckDBPyConnection, folder: Path, spans: Sequence[tuple[int, int, int]], inside: str
) -> None:
    """Write the columns of the pages of a shard, one file each, to a new folder.

    - spans: (source id, first offset, end offset) of the pages
    - inside: SQL condition on `p`, the page, that is true if it is in the partition
    """
    db.execute(ADDRESS)
    db.execute(QUALITY)
    db.execute(_SPANS, [[span[part] for span in spans] for part in range(3)])
    write_batches(folder, db.sql(_COLUMNS.format(inside=inside)).to_arrow_reader(100_000))


def write_batches(folder: Path, batches: Iterable[pa.RecordBatch]) -> None:
    """Write rows in dense order as columns to a new folder. Raises ValueError if a value is null."""
    folder.mkdir()
    with ExitStack() as stack:
        files = {name: stack.enter_context((folder / f"{name}.bin").open("wb")) for name in TYPES}
        for batch in batches:
            for name, file in files.items():
                file.write(column_values(batch[name], TYPES[name]))


def column_values(column: pa.Array, code: str) -> array[float]:
    """Return the values of a column as an array with this type code. Raises ValueError if one is null."""
    if column.null_count:
        raise ValueError(f"{column.null_count} values of a column are null")
    values: array[float] = array(code)
    start = column.offset * values.itemsize
    values.frombytes(memoryview(column.buffers()[1])[start : start + len(column) * values.itemsize])
    return values
