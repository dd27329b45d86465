"""Reads the files of a snapshot again and again while it is served, and keeps what was found where all workers see it.

A flipped bit in a file of the index would otherwise be served as truth. Each file is hashed as `webemu snapshots
verify` does, at a bounded rate. Files of a snapshot are written before its manifest and never again: one with a later
time is hashed before anything is answered from it. One process of a machine reads at a time; a result is kept in a
small file, with the time of the manifest that it is about, so that a snapshot that is built anew begins anew.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from webemu.emulator.errors import SnapshotError
from webemu.index.digests import find_damage
from webemu.index.manifest import read_manifest
from webemu.index.shard_file import load_shard

BYTES_PER_SECOND = 200 << 20
"""Rate at which files are read in the background."""
MAX_BYTES_AT_OPEN = 256 << 20
"""Most bytes of files that are read before a snapshot is first opened, which takes a third of a second."""
CLOCK_NS = 10_000_000
"""Nanoseconds by which the time of a file may lag behind the clock: the kernel stamps files by its last tick."""
FOLDER = "checks"
"""Folder for results, in that of the server's state."""


class CheckedFile(NamedTuple):
    """A file of a snapshot or of one of its shards."""

    folder: Path
    name: str
    digest: str
    """Hash of the file when it was built."""

    @property
    def path(self) -> Path:
        return self.folder / self.name

    def times(self) -> tuple[int, int]:
        """Return when the file was written and when it was put here, in nanoseconds since the epoch; zeros if it is
        gone.
        """
        try:
            status = self.path.stat()
        except OSError:
            return 0, 0
        return status.st_mtime_ns, status.st_ctime_ns


class CheckResult(NamedTuple):
    """Knowledge about the files of a snapshot."""

    checked: float = 0.0
    """Time at which all of them were read, in seconds since the epoch."""
    unchanged_since: int = 0
    """Nanoseconds since the epoch: a file that was written later has not been read since."""
    damage: str = ""
    """A line about the first file that is damaged or missing; empty if all are as they were built."""


def list_files(collection: Path, snapshot: str) -> list[CheckedFile]:
    """Return the files of a snapshot and of its shards.

    Raises:
        SnapshotError: the manifest is missing or damaged.
    """
    folder = collection / "snapshots" / snapshot
    manifest = read_manifest(folder)
    files = [CheckedFile(folder, name, digest) for name, digest in manifest.hashes.items()]
    for shard in (collection / "shards" / name for name in manifest.shards):
        try:
            hashes = load_shard(shard).hashes
        except (OSError, ValueError, KeyError):
            hashes = {"shard.json": "unreadable"}  # no file has this hash
        files += [CheckedFile(shard, name, digest) for name, digest in hashes.items()]
    return files


def find_first_damage(files: Iterable[CheckedFile], sleep: Callable[[float], None] = time.sleep) -> str:
    """Hash files, and return a line about the first one that is damaged or missing; empty if all are as they were
    built.
    """
    for folder, name, digest in files:
        if damage := find_damage(folder, {name: digest}):
            return damage[0]
        sleep((folder / name).stat().st_size / BYTES_PER_SECOND)
    return ""


class SelfCheck:
    """Checks the snapshots of a collection in the background, each every so many hours."""

    def __init__(self, collection: Path, state: Path, hours: float) -> None:
        """Keep results below `state`; 0 `hours` checks nothing."""
        self._collection = collection
        self._folder = state / FOLDER
        self._seconds = hours * 3600
        self._thread: Thread | None = None
        self._results: dict[tuple[str, int], CheckResult] = {}
        """Results by snapshot and time of its manifest, for a state that cannot be written."""
        self._files: dict[tuple[str, int], list[CheckedFile]] = {}
        self._opened: set[tuple[str, int]] = set()

    def list_paths(self, snapshot: str) -> list[Path]:
        """Return the files that are checked for a snapshot; none if nothing is."""
        built = self._manifest_time(snapshot)
        return [file.path for file in self._list_files(snapshot, built)] if self._seconds and built else []

    def find_damage(self, snapshot: str, is_changed: bool = False) -> str:
        """Return what is known about damage of a snapshot; empty if there is none that is known.

        Files that were written to since they were built or last checked are read first; all files if the snapshot is
        known to be changed and their times do not show it. A check of all files that is due is made at once if this
        process has not opened the snapshot yet and it is small, and in a thread otherwise.
        """
        built = self._manifest_time(snapshot)
        if not (self._seconds and built):
            return ""
        result = self._read_result(snapshot, built)
        if (snapshot, built) not in self._opened and self._is_due(result) and self._is_small(snapshot, built):
            result = self._check(snapshot, built, self._list_due)
        if self._list_changed(snapshot, built, result):
            result = self._check(snapshot, built, self._list_changed)
        elif is_changed and not result.damage:
            result = self._check(snapshot, built, lambda *_: self._list_files(snapshot, built))
        self._opened.add((snapshot, built))
        is_idle = self._thread is None or not self._thread.is_alive()
        if is_idle and self._is_due(result):
            self._thread = Thread(target=self._check_all, args=(snapshot, built), daemon=True)
            self._thread.start()
        return result.damage

    def _manifest_time(self, snapshot: str) -> int:
        """Return the time of a snapshot's manifest in nanoseconds; 0 if it is gone, which others notice."""
        try:
            return (self._collection / "snapshots" / snapshot / "manifest.json").stat().st_mtime_ns
        except OSError:
            return 0

    def _list_files(self, snapshot: str, built: int) -> list[CheckedFile]:
        """Return the files of a snapshot; none if its manifest cannot be read, which others notice."""
        if (files := self._files.get((snapshot, built))) is None:
            try:
                files = self._files[snapshot, built] = list_files(self._collection, snapshot)
            except SnapshotError:
                return []
        return files

    def _is_due(self, result: CheckResult) -> bool:
        """True if all files have to be read; those of a snapshot that is known to be damaged have not."""
        age = time.time() - result.checked
        return not result.damage and not 0 <= age < self._seconds  # below 0, the clock was set back

    def _is_small(self, snapshot: str, built: int) -> bool:
        """True if the files of a snapshot are read in less than half a second."""
        with suppress(OSError):  # one that is missing is named by the check
            files = self._list_files(snapshot, built)
            return sum(file.path.stat().st_size for file in files) <= MAX_BYTES_AT_OPEN
        return True

    def _list_due(self, snapshot: str, built: int, result: CheckResult) -> list[CheckedFile]:
        """Return all files, or none if a check that another process made since is recent enough."""
        return self._list_files(snapshot, built) if self._is_due(result) else []

    def _list_changed(self, snapshot: str, built: int, result: CheckResult) -> list[CheckedFile]:
        """Return the files that were written to since they were built or last checked, or are gone.

        Where damage is known, all files if one was put there since: it may be the mended one.
        """
        since, files = max(built, result.unchanged_since), self._list_files(snapshot, built)
        if result.damage:
            return files if any(file.times()[1] > since for file in files) else []
        return [file for file in files if not 0 < file.times()[0] <= since]

    def _read_result(self, snapshot: str, built: int) -> CheckResult:
        """Return what was found about a snapshot before."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            result = json.loads((self._folder / f"{snapshot}.json").read_text())
            if result["built"] == built:
                return CheckResult(float(result["checked"]), int(result["unchanged_since"]), str(result["damage"]))
        return self._results.get((snapshot, built), CheckResult())

    def _check(
        self, snapshot: str, built: int, list_due: Callable[[str, int, CheckResult], list[CheckedFile]]
    ) -> CheckResult:
        """Read the files of a snapshot that are due, keep the result and return it; waits for a process that is at
        it, whose result may leave nothing due.
        """
        with self._locked(wait=True):
            result = self._read_result(snapshot, built)
            if not (files := list_due(snapshot, built, result)):
                return result
            started = time.time_ns() - CLOCK_NS
            checked = time.time() if len(files) == len(self._list_files(snapshot, built)) else result.checked
            return self._keep(snapshot, built, CheckResult(checked, started, _look(files, lambda _: None)))

    def _check_all(self, snapshot: str, built: int) -> None:
        """Read all files of a snapshot unless another process does, and keep the result."""
        with suppress(BlockingIOError), self._locked(wait=False):
            started = time.time_ns() - CLOCK_NS
            damage = _look(self._list_files(snapshot, built), time.sleep)
            self._keep(snapshot, built, CheckResult(time.time(), started, damage))

    @contextmanager
    def _locked(self, wait: bool) -> Iterator[None]:
        """Let no other process check meanwhile, where the state can be written. Raises BlockingIOError if one does and
        `wait` is False.
        """
        import fcntl  # Windows has none, and shows the help of `serve` without it

        with ExitStack() as stack:
            with suppress(FileExistsError, NotADirectoryError, PermissionError, FileNotFoundError):
                self._folder.mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context((self._folder / "lock").open("w"))
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            yield

    def _keep(self, snapshot: str, built: int, result: CheckResult) -> CheckResult:
        """Write the result at once or not at all, and return it."""
        self._results[snapshot, built] = result
        path = self._folder / f"{snapshot}.json"
        temporary = path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            temporary.write_text(json.dumps({"built": built, **result._asdict()}))
            temporary.rename(path)
        return result


def _look(files: Iterable[CheckedFile], sleep: Callable[[float], None]) -> str:
    """Return what is damaged of some files; empty if nothing is."""
    try:
        return find_first_damage(files, sleep)
    except Exception as error:  # whatever prevents a file from being read, it cannot be served either
        return str(error)
