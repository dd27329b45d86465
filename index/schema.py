"""The tables of the catalog as Arrow schemas: what an ingest worker writes to Parquet and DuckDB stores.

Columns of `captures` up to `crawl` have the names and meaning of Common Crawl's columnar index (cc-index-table), so
that SQL written for it works here; those after it are webemu's. `(source_id, warc_record_offset)` identifies a
capture.
"""

from __future__ import annotations

import orjson
import pyarrow as pa

SCHEMA_VERSION = 4
"""Version of the tables; a catalog of another version is not read."""
MAX_URL_BYTES = 65_535
"""Longest URL in bytes of JSON (escaped, without quotes): a result record has no room for more
(`webemu.index.records`).
"""
URL_TOO_LARGE = "url-too-large"
"""Drop reason of a URL above `MAX_URL_BYTES`."""
MAX_DROP_URL_CHARACTERS = 1000
"""Characters of such a URL that the drop keeps."""


def is_url_too_large(url: str) -> bool:
    """True if a result record has no room for the URL."""
    return len(orjson.dumps(url)) - 2 > MAX_URL_BYTES


CAPTURES = pa.schema(
    [
        ("source_id", pa.int64()),
        ("url_surtkey", pa.string()),
        ("url", pa.string()),
        ("url_host_name", pa.string()),
        ("url_host_tld", pa.string()),
        ("url_host_registered_domain", pa.string()),
        ("url_protocol", pa.string()),
        ("url_port", pa.int32()),
        ("url_path", pa.string()),
        ("url_query", pa.string()),
        ("fetch_time", pa.timestamp("us")),
        ("fetch_status", pa.int16()),
        ("fetch_redirect", pa.string()),
        ("content_digest", pa.string()),
        ("content_mime_type", pa.string()),
        ("content_mime_detected", pa.string()),
        ("content_charset", pa.string()),
        ("content_languages", pa.string()),
        ("content_truncated", pa.string()),
        ("warc_record_id", pa.string()),
        ("warc_filename", pa.string()),
        ("warc_record_offset", pa.int64()),
        ("warc_record_length", pa.int64()),
        ("crawl", pa.string()),
        ("warc_record_type", pa.string()),
        ("request_method", pa.string()),
        ("refers_to_url", pa.string()),
        ("refers_to_time", pa.timestamp("us")),
        ("payload_bytes", pa.int64()),
        ("digest_key", pa.string()),
        ("refers_to_id", pa.string()),
    ]
)
"""Every captured response and revisit.

`content_digest` is spelled as the record has it, as in Common Crawl's index; `digest_key` is for comparing.
`refers_to_url`, `refers_to_time` and `refers_to_id` name the record whose payload a revisit repeats.
"""

PAGES = pa.schema(
    [
        ("source_id", pa.int64()),
        ("warc_record_offset", pa.int64()),
        ("url", pa.string()),
        ("title", pa.string()),
        ("text", pa.large_string()),
        ("headings", pa.string()),
        ("description", pa.string()),
        ("language", pa.string()),
        ("published", pa.date32()),
        ("text_hash", pa.int64()),
        ("words", pa.int32()),
        ("link_density", pa.float32()),
        ("searchable", pa.bool_()),
        ("signature", pa.binary()),
        ("word_length", pa.float32()),
        ("alphabetic", pa.float32()),
        ("symbols", pa.float32()),
        ("stop_words", pa.int32()),
        ("bullets", pa.float32()),
        ("ellipses", pa.float32()),
        ("repeated", pa.float32()),
    ]
)
"""Text of every capture that has one. Columns from `signature` on are filled by `webemu.ingest.measures`."""

LINKS = pa.schema(
    [
        ("source_id", pa.int64()),
        ("warc_record_offset", pa.int64()),
        ("target", pa.string()),
        ("anchor", pa.string()),
        ("rel", pa.string()),
    ]
)
"""Links of pages, with their text."""

EXCHANGES = pa.schema(
    [
        ("source_id", pa.int64()),
        ("warc_record_offset", pa.int64()),
        ("exact_key", pa.string()),
        ("near_key", pa.string()),
    ]
)
"""Captures that answer a request as such: those of recorded runs, and of other methods than GET
(`webemu.emulator.exchange_keys`).
"""

DROPS = pa.schema(
    [
        ("source_id", pa.int64()),
        ("reason", pa.string()),
        ("records", pa.int64()),
        ("bytes", pa.int64()),
        ("first_offset", pa.int64()),
        ("first_url", pa.string()),
    ]
)
"""Records that were left out, counted by source and reason."""

SOURCES = pa.schema(
    [
        ("source_id", pa.int64()),
        ("name", pa.string()),
        ("path", pa.string()),
        ("copy", pa.string()),
        ("kind", pa.string()),
        ("bytes", pa.int64()),
        ("records", pa.int64()),
        ("captures", pa.int64()),
        ("pages", pa.int64()),
        ("content_hash", pa.int64()),
    ]
)
"""Ingested files. `content_hash` covers all captures, pages and links read from one: a better reader changes it."""

TABLES: dict[str, pa.Schema] = {
    "sources": SOURCES,
    "captures": CAPTURES,
    "pages": PAGES,
    "links": LINKS,
    "exchanges": EXCHANGES,
    "drops": DROPS,
}
"""Schema of each table by name."""

MARKER = "done.json"
"""File that is written last into a staging folder: if it exists, the other files are complete."""
