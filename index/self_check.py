"""Reads the files of a snapshot again and again while it is served, and keeps what was found where all workers see it.

A flipped bit in a file of the index would otherwise be served as truth. Each file is hashed as `webemu snapshots
verify` does, at a bounded rate. One process of a machine reads at a time; a result is kept in a small file, with the
time of the manifest that it is about, so that a snapshot that is built anew begins anew.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

from webemu.index import shard as shards
from webemu.index.digests import find_damage
from webemu.index.manifest import read_manifest

BYTES_PER_SECOND = 200 << 20
"""Rate at which files are read."""
FOLDER = "checks"
"""Folder for results, in that of the server's state."""


def find_first_damage(collection: Path, snapshot: str, sleep: Callable[[float], None] = time.sleep) -> str:
    """Hash the files of a snapshot, and return a line about the first one that is damaged or missing; empty if all are
    as they were built.

    Raises:
        SnapshotError: the manifest is missing or damaged.
    """
    for folder, hashes in _list_folders(collection, snapshot):
        for name, digest in hashes.items():
            if damage := find_damage(folder, {name: digest}):
                return damage[0]
            sleep((folder / name).stat().st_size / BYTES_PER_SECOND)
    return ""


def _list_folders(collection: Path, snapshot: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield the folder of a snapshot and those of its shards, each with the hashes of its files."""
    folder = collection / "snapshots" / snapshot
    manifest = read_manifest(folder)
    yield folder, manifest.hashes
    for name in manifest.shards:
        shard = collection / "shards" / name
        try:
            hashes = shards.load_shard(shard).hashes
        except (OSError, ValueError, KeyError):
            hashes = {"shard.json": "unreadable"}  # no file has this hash
        yield shard, hashes


class SelfCheck:
    """Checks the snapshots of a collection in the background, each every so many hours."""

    def __init__(self, collection: Path, state: Path, hours: float) -> None:
        """Keep results below `state`; 0 `hours` checks nothing."""
        self._collection = collection
        self._folder = state / FOLDER
        self._seconds = hours * 3600
        self._thread: Thread | None = None
        self._result_of_manifest: dict[tuple[str, int], str] = {}
        """Damage by snapshot and time of its manifest, for a state that cannot be written."""

    def find_damage(self, snapshot: str) -> str:
        """Return what the last check found about a snapshot; empty if it found nothing, or if there was none yet.

        Starts the next check in a thread if it is due.
        """
        built = self._manifest_time(snapshot)
        if not (self._seconds and built):
            return ""
        checked, damage = self._read_result(snapshot, built)
        is_idle = self._thread is None or not self._thread.is_alive()
        if not damage and is_idle and time.time() - checked >= self._seconds:
            self._thread = Thread(target=self._check, args=(snapshot, built), daemon=True)
            self._thread.start()
        return damage

    def _manifest_time(self, snapshot: str) -> int:
        """Return the time of a snapshot's manifest in nanoseconds; 0 if it is gone, which others notice."""
        try:
            return (self._collection / "snapshots" / snapshot / "manifest.json").stat().st_mtime_ns
        except OSError:
            return 0

    def _read_result(self, snapshot: str, built: int) -> tuple[float, str]:
        """Return when a snapshot was checked, in seconds since the epoch, and the damage."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            result = json.loads((self._folder / f"{snapshot}.json").read_text())
            if result["built"] == built:
                return float(result["checked"]), str(result["damage"])
        return 0.0, self._result_of_manifest.get((snapshot, built), "")

    def _check(self, snapshot: str, built: int) -> None:
        """Check a snapshot unless another process does, and keep the result."""
        import fcntl  # Windows has none, and shows the help of `serve` without it

        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._keep(snapshot, built, self._look(snapshot))
        except BlockingIOError:
            return  # another worker is at it
        except OSError:
            self._result_of_manifest[snapshot, built] = self._look(snapshot)

    def _look(self, snapshot: str) -> str:
        try:
            return find_first_damage(self._collection, snapshot)
        except Exception as error:  # whatever prevents a file from being read, it cannot be served either
            return str(error)

    def _keep(self, snapshot: str, built: int, damage: str) -> None:
        """Write the result at once or not at all."""
        path = self._folder / f"{snapshot}.json"
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps({"checked": time.time(), "built": built, "damage": damage}))
        temporary.rename(path)
