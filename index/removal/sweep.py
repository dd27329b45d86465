"""Deletes what was removed from the catalog, in one transaction; whatever is built of it then lacks it.

A source that loses rows gets another content hash, so that its shards are built anew, and a drop named `removed`, so
that it can be read again when a removal is taken back. The hash depends on which records are gone, not on their order.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import duckdb

from webemu.emulator import urls
from webemu.index.catalog import Catalog
from webemu.index.removal.rules import Rules, read_rules
from webemu.index.schema import TABLES
from webemu.index.signals.linked_hosts import forget_changed_sources

REASON = "removed"
"""Drop reason of removed captures."""
_INDEX_FILE = r"/(index|default)\.(html?|xhtml|shtml|php\d?|aspx?|jsp|cgi)$"
_BASE = f"rtrim(regexp_replace(split_part(url_surtkey, '?', 1), '{_INDEX_FILE}', '', 'i'), '/')"
"""SQL of what SURT keys of one loose key have in common."""
_COVERED = """
CREATE OR REPLACE TEMP TABLE covered_record AS
SELECT source_id, warc_record_offset, warc_record_length FROM captures
WHERE url_surtkey IN (SELECT text FROM removed_surt) OR url IN (SELECT text FROM removed_url) {prefixes}
"""
_PREFIX = " OR left(url_surtkey, {length}) IN (SELECT text FROM removed_prefix WHERE length(text) = {length})"
_COUNT_DROPS = """
INSERT INTO drops SELECT source_id, '{reason}', count(*), sum(warc_record_length), min(warc_record_offset), NULL
FROM covered_record GROUP BY source_id
"""
_UPDATE_SOURCES = """
UPDATE sources SET content_hash = xor(content_hash, gone.hash),
  captures = (SELECT count(*) FROM captures c WHERE c.source_id = sources.source_id),
  pages = (SELECT count(*) FROM pages p WHERE p.source_id = sources.source_id)
FROM (SELECT source_id, bit_xor((md5_number_lower('removed ' || warc_record_offset) >> 1)::BIGINT) AS hash
      FROM covered_record GROUP BY source_id) gone
WHERE sources.source_id = gone.source_id
"""
_DELETE = """
DELETE FROM {table}
WHERE (source_id, warc_record_offset) IN (SELECT (source_id, warc_record_offset) FROM covered_record)
"""


def sweep_collection(collection: Path) -> int:
    """Delete what was removed from the catalog of a collection; return the number of captures.

    Raises CatalogError if there are any and the catalog cannot be written.
    """
    rules = read_rules(collection)
    if not rules.rules:
        return 0
    with Catalog(collection, read_only=True) as catalog:
        if not count_covered(catalog.db, rules):
            return 0
    with Catalog(collection) as catalog:
        return sweep(catalog.db, rules)


def count_covered(db: duckdb.DuckDBPyConnection, rules: Rules) -> int:
    """Return how many captures, sources and names of drops in the catalog the rules cover."""
    find_covered(db, rules)
    sources = _count(db, "sources WHERE source_id IN ?", list(rules.sources))
    return sources + _count(db, "covered_record") + len(_named_by_drops(db, rules))


def _count(db: duckdb.DuckDBPyConnection, rows: str, *values: object) -> int:
    """Return the number of rows of a table, or of a part of it."""
    count: int = db.execute(f"SELECT count(*) FROM {rows}", list(values)).fetchall()[0][0]
    return count


def sweep(db: duckdb.DuckDBPyConnection, rules: Rules) -> int:
    """Delete from an open catalog what the rules cover; return the number of captures."""
    db.execute("BEGIN TRANSACTION")
    try:
        deleted = _delete_sources(db, rules)
        find_covered(db, rules)
        deleted_records = _count(db, "covered_record")
        if deleted_records:
            db.execute(_COUNT_DROPS.format(reason=REASON))
            for table in ("captures", "pages", "links", "exchanges"):
                db.execute(_DELETE.format(table=table))
            db.execute(_UPDATE_SOURCES)
        forget_changed_sources(db)
        for url in _named_by_drops(db, rules):
            db.execute("UPDATE drops SET first_url = NULL WHERE first_url = ?", [url])
        db.execute("COMMIT")
    except BaseException:
        with suppress(Exception):  # the error that is being raised says more than a failed rollback
            db.execute("ROLLBACK")
        raise
    return deleted + deleted_records


def _delete_sources(db: duckdb.DuckDBPyConnection, rules: Rules) -> int:
    """Delete removed sources with all their rows; return the number of their captures."""
    sources = list(rules.sources)
    captures = _count(db, "captures WHERE source_id IN ?", sources)
    for table in TABLES:
        db.execute(f"DELETE FROM {table} WHERE source_id IN ?", [sources])
    return captures


def find_covered(db: duckdb.DuckDBPyConnection, rules: Rules) -> None:
    """Fill the temporary table covered_record with the captures that rules on URLs cover."""
    _write_texts(db, "removed_surt", rules.surts)
    _write_texts(db, "removed_prefix", rules.prefixes)
    _write_texts(db, "removed_url", _covered_urls(db, rules))
    prefixes = "".join(_PREFIX.format(length=length) for length in sorted(rules.prefix_lengths()))
    db.execute(_COVERED.format(prefixes=prefixes))


def _covered_urls(db: duckdb.DuckDBPyConnection, rules: Rules) -> list[str]:
    """Return the captured URLs whose loose key was removed."""
    if not rules.loose_keys:
        return []
    _write_texts(db, "removed_base", {key.partition("?")[0].rstrip("/") for key in rules.loose_keys})
    query = f"SELECT DISTINCT url FROM captures WHERE {_BASE} IN (SELECT text FROM removed_base)"
    candidates = [url for (url,) in db.execute(query).fetchall()]
    return [url for url in candidates if urls.loose_key(url) in rules.loose_keys]


def _named_by_drops(db: duckdb.DuckDBPyConnection, rules: Rules) -> list[str]:
    """Return removed URLs that stand beside a reason for which records were dropped."""
    rows = db.execute("SELECT DISTINCT first_url FROM drops WHERE first_url <> ''").fetchall()
    return [url for (url,) in rows if rules.covers(url)]


def _write_texts(db: duckdb.DuckDBPyConnection, name: str, texts: Collection[str]) -> None:
    """Write texts to a temporary table with the column `text`."""
    db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT unnest(?::VARCHAR[]) AS text", [sorted(texts)])
