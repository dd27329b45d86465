"""Finds snapshots that still hold what was removed since they were built, so that nobody is served it unawares."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from webemu.emulator.errors import SnapshotError
from webemu.index.lookup import FILE as LOOKUP_FILE
from webemu.index.lookup import Lookup
from webemu.index.manifest import FORMAT, Manifest, current_id, read_manifest
from webemu.index.removal.rules import Rules, read_rules
from webemu.index.shard_file import load_shard

_LAST_CHARACTER = "\U0010ffff"


def holds_removed(collection: Path, manifest: Manifest, rules: Rules) -> bool:
    """True if a snapshot holds a capture or a source that the rules cover, or is of a format that cannot be read."""
    if manifest.removals == rules.digest():
        return False
    if manifest.format != FORMAT:
        return True
    if rules.sources & set(sources_of(collection, manifest)):
        return True
    lookup = Lookup(collection / "snapshots" / manifest.id / LOOKUP_FILE, manifest.source_docs())
    if any(next(lookup.listing(start, start + _LAST_CHARACTER), None) for start in rules.prefixes):
        return True
    if any(next(lookup.listing(surt, surt + "\0"), None) for surt in rules.surts):
        return True
    return any(lookup.by_loose_key(rule.value) for rule in rules.rules if rule.kind == "url")


def sources_of(collection: Path, manifest: Manifest) -> Iterator[int]:
    """Yield the ids of the sources of a snapshot."""
    for name in manifest.shards:
        yield from (span[0] for span in load_shard(collection / "shards" / name).spans)


def list_manifests(collection: Path) -> list[Manifest]:
    """Return the manifests of all snapshots of a collection."""
    return [read_manifest(path.parent) for path in sorted(collection.glob("snapshots/*/manifest.json"))]


def find_stale(collection: Path, rules: Rules) -> list[Manifest]:
    """Return the snapshots that hold what the rules cover."""
    return [manifest for manifest in list_manifests(collection) if holds_removed(collection, manifest, rules)]


def refuse_stale(collection: Path, manifest: Manifest) -> None:
    """Raise SnapshotError if a snapshot that is not the served one holds captures that were removed.

    The served one goes on until the next is built.
    """
    rules = read_rules(collection)
    if rules.rules and manifest.id != current_id(collection) and holds_removed(collection, manifest, rules):
        raise SnapshotError(
            f"snapshot {manifest.id} holds captures that were removed since it was built",
            action="use a later one (webemu snapshots list), or delete this one: webemu snapshots remove ID",
        )


def delete_snapshots(collection: Path, ids: list[str]) -> None:
    """Delete snapshots, and the shards that no other snapshot names."""
    for snapshot in ids:
        folder = collection / "snapshots" / snapshot
        (folder / "manifest.json").unlink(missing_ok=True)  # first: what is half deleted must not look complete
        shutil.rmtree(folder, ignore_errors=True)
    used = {shard for manifest in list_manifests(collection) for shard in manifest.shards}
    for shard in sorted((collection / "shards").glob("*")):
        if shard.name not in used:
            shutil.rmtree(shard, ignore_errors=True)
