"""Takes captures out of a collection: rules first, which decide; then the catalog, and what was built of it.

Killed at any moment, the collection is as before or as after: once the rules are written, every later build sweeps the
catalog by them, and until then nothing has changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from webemu.emulator.errors import BadRequest, CatalogError
from webemu.index.catalog import FILE as CATALOG_FILE
from webemu.index.catalog import Catalog
from webemu.index.digests import hash_file
from webemu.index.lock import exclusive_lock
from webemu.index.manifest import current_id, read_manifest
from webemu.index.removal.rules import Kind, Rule, now, parse_rule, read_rules, write_rules
from webemu.index.removal.stale import find_stale, list_manifests, sources_of
from webemu.index.removal.sweep import sweep_collection

_LIST_KINDS: dict[str, Kind] = {"host:": "host", "prefix:": "prefix", "source:": "source"}
"""Beginnings of lines of a list; other lines are URLs."""
_SOURCES = "SELECT source_id, name, path FROM sources"


def remove(collection: Path, rules: Iterable[Rule]) -> int:
    """Add rules to those of a collection and delete what they cover from its catalog; return the captures.

    Raises CatalogError if another process writes to the collection.
    """
    busy_error = CatalogError(f"another process is writing to {collection}", action="wait until it ends")
    with exclusive_lock(collection / "ingest.lock", busy_error):
        write_rules(collection, read_rules(collection).with_added(rules))
        return sweep_collection(collection)


def parse_list(lines: Iterable[str], reason: str) -> list[Rule]:
    """Return the rules in the lines of a list: URLs, or values after `host:`, `prefix:`; empty lines and # are none."""
    rules = []
    for line in map(str.strip, lines):
        if line and not line.startswith("#"):
            start = next((start for start in _LIST_KINDS if line.startswith(start)), "")
            rules.append(parse_rule(_LIST_KINDS.get(start, "url"), line.removeprefix(start).strip(), reason, now()))
    return rules


def source_rule(collection: Path, source: str, reason: str) -> Rule:
    """Return the rule that removes a source, given by name, path or id, or by a file that is not ingested.

    Raises BadRequest unless exactly one source is meant.
    """
    with Catalog(collection, read_only=True) as catalog:
        rows = catalog.db.execute(_SOURCES).fetchall()
    matches = [row for row in rows if source in (f"{row[0]:016x}", row[1], row[2])]
    path = Path(source)
    if not matches and path.is_file():
        identity = hash_file(path)
        matches = [row for row in rows if row[0] == identity] or [(identity, path.name, str(path.resolve()))]
    if len(matches) != 1:
        raise BadRequest(
            f"{len(matches)} sources are called {source!r}",
            action="see them: webemu sql \"SELECT format('{:016x}', source_id) AS id, name, path FROM sources\"",
        )
    identity, name, stored_path = matches[0]
    return Rule("source", f"{identity:016x}", reason, now(), name, stored_path)


def keep_out_rolled_back(collection: Path, snapshot: str) -> list[Rule]:
    """Remove the sources that only this snapshot has, which is about to be deleted; return their rules.

    They were rolled back: the served snapshot, and every other one, was built without them.
    """
    if not (collection / CATALOG_FILE).exists() or current_id(collection) is None:
        return []
    other_manifests = [manifest for manifest in list_manifests(collection) if manifest.id != snapshot]
    kept_sources = {source for manifest in other_manifests for source in sources_of(collection, manifest)}
    lost = set(sources_of(collection, read_manifest(collection / "snapshots" / snapshot))) - kept_sources
    if not lost:
        return []
    reason = f"snapshot {snapshot} was rolled back and deleted"
    with Catalog(collection, read_only=True) as catalog:
        rows = catalog.db.execute(f"{_SOURCES} ORDER BY name, source_id").fetchall()
    rules = [Rule("source", f"{row[0]:016x}", reason, now(), row[1], row[2]) for row in rows if row[0] in lost]
    remove(collection, rules)
    return rules


def drop_stale_splits(collection: Path) -> list[str]:
    """Delete the descriptions of splits whose partitions hold what was removed; return how many parts each has."""
    rules = read_rules(collection)
    dropped = []
    for description in sorted(collection.glob("parts/*/split.json")):
        snapshots = json.loads(description.read_text())["snapshots"]
        homes = [description.parent / str(number) for number in range(len(snapshots))]
        if rules.rules and any(find_stale(home, rules) for home in homes):
            description.unlink()
            dropped.append(description.parent.name)
    return dropped
