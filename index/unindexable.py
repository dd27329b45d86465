"""Moves captures that no snapshot has room for from the catalog's tables to its drops.

Ingest drops them (`webemu.ingest.capture`), but older versions let them in, and then no snapshot could be built. The limit is
in `webemu.index.schema`.
"""

from __future__ import annotations

import logging
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import duckdb

from webemu.index.catalog import Catalog
from webemu.index.schema import MAX_SHOWN, MAX_URL, URL_TOO_LARGE, is_url_too_large

_ESCAPED = 6
"""Most bytes that JSON writes for one byte."""
_LONG = f"""
SELECT source_id, warc_record_offset, warc_record_length, url FROM captures
WHERE strlen(url) > {MAX_URL // _ESCAPED} ORDER BY source_id, warc_record_offset
"""
_COUNT = f"INSERT INTO drops VALUES (?, '{URL_TOO_LARGE}', ?, ?, ?, ?)"
_LESS = """
UPDATE sources SET captures = (SELECT count(*) FROM captures WHERE source_id = $1),
                   pages = (SELECT count(*) FROM pages WHERE source_id = $1)
WHERE source_id = $1
"""

Row = tuple[int, int, int, str]
"""Source id, offset, record bytes and URL."""


def drop_unindexable(collection: Path) -> int:
    """Move captures whose URL is too large for a snapshot to the drops; return how many there were.

    Raises CatalogError if there are any and the catalog cannot be written.
    """
    with Catalog(collection, read_only=True) as catalog:
        rows = _too_large(catalog.db)
    if rows:
        with Catalog(collection) as catalog:
            _move(catalog.db, rows)
        logging.getLogger(__name__).warning(
            "%s: dropped %d captures whose URLs are longer than %d bytes, as %s (see: webemu stat)",
            collection, len(rows), MAX_URL, URL_TOO_LARGE,
        )  # fmt: skip
    return len(rows)


def _too_large(db: duckdb.DuckDBPyConnection) -> list[Row]:
    rows: list[Row] = []
    db.execute(_LONG)
    while batch := db.fetchmany(1000):
        rows += [(source, at, size, url[:MAX_SHOWN]) for source, at, size, url in batch if is_url_too_large(url)]
    return rows


def _move(db: duckdb.DuckDBPyConnection, rows: list[Row]) -> None:
    db.execute("BEGIN TRANSACTION")
    for source, group in groupby(rows, key=itemgetter(0)):
        some = list(group)
        offsets = [at for _, at, _, _ in some]
        db.execute(_COUNT, [source, len(some), sum(size for _, _, size, _ in some), offsets[0], some[0][3]])
        for table in ("captures", "pages", "links"):
            db.execute(f"DELETE FROM {table} WHERE source_id = ? AND warc_record_offset IN ?", [source, offsets])
        db.execute(_LESS, [source])
    db.execute("COMMIT")
