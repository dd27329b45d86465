"""Chooses the captures that are exported: by query, URL, host and date; without a condition, all of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import orjson

from webemu.emulator.types import Query
from webemu.index.catalog import Catalog
from webemu.index.manifest import current_id, read_manifest
from webemu.index.open import SnapshotPageStore, open_world
from webemu.index.removal.rules import Rules
from webemu.index.removal.sweep import find_covered

PAGE_HITS = 100
"""Hits that are asked for at once."""
_CHOOSE = """
CREATE OR REPLACE TEMP TABLE chosen AS
SELECT source_id, warc_record_offset FROM captures WHERE {condition}
"""
_IS_COVERED = "(source_id, warc_record_offset) IN (SELECT (source_id, warc_record_offset) FROM covered_record)"
_FILES = "SELECT source_id, coalesce(copy, path) FROM sources ORDER BY source_id"
_REVISITS = """
SELECT source_id, warc_record_offset, url FROM chosen JOIN captures USING (source_id, warc_record_offset)
WHERE warc_record_type = 'revisit'
"""


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions that an exported capture meets, all of them."""

    places: Rules = field(default_factory=Rules)
    """URLs, hosts and prefixes, one of which it is of; without any, it may be of all."""
    query: str = ""
    """Query that finds its URL; empty for none."""
    hits: int = 1000
    """Results of the query at most."""
    since: datetime | None = None
    """Earliest time of capture."""
    until: datetime | None = None
    """Time before which it was captured."""


def choose_captures(catalog: Catalog, selection: Selection) -> int:
    """Fill the temporary table chosen(source_id, warc_record_offset); return the number of captures."""
    conditions, values = ["true"], list[object]()
    if selection.places.rules:
        find_covered(catalog.db, selection.places)
        conditions.append(_IS_COVERED)
    if selection.query:
        conditions.append("url IN (SELECT unnest(?::VARCHAR[]))")
        values.append(_found_urls(catalog.folder, selection))
    for operator, time in ((">=", selection.since), ("<", selection.until)):
        if time is not None:
            conditions.append(f"fetch_time {operator} ?::TIMESTAMP")
            values.append(time.strftime("%Y-%m-%d %H:%M:%S"))
    catalog.db.execute(_CHOOSE.format(condition=" AND ".join(conditions)), values)
    count: int = catalog.db.execute("SELECT count(*) FROM chosen").fetchall()[0][0]
    return count


def _found_urls(collection: Path, selection: Selection) -> list[str]:
    """Return the URLs of the results of a query, the best first."""
    world, urls = open_world(collection), list[str]()
    for page in range(1, -(-selection.hits // PAGE_HITS) + 1):
        hits = world.search(Query(selection.query, page, PAGE_HITS)).hits
        urls += [orjson.loads(f'"{hit.url}"') for hit in hits]
        if not hits:
            break
    return urls[: selection.hits]


def chosen_offsets(catalog: Catalog) -> dict[Path, set[int]]:
    """Return the offsets of chosen records by file; a revisit also chooses the record that it repeats."""
    paths = {source: catalog.folder / path for source, path in catalog.db.execute(_FILES).fetchall()}
    offsets: defaultdict[Path, set[int]] = defaultdict(set)
    for source, offset in catalog.db.execute("SELECT * FROM chosen").fetchall():
        offsets[paths[source]].add(offset)
    revisits = catalog.db.execute(_REVISITS).fetchall()
    snapshot = current_id(catalog.folder)
    if revisits and snapshot:
        folder = catalog.folder / "snapshots" / snapshot
        store = SnapshotPageStore(folder, catalog.folder, read_manifest(folder))
        for url in sorted({url for _, _, url in revisits}):
            for capture in store.exact(url):
                head = capture.head
                if head and capture.length and head[1] in offsets.get(catalog.folder / head[0], ()):
                    offsets[catalog.folder / capture.file].add(capture.offset)
    return {path: offsets[path] for path in paths.values() if path in offsets}
