"""The world that is being served: follows the collection's CURRENT snapshot while requests go on.

A request takes the world once and keeps it to its end; switching to another snapshot, newer or older, is one
assignment.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Literal
from weakref import WeakValueDictionary

from webemu.api.runtime.batch_sharing import from_environment
from webemu.api.runtime.descriptors import read_limit
from webemu.api.runtime.file_watch import FileWatch
from webemu.api.runtime.ingest_activity import describe_ingest
from webemu.emulator.errors import EmulatorError, SnapshotError
from webemu.emulator.logs import event_extra
from webemu.emulator.world import World
from webemu.emulator.world_hooks import WorldHooks
from webemu.index.manifest import read_manifest
from webemu.index.open import check_snapshot, current_id, open_snapshot
from webemu.index.records import READER, describe_reader
from webemu.index.removal.rules import FILE as REMOVALS_FILE
from webemu.index.removal.rules import NO_FILE, file_state
from webemu.index.self_check import SelfCheck

__all__ = ["READER", "LiveSnapshot", "current_id", "describe_reader", "find_problem", "has_exchanges"]

log = logging.getLogger("webemu.api")

MAX_PINNED_SNAPSHOTS = 3
"""Snapshots that are kept open for the sessions that began with them."""
_SNAPSHOT_ID = re.compile(r"[0-9a-f]{1,64}")
"""Form of a snapshot id."""
POLL_SECONDS = 1.0
"""Seconds between two checks of CURRENT."""


def has_exchanges(collection: Path) -> bool:
    """True if the snapshot that is served has recorded exchanges; False if there is none."""
    snapshot = current_id(collection)
    return snapshot is not None and read_manifest(collection / "snapshots" / snapshot).exchanges > 0


def find_problem(collection: Path, snapshot: str) -> tuple[str, str] | None:
    """Return why a snapshot cannot be served and what to do about it, for the person who starts the server; None if it
    can.
    """
    try:
        check_snapshot(collection, snapshot)
    except Exception as error:
        failure = to_client_error(collection, error)
        is_command = "--collection" in failure.action
        root = f" --root {shlex.quote(str(collection.parent))}" if is_command else ""
        return " ".join(str(failure).split()), failure.action + root
    return None


def is_out_of_files(error: BaseException | None) -> bool:
    """True if an error, or one that caused it, says that no file descriptor is left."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            return True
        error = error.__cause__ or error.__context__
    return False


def to_client_error(collection: Path, error: Exception) -> EmulatorError:
    """Return why a snapshot cannot be served, as an error that clients may see: its message and action contain no
    path.
    """
    if is_out_of_files(error):
        message = f"no file can be opened: all {read_limit()} descriptors are in use (EMFILE)"
        return SnapshotError(message, action="raise ulimit -n")
    if not isinstance(error, EmulatorError):
        action, location = "webemu snapshots verify", f"{collection}: {error!r}"
        error = SnapshotError("the snapshot cannot be opened", action=action, location=location)
    if "webemu snapshots" in error.action and "--collection" not in error.action:
        error.action += f" --collection {collection.name}"
    return error


def _changed_error(snapshot: str) -> SnapshotError:
    """Return the error for a snapshot whose files were written to and not checked since."""
    return SnapshotError(
        f"a file of snapshot {snapshot} was changed and is being checked", action="retry after a second"
    )


class LiveSnapshot:
    """The open world of a collection. With a `world` it serves that one and follows nothing."""

    def __init__(self, folder: Path, world: World | None = None, self_check: SelfCheck | None = None) -> None:
        self._folder = folder
        self._self_check = self_check
        self._file_watch = FileWatch()
        self._changes: Counter[str] = Counter()
        """Number of times that a snapshot was closed since it was last sound: a file was written to, or is damaged."""
        self._inodes: dict[str, list[int]] = {}
        """Numbers of the files that open snapshots have mapped."""
        self._world = world
        self._is_fixed = world is not None
        self._problem = ("the snapshot is not open yet", "retry after a second")
        self._last_logged = ""
        # A rollback may need a snapshot again while requests still hold it, and LMDB must not open a file twice.
        self._worlds: WeakValueDictionary[str, World] = WeakValueDictionary()
        self._pinned: list[World] = []
        self._removals = (file_state(folder / REMOVALS_FILE), "")
        """State of the file of removals, and the snapshot that was served with it."""
        self.sections: dict[str, Callable[[], Mapping[str, int]]] = {}
        """Functions that return figures of what is served, by name, for `/v1/stats`."""
        self.peers = from_environment(self.open)
        """The other workers of this server; None if there are none."""
        self._on_query: Callable[[str], None] | None = None
        self._on_vain: Callable[[Literal["search", "url"], str], None] | None = None

    def set_listeners(
        self, on_query: Callable[[str], None], on_vain: Callable[[Literal["search", "url"], str], None]
    ) -> None:
        """Call functions with the text of each search in any world that is served, and with what is asked in vain."""
        self._on_query, self._on_vain = on_query, on_vain
        if self._world is not None:
            self._world = self._world.with_hooks(replace(self._world.hooks, on_query=on_query, on_vain=on_vain))

    def describe_ingest(self) -> dict[str, object]:
        """Return what `webemu ingest` does to the collection now (`webemu.api.runtime.ingest_activity`)."""
        return describe_ingest(self._folder)

    @property
    def world(self) -> World:
        """The open world. Raises SnapshotError while there is none."""
        if self._world is None:
            message, action = self._problem
            raise SnapshotError(message, action=action)
        return self._world

    @property
    def snapshot(self) -> str:
        """Id of the open snapshot; empty while there is none."""
        return "" if self._world is None else self._world.snapshot

    @property
    def is_remote(self) -> bool:
        """True if the open world consists of partitions in other processes, which may be lost."""
        return self._world is not None and self._world.is_remote

    def check_files(self) -> None:
        """Raise SnapshotError if the files of the served snapshot are gone: answers from memory continue, but not for
        long.
        """
        manifest = self._folder / "snapshots" / self.snapshot / "manifest.json"
        if self.snapshot and not self._is_fixed and not manifest.exists():
            raise SnapshotError(
                f"the files of snapshot {self.snapshot} are gone from the collection {self._folder.name!r}",
                action="restore the folder of the collection, or ingest again",
            )

    def open(self, snapshot: str) -> World:
        """Return the world of a snapshot, opening it if necessary; with an empty id, the world that is served.

        Blocks while files are opened: call it in a thread.

        Raises:
            SnapshotError: the id is malformed, or there is no such snapshot, or it cannot be opened.
        """
        if snapshot in ("", self.snapshot):
            return self.world
        if not _SNAPSHOT_ID.fullmatch(snapshot):
            raise SnapshotError(f"{snapshot[:80]!r} is not a snapshot id", action="webemu snapshots list")
        world = self._open_world(snapshot)
        # A strong reference: `_open` is weak, and would let a session's snapshot be closed between its requests.
        self._pinned = [world, *(one for one in self._pinned if one is not world)][:MAX_PINNED_SNAPSHOTS]
        return world

    def is_open(self, snapshot: str) -> bool:
        """True if the world of a snapshot is open already, so that `open` does not block."""
        return snapshot in ("", self.snapshot) or (snapshot in self._worlds and not self._changes[snapshot])

    def _open_world(self, snapshot: str) -> World:
        """Return the world of a snapshot, from those still in use or newly opened.

        Raises:
            SnapshotError: it cannot be opened, or a check found it damaged.
        """
        world, changes = self._worlds.get(snapshot), self._changes[snapshot]
        if world is not None and not changes:
            return world
        self._watch_files(snapshot)
        self._raise_if_damaged(snapshot)
        inodes = self._list_inodes(snapshot)
        if world is None or inodes != self._inodes.get(snapshot):
            world = self._open_files(snapshot)
        if self._changes[snapshot] != changes:
            raise _changed_error(snapshot)  # while it was checked and opened
        del self._changes[snapshot]
        self._inodes[snapshot], self._worlds[snapshot] = inodes, world
        return world

    def _open_files(self, snapshot: str) -> World:
        """Return the world of a snapshot, newly opened. Raises SnapshotError."""
        started = perf_counter()
        run_batch = self.peers.run_batch if self.peers else None
        world = self._open_plain(snapshot).with_hooks(WorldHooks(run_batch, self._on_query, self._on_vain))
        log_fields = event_extra("snapshot_opened", snapshot=snapshot, seconds=round(perf_counter() - started, 3))
        log.info("snapshot %s is open", snapshot, extra=log_fields)
        return world

    def _open_plain(self, snapshot: str) -> World:
        """Return the world of a snapshot without hooks. Raises SnapshotError."""
        return open_snapshot(self._folder, snapshot)

    async def follow(self) -> None:
        """Check CURRENT every second, and when a file of an open snapshot is written to, until cancelled."""
        if self._is_fixed:
            return
        changed, descriptor = asyncio.Event(), self._file_watch.fileno()
        if descriptor >= 0:
            asyncio.get_running_loop().add_reader(descriptor, self._close_changed, changed)
        try:
            while True:
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), POLL_SECONDS)
                changed.clear()
                await self.refresh()
        finally:
            if descriptor >= 0:
                asyncio.get_running_loop().remove_reader(descriptor)
                self._file_watch.close()

    def _close_changed(self, changed: asyncio.Event) -> None:
        """Close the snapshots of which a file was just written to; the next refresh finds out if it is damaged."""
        for snapshot in self._file_watch.read_changed():
            error = _changed_error(snapshot)
            self._problem = (error.message, error.action)
            self._forget(snapshot)
            changed.set()

    async def refresh(self) -> None:
        """Switch to the CURRENT snapshot if it changed. On any failure the old world stays and the problem is logged
        once.
        """
        if self._is_fixed:
            return
        try:
            await asyncio.to_thread(self._switch)
            self.check_files()
            self._close_if_removed()
            for snapshot in {self.snapshot, *(world.snapshot for world in self._pinned)} - {""}:
                await asyncio.to_thread(self._close_if_damaged, snapshot)
        except Exception as error:
            self._report(to_client_error(self._folder, error))

    def _current_id(self) -> str | None:
        """Return the id of the snapshot that is to be served; None if there is none."""
        return current_id(self._folder)

    def _switch(self) -> None:
        """Open the CURRENT snapshot if it is not the one that is served. Raises SnapshotError if there is none."""
        new_id = self._current_id()
        if new_id is None and self._world is None:
            raise SnapshotError(
                f"the collection {self._folder.name!r} has no snapshot yet",
                action=f"run: webemu ingest SOURCE... --collection {self._folder.name}",
                location=str(self._folder),
            )
        if new_id is None or new_id == self.snapshot:
            return
        old_id, self._world = self.snapshot, self._open_world(new_id)
        log_fields = event_extra("snapshot_switched", snapshot=new_id, before=old_id or None)
        log.info("snapshot %s is served, replacing %s", new_id, old_id or "none", extra=log_fields)

    def _raise_if_damaged(self, snapshot: str) -> None:
        """Raise SnapshotError if the last check found a snapshot damaged; begin the next one if it is due."""
        if self._self_check is None or self._is_fixed:
            return
        if damage := self._self_check.find_damage(snapshot, is_changed=bool(self._changes[snapshot])):
            raise SnapshotError(
                f"a file of snapshot {snapshot} is damaged",
                action="restore it, or remove the snapshot and build it again (webemu snapshots)",
                location=damage,
            )

    def _close_if_removed(self) -> None:
        """Close other snapshots than the served one after a removal: they open again only without what was removed."""
        before, self._removals = self._removals, (file_state(self._folder / REMOVALS_FILE), self.snapshot)
        if self._removals != before and self._removals[0] != NO_FILE:
            self._pinned.clear()
            for snapshot in [snapshot for snapshot in self._worlds if snapshot != self.snapshot]:
                self._worlds.pop(snapshot, None)

    def _close_if_damaged(self, snapshot: str) -> None:
        """Close a snapshot that was found damaged: an error is better than a wrong answer. Raises SnapshotError."""
        try:
            self._raise_if_damaged(snapshot)
        except SnapshotError as error:
            log.error("%s", error, extra=event_extra("snapshot_damaged", action=error.action))
            was_served = snapshot == self.snapshot
            self._forget(snapshot)
            if was_served:
                raise

    def _forget(self, snapshot: str) -> None:
        """Close a snapshot: whoever asks for it next gets it only after its files were checked."""
        self._changes[snapshot] += 1
        self._pinned = [world for world in self._pinned if world.snapshot != snapshot]
        if snapshot == self.snapshot:
            self._world = None

    def _list_inodes(self, snapshot: str) -> list[int]:
        """Return the numbers of a snapshot's files: another number is another file, which has to be mapped anew."""
        paths = [] if self._self_check is None else self._self_check.list_paths(snapshot)
        return [path.stat().st_ino for path in paths]

    def _watch_files(self, snapshot: str) -> None:
        """Watch the files of a snapshot that is about to be opened."""
        if self._self_check is not None and not self._is_fixed:
            self._file_watch.add(snapshot, self._self_check.list_paths(snapshot))

    def _report(self, error: EmulatorError) -> None:
        """Log why nothing new can be served, unless that was logged before; clients see it if no world is open."""
        if self._last_logged != str(error):
            log.warning("%s (%s)", error, error.action, extra=event_extra("snapshot_unavailable", action=error.action))
        self._last_logged, self._problem = str(error), (error.message, error.action)
