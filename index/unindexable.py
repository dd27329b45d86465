"""Moves captures that no snapshot has room for from the catalog's tables to its drops.

Ingest drops them (`webemu.ingest.capture`), but older versions let them in, and then no snapshot could be built. The
limit is in `webemu.index.schema`.
"""

from __future__ import annotations

import logging
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import duckdb

from webemu.index.catalog import Catalog
from webemu.index.schema import MAX_DROP_URL_CHARACTERS, MAX_URL_BYTES, URL_TOO_LARGE, is_url_too_large

_MAX_ESCAPE_BYTES = 6
"""Most bytes that JSON writes for one byte."""
_LONG_URLS = f"""
SELECT source_id, warc_record_offset, warc_record_length, url FROM captures
WHERE strlen(url) > {MAX_URL_BYTES // _MAX_ESCAPE_BYTES} ORDER BY source_id, warc_record_offset
"""
_ADD_DROP = f"INSERT INTO drops VALUES (?, '{URL_TOO_LARGE}', ?, ?, ?, ?)"
_RECOUNT_SOURCE = """
UPDATE sources SET captures = (SELECT count(*) FROM captures WHERE source_id = $1),
                   pages = (SELECT count(*) FROM pages WHERE source_id = $1)
WHERE source_id = $1
"""

CaptureRow = tuple[int, int, int, str]
"""Source id, offset, record bytes and URL."""


def drop_unindexable(collection: Path) -> int:
    """Move captures whose URL is too large for a snapshot to the drops; return how many there were.

    Raises CatalogError if there are any and the catalog cannot be written.
    """
    with Catalog(collection, read_only=True) as catalog:
        rows = _oversized_rows(catalog.db)
    if rows:
        with Catalog(collection) as catalog:
            _move_to_drops(catalog.db, rows)
        logging.getLogger(__name__).warning(
            "%s: dropped %d captures whose URLs are longer than %d bytes, as %s (see: webemu stat)",
            collection, len(rows), MAX_URL_BYTES, URL_TOO_LARGE,
        )  # fmt: skip
    return len(rows)


def _oversized_rows(db: duckdb.DuckDBPyConnection) -> list[CaptureRow]:
    rows: list[CaptureRow] = []
    db.execute(_LONG_URLS)
    while batch := db.fetchmany(1000):
        rows += [
            (source, offset, size, url[:MAX_DROP_URL_CHARACTERS])
            for source, offset, size, url in batch
            if is_url_too_large(url)
        ]
    return rows


def _move_to_drops(db: duckdb.DuckDBPyConnection, rows: list[CaptureRow]) -> None:
    db.execute("BEGIN TRANSACTION")
    for source, group in groupby(rows, key=itemgetter(0)):
        source_rows = list(group)
        offsets = [offset for _, offset, _, _ in source_rows]
        db.execute(
            _ADD_DROP,
            [source, len(source_rows), sum(size for _, _, size, _ in source_rows), offsets[0], source_rows[0][3]],
        )
        for table in ("captures", "pages", "links", "exchanges"):
            db.execute(f"DELETE FROM {table} WHERE source_id = ? AND warc_record_offset IN ?", [source, offsets])
        db.execute(_RECOUNT_SOURCE, [source])
    db.execute("COMMIT")
