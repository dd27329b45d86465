"""Collects what nobody needs any more: old snapshots, shards that none names, and what killed runs left behind."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from webemu.index.manifest import Manifest, current_id
from webemu.index.partitions.old_sets import PartitionSetFile, delete_sets, find_old_sets
from webemu.index.removal.stale import delete_snapshots, list_manifests

_LEFTOVERS = (
    *(".anchors.*", ".near_bands.*", ".catalog.duckdb.*", ".CURRENT.*", ".removed.jsonl.*", ".cut.*"),
    *("snapshots/.*", "shards/.*", "warc/.*.part", "payloads/.*.part"),
)
"""Names of unfinished files and folders: complete ones never begin with a dot."""
_LEFTOVER_SECONDS = 24 * 3600
"""Age from which such a file belongs to no run any more."""


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """Snapshots, sets of partitions and files that are to be deleted."""

    snapshots: tuple[str, ...]
    partition_sets: tuple[PartitionSetFile, ...]
    leftovers: tuple[Path, ...]


def built_at(collection: Path, manifest: Manifest) -> float:
    """Return when a snapshot was built, in seconds since the epoch; later changes of its manifest do not count."""
    folder = collection / "snapshots" / manifest.id
    newest = folder / "dense" if manifest.dense else folder / "columns"
    return newest.stat().st_mtime


def plan_collection(collection: Path, keep: int | None, older_than: float | None) -> CollectionPlan:
    """Return what is to be deleted: snapshots beyond the `keep` newest, or built more than `older_than` seconds ago,
    and sets of partitions likewise.

    The served snapshot is kept, those that were built after it, and those that kept ones with vectors were made from.
    """
    current = current_id(collection)
    manifests = sorted(list_manifests(collection), key=lambda manifest: built_at(collection, manifest), reverse=True)
    served_at = next((built_at(collection, manifest) for manifest in manifests if manifest.id == current), 0.0)
    kept_ids = {
        manifest.id for manifest in manifests if manifest.id == current or built_at(collection, manifest) > served_at
    }
    for number, manifest in enumerate(manifests):
        is_recent = keep is None or number < keep
        is_young = older_than is None or time.time() - built_at(collection, manifest) < older_than
        if is_recent and is_young:
            kept_ids.add(manifest.id)
    kept_ids |= {manifest.dense.base for manifest in manifests if manifest.id in kept_ids and manifest.dense}
    return CollectionPlan(
        tuple(manifest.id for manifest in manifests if manifest.id not in kept_ids),
        tuple(find_old_sets(collection, keep, older_than)),
        tuple(_find_leftovers(collection)),
    )


def _find_leftovers(collection: Path) -> Iterator[Path]:
    """Yield unfinished files and folders that are older than a day, except embeddings, for the next run."""
    for pattern in _LEFTOVERS:
        for path in sorted(collection.glob(pattern)):
            if not path.name.endswith(".parts") and time.time() - path.stat().st_mtime > _LEFTOVER_SECONDS:
                yield path


def collect(collection: Path, plan: CollectionPlan) -> int:
    """Delete what is planned; return the bytes that became free."""
    before = count_bytes(collection)
    delete_snapshots(collection, list(plan.snapshots))
    delete_sets(plan.partition_sets)
    for path in plan.leftovers:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return before - count_bytes(collection)


def count_bytes(folder: Path) -> int:
    """Return the bytes of all files below a folder; files with several names count once."""
    sizes = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            stat = path.stat()
            sizes[stat.st_dev, stat.st_ino] = stat.st_size
    return sum(sizes.values())
