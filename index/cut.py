"""Builds snapshots of what a collection had captured by a time, so that even ranking statistics are those of that time.

The rows of the catalog are copied without later ones into a catalog that lives as long as the build; the build itself
is that of every snapshot (`webemu.index.snapshot`). Files without later captures keep their hash, so shards made of
them alone are shared with the parent unless links to their pages differ. Imported host ranks bear no date and are left
out.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import duckdb

from webemu.emulator.errors import BadRequest
from webemu.index.catalog import FILE, Catalog, list_tables
from webemu.index.manifest import read_manifest, write_manifest
from webemu.index.query_rows import quote_path
from webemu.index.rank import Weights
from webemu.index.removal.rules import FILE as RULES_FILE
from webemu.index.removal.sweep import REASON as REMOVED
from webemu.index.removal.sweep import sweep_collection
from webemu.index.snapshot import BuildInputs, Progress, build_from_counts, count_catalog

_COPY_CAPTURES = """
INSERT INTO captures SELECT * FROM whole.captures WHERE floor(epoch(fetch_time)) <= {until}
"""
_COPY_ROWS = """
INSERT INTO {table} SELECT * FROM whole.{table}
WHERE (source_id, warc_record_offset) IN (SELECT (source_id, warc_record_offset) FROM captures)
"""
# A file that lost rows is another source for the names of shards: its hash is that of the rest, by the time of the cut.
_COPY_SOURCES = """
INSERT INTO sources
SELECT s.* REPLACE (
  r.captures AS captures,
  (SELECT count(*) FROM pages p WHERE p.source_id = s.source_id) AS pages,
  CASE WHEN r.captures = w.captures THEN s.content_hash
       ELSE (md5_number_lower(concat_ws(' ', s.content_hash, {until})) >> 1)::BIGINT END AS content_hash)
FROM whole.sources s
JOIN (SELECT source_id, count(*) AS captures FROM captures GROUP BY source_id) r USING (source_id)
JOIN (SELECT source_id, count(*) AS captures FROM whole.captures GROUP BY source_id) w USING (source_id)
ORDER BY s.source_id
"""


def cut_snapshot(
    collection: Path, as_of: datetime, workers: int = 1, progress: Progress | None = None, weights: Weights = Weights()
) -> str:
    """Build the snapshot of what was captured by `as_of` unless it exists, and return its id. It is not served
    unless a session names it.

        snapshot = cut_snapshot(Path("webemu-data/default"), datetime(2024, 6, 1, tzinfo=UTC))

    Raises:
        CatalogError: the catalog is missing or locked.
        BadRequest: nothing was captured by then, or nothing later.
    """
    sweep_collection(collection)
    _check_later_captures(collection, as_of)
    with tempfile.TemporaryDirectory(prefix=".cut.", dir=collection) as name:
        folder = Path(name)
        (folder / "warc").symlink_to(collection.resolve() / "warc")  # payload copies are found where they are
        if (collection / RULES_FILE).exists():
            (folder / RULES_FILE).symlink_to(collection.resolve() / RULES_FILE)
        _copy_catalog(collection, folder, as_of)
        counts = count_catalog(folder, folder / "anchors.parquet")
        if not counts.pages:
            raise BadRequest(
                f"{collection} has no capture of {as_of:%Y-%m-%dT%H:%M:%SZ} or earlier",
                action="choose a later time; `webemu stat` says when the first capture was made",
            )
        inputs = BuildInputs(folder, collection, folder / "anchors.parquet", weights)
        snapshot = build_from_counts(inputs, counts, workers, progress)
        _mark_continued_files(collection / "snapshots" / snapshot, folder, collection)
    return snapshot


def _check_later_captures(collection: Path, as_of: datetime) -> None:
    """Raise BadRequest if the cut would be the snapshot of the whole catalog, CatalogError if that cannot be read."""
    with Catalog(collection, read_only=True) as catalog:
        query = f"SELECT count(*) FROM captures WHERE floor(epoch(fetch_time)) > {int(as_of.timestamp())}"
        row = catalog.db.execute(query).fetchone()
    if not (row and row[0]):
        raise BadRequest(
            f"{collection} has no capture later than {as_of:%Y-%m-%dT%H:%M:%SZ}",
            action="use the snapshot of `webemu snapshots build`, which is that of this time already",
        )


def _mark_continued_files(snapshot: Path, folder: Path, collection: Path) -> None:
    """Write into the manifest which files of the catalog in `folder` also hold later records."""
    with Catalog(collection, read_only=True) as catalog:
        parent_contents = dict(catalog.db.execute("SELECT source_id, content_hash FROM sources").fetchall())
    with Catalog(folder, read_only=True) as catalog:
        rows = catalog.db.execute("SELECT source_id, content_hash FROM sources ORDER BY source_id").fetchall()
    continued = tuple(number for number, (source, content) in enumerate(rows) if parent_contents[source] != content)
    write_manifest(snapshot, replace(read_manifest(snapshot), continued=continued))


def _copy_catalog(collection: Path, folder: Path, as_of: datetime) -> None:
    """Write a catalog into `folder` that has the captures by `as_of`, and what belongs to them."""
    until = int(as_of.timestamp())  # in whole seconds, as `as_of` of a search compares captures
    with Catalog(folder) as catalog:
        catalog.db.execute(f"ATTACH '{quote_path(collection / FILE)}' AS whole (READ_ONLY)")
        _copy_tables(catalog.db, until)
        catalog.db.execute("DETACH whole")


def _copy_tables(db: duckdb.DuckDBPyConnection, until: int) -> None:
    db.execute(_COPY_CAPTURES.format(until=until))
    for table in sorted({"pages", "links", "exchanges"} & list_tables(db, "whole")):
        db.execute(_COPY_ROWS.format(table=table))
    db.execute(_COPY_SOURCES.format(until=until))
    db.execute(f"INSERT INTO drops SELECT * FROM whole.drops WHERE reason = '{REMOVED}'")
