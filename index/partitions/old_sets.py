"""Finds sets of partitions that are not served any more, and deletes what only they hold."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from webemu.index.partitions.split import FILE, SETS
from webemu.index.removal.stale import delete_snapshots


class PartitionSetFile(NamedTuple):
    """The description of one set of partitions."""

    path: Path
    snapshots: tuple[str, ...]
    """Snapshot id of each partition."""

    @property
    def id(self) -> str:
        """Id of the set."""
        return self.path.stem


def find_old_sets(collection: Path, keep: int | None, older_than: float | None) -> list[PartitionSetFile]:
    """Return sets of partitions beyond the `keep` newest of each division, or made more than `older_than` seconds ago.

    The served set of each division is kept, and those that were made after it.
    """
    return [old for served in sorted(collection.glob(f"parts/*/{FILE}")) for old in _find_old(served, keep, older_than)]


def _find_old(served: Path, keep: int | None, older_than: float | None) -> list[PartitionSetFile]:
    """Return the old sets of one division, given the file that names the served one."""
    served_id = json.loads(served.read_text())["id"]
    newest_first = sorted((served.parent / SETS).glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    served_place = next((place for place, path in enumerate(newest_first) if path.stem == served_id), 0)
    old_paths = [
        path
        for place, path in enumerate(newest_first)
        if place > served_place
        and ((keep is not None and place >= keep) or (older_than is not None and _age(path) >= older_than))
    ]
    return [PartitionSetFile(path, tuple(json.loads(path.read_text())["snapshots"])) for path in old_paths]


def delete_sets(old_sets: Sequence[PartitionSetFile]) -> None:
    """Delete sets of partitions, and the snapshots that no other set of their division names."""
    for old in old_sets:
        old.path.unlink(missing_ok=True)  # first: what is half deleted must not be opened
        old.path.with_suffix(".words").unlink(missing_ok=True)
    for folder in sorted({old.path.parent for old in old_sets}):
        named = {
            (number, snapshot)
            for path in folder.glob("*.json")
            for number, snapshot in enumerate(json.loads(path.read_text())["snapshots"])
        }
        unnamed = {
            (number, snapshot)
            for old in old_sets
            if old.path.parent == folder
            for number, snapshot in enumerate(old.snapshots)
        } - named
        for number in sorted({number for number, _ in unnamed}):
            delete_snapshots(folder.parent / str(number), [snapshot for part, snapshot in unnamed if part == number])


def _age(path: Path) -> float:
    return time.time() - path.stat().st_mtime
