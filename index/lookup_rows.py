"""Reads what the URL lookup of a snapshot holds from the catalog, once `resolve.sql` has resolved its captures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb

from webemu.index.lookup_writer import EarlierLookup, LookupCounts, write_lookup
from webemu.index.query_rows import stream_rows
from webemu.index.sorter import PairSorter

_DOCS = """
SELECT source_id, place, doc FROM doc_of
QUALIFY doc - place IS DISTINCT FROM lag(doc - place) OVER (PARTITION BY source_id ORDER BY place)
ORDER BY source_id, place
"""
"""Query of the first page of each run of pages with consecutive places and dense ids."""
_CAPTURES = """
SELECT url, head_source, head_offset, head_length, time, status, coalesce(mime, ''), coalesce(charset, ''),
       coalesce(digest, ''), coalesce(redirect, ''), coalesce(truncated, ''), kind, s.source_id, s.warc_record_offset,
       length, coalesce(d.place, e.doc, -1), coalesce(declared, ''), coalesce(languages, '')
FROM served s
LEFT JOIN doc_of d ON d.source_id = s.source_id AND d.warc_record_offset = s.warc_record_offset
LEFT JOIN doc_elsewhere e ON e.source_id = s.source_id AND e.warc_record_offset = s.warc_record_offset
ORDER BY url, time, kind = 'response', own_source, own_offset
"""
_SURTS = "SELECT url_surtkey, list(DISTINCT url) FROM served GROUP BY ALL ORDER BY 1"
_EXCHANGES = """
SELECT key, c.url, floor(epoch(c.fetch_time))::BIGINT, c.fetch_status, coalesce(c.content_mime_detected, ''),
       coalesce(c.content_charset, ''), coalesce(c.content_digest, ''), coalesce(c.fetch_redirect, ''),
       coalesce(c.content_truncated, ''), c.warc_record_type, c.source_id, c.warc_record_offset, c.warc_record_length,
       coalesce(d.place, -1), coalesce(c.content_mime_type, ''), coalesce(c.content_languages, '')
FROM (SELECT source_id, warc_record_offset, unnest([exact_key, near_key]) AS key FROM exchanges) x
JOIN captures c USING (source_id, warc_record_offset)
LEFT JOIN doc_of d ON d.source_id = x.source_id AND d.warc_record_offset = x.warc_record_offset
WHERE c.fetch_status > 0 AND c.warc_record_type = 'response' AND is_inside(c.url)
ORDER BY key, c.fetch_time, x.source_id, x.warc_record_offset
"""
"""Recorded exchanges by either key, in the order of their recording."""


def write_resolved(
    path: Path, db: duckdb.DuckDBPyConnection, earlier: EarlierLookup | None
) -> tuple[LookupCounts, int]:
    """Write the lookup of the resolved captures; return what it holds, and the number of recorded exchanges."""
    [(exchange_keys,)] = db.execute(f"SELECT count(*) FROM ({_EXCHANGES})").fetchall()
    surts, exchanges = stream_rows(db, _SURTS), stream_rows(db, _EXCHANGES)
    counts = write_lookup(path, _capture_rows(db), surts, exchanges, PairSorter(db), earlier)
    return counts, exchange_keys // 2  # each has two


def query_docs(db: duckdb.DuckDBPyConnection, sources: list[int]) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return the runs of pages of each source (`Manifest.docs`)."""
    runs: dict[int, list[tuple[int, int]]] = {source: [] for source in sources}
    for source, place, doc in stream_rows(db, _DOCS):
        runs[source].append((place, doc))
    return tuple(tuple(of_source) for of_source in runs.values())


def _capture_rows(db: duckdb.DuckDBPyConnection) -> Iterator[tuple[object, ...]]:
    """Yield the rows of `write_lookup`, ordered by URL and time."""
    for url, source, offset, length, *capture_fields in stream_rows(db, _CAPTURES):
        yield url, (None if source is None else [source, offset, length]), *capture_fields
