"""Takes the sources of another collection into this one: rows of its catalog, its own files, and its removals.

Files come first and rows last, in one transaction; a source that both have is taken once. What either
collection removed stays out.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from webemu.emulator.errors import CatalogError
from webemu.index.catalog import FILE, Catalog, list_tables
from webemu.index.lock import exclusive_lock
from webemu.index.query_rows import quote_path
from webemu.index.removal.rules import read_rules, write_rules
from webemu.index.removal.sweep import sweep_collection
from webemu.index.schema import TABLES

_OWN_FILES = """
SELECT coalesce(copy, path) FROM sources
WHERE source_id IN (SELECT unnest(?::BIGINT[])) AND (copy IS NOT NULL OR path NOT LIKE '/%')
"""
_NEW_HOSTS = """
INSERT INTO host_ranks SELECT * FROM other.host_ranks WHERE host NOT IN (SELECT host FROM host_ranks)
"""


class MergeReport(NamedTuple):
    """Numbers of sources that were taken, and of those that were there before or are kept out."""

    added: int
    already_in: int
    kept_out: int


def merge_collection(collection: Path, other: Path) -> MergeReport:
    """Take all sources of `other` into `collection`, which is created if new. `other` does not change.

    Raises CatalogError if another process writes to the collection, or if `other` has none.
    """
    busy_error = CatalogError(f"another process is writing to {collection}", action="wait until it ends")
    with exclusive_lock(collection / "ingest.lock", busy_error):
        rules = read_rules(collection).with_added(read_rules(other).rules)
        with Catalog(other, read_only=True) as catalog:
            source_ids = catalog.source_ids()
        with Catalog(collection) as catalog:
            known_ids = catalog.source_ids()
        new_ids = sorted(source_ids - known_ids - rules.sources)
        _copy_files(collection, other, new_ids)
        if rules.rules:
            write_rules(collection, rules)
        _copy_rows(collection, other, new_ids)
        sweep_collection(collection)
    return MergeReport(len(new_ids), len(source_ids & known_ids), len(source_ids & rules.sources))


def _copy_files(collection: Path, other: Path, sources: list[int]) -> None:
    """Copy the files that the other collection owns, each complete or not at all."""
    with Catalog(other, read_only=True) as catalog:
        names = [name for (name,) in catalog.db.execute(_OWN_FILES, [sources]).fetchall()]
    for name in names:
        target = collection / name
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
            shutil.copyfile(other / name, temporary)  # no link: `webemu remove --purge` may write one of them anew
            temporary.replace(target)


def _copy_rows(collection: Path, other: Path, sources: list[int]) -> None:
    """Copy the rows of sources, and ranks of hosts that only the other catalog has, in one transaction."""
    with Catalog(collection) as catalog:
        catalog.db.execute(f"ATTACH '{quote_path(other / FILE)}' AS other (READ_ONLY)")
        catalog.db.execute("BEGIN TRANSACTION")
        for table in list_tables(catalog.db, "other") & TABLES.keys():
            catalog.db.execute(
                f"INSERT INTO {table} SELECT * FROM other.{table} WHERE source_id IN (SELECT unnest(?::BIGINT[]))",
                [sources],
            )
        catalog.db.execute(_NEW_HOSTS)
        catalog.db.execute("COMMIT")
        catalog.db.execute("DETACH other")
