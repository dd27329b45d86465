"""The world that is being served: follows the collection's CURRENT snapshot while requests go on.

A request takes the world once and keeps it to its end; switching to another snapshot, newer or older, is one
assignment.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import re
import resource
import shlex
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from weakref import WeakValueDictionary

from webemu.api.runtime.batch_sharing import from_environment
from webemu.emulator.errors import EmulatorError, SnapshotError
from webemu.emulator.logs import event
from webemu.emulator.world import World
from webemu.index.open import check_snapshot, current_id, open_snapshot
from webemu.index.records import READER, reader_line

__all__ = ["READER", "Served", "current_id", "problem", "reader_line"]

log = logging.getLogger("webemu.api")

PINNED = 3
"""Snapshots that are kept open for the sessions that began with them."""
_ID = re.compile(r"[0-9a-f]{1,64}")
"""Form of a snapshot id."""
PERIOD = 1.0
"""Seconds between two checks of CURRENT."""


def problem(collection: Path, snapshot: str) -> tuple[str, str] | None:
    """Return why a snapshot cannot be served and what to do about it, for the person who starts the server; None if it
    can.
    """
    try:
        check_snapshot(collection, snapshot)
    except Exception as error:
        failure = failure_of(collection, error)
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


def failure_of(collection: Path, error: Exception) -> EmulatorError:
    """Return why a snapshot cannot be served, as an error that clients may see: its message and action contain no
    path.
    """
    if is_out_of_files(error):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        message = f"no file can be opened: all {limit} descriptors are in use (EMFILE)"
        return SnapshotError(message, action="raise ulimit -n")
    if not isinstance(error, EmulatorError):
        action, place = "webemu snapshots verify", f"{collection}: {error!r}"
        error = SnapshotError("the snapshot cannot be opened", action=action, place=place)
    if "webemu snapshots" in error.action and "--collection" not in error.action:
        error.action += f" --collection {collection.name}"
    return error


class Served:
    """The open world of a collection. With a `world` it serves that one and follows nothing."""

    def __init__(self, folder: Path, world: World | None = None) -> None:
        self._folder = folder
        self._world = world
        self._fixed = world is not None
        self._problem = ("the snapshot is not open yet", "retry after a second")
        self._logged = ""
        # A rollback may need a snapshot again while requests still hold it, and LMDB must not open a file twice.
        self._open: WeakValueDictionary[str, World] = WeakValueDictionary()
        self._pinned: list[World] = []
        self.siblings = from_environment(self.of)
        """The other workers of this server; None if there are none."""
        self._heard: Callable[[str], None] | None = None

    def tell(self, heard: Callable[[str], None]) -> None:
        """Call a function with the text of each search in any world that is served."""
        self._heard = heard
        if self._world is not None:
            self._world.heard = heard

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

    def check(self) -> None:
        """Raise SnapshotError if the files of the served snapshot are gone: answers from memory continue, but not for
        long.
        """
        place = self._folder / "snapshots" / self.snapshot / "manifest.json"
        if self.snapshot and not self._fixed and not place.exists():
            raise SnapshotError(
                f"the files of snapshot {self.snapshot} are gone from the collection {self._folder.name!r}",
                action="restore the folder of the collection, or ingest again",
            )

    def of(self, snapshot: str) -> World:
        """Return the world of a snapshot, opening it if necessary; with an empty id, the world that is served.

        Blocks while files are opened: call it in a thread.

        Raises:
            SnapshotError: the id is malformed, or there is no such snapshot, or it cannot be opened.
        """
        if snapshot in ("", self.snapshot):
            return self.world
        if not _ID.fullmatch(snapshot):
            raise SnapshotError(f"{snapshot[:80]!r} is not a snapshot id", action="webemu snapshots list")
        world = self._opened(snapshot)
        # A strong reference: `_open` is weak, and would let a session's snapshot be closed between its requests.
        self._pinned = [world, *(one for one in self._pinned if one is not world)][:PINNED]
        return world

    def holds(self, snapshot: str) -> bool:
        """True if the world of a snapshot is open already, so that `open` does not block."""
        return snapshot in ("", self.snapshot) or snapshot in self._open

    def _opened(self, snapshot: str) -> World:
        """Return the world of a snapshot, from those still in use or newly opened."""
        if (world := self._open.get(snapshot)) is None:
            began = perf_counter()
            world = open_snapshot(self._folder, snapshot)
            opened = event("snapshot_opened", snapshot=snapshot, seconds=round(perf_counter() - began, 3))
            log.info("snapshot %s is open", snapshot, extra=opened)
        world.share = self.siblings.share if self.siblings else None
        world.heard = self._heard
        self._open[snapshot] = world
        return world

    async def follow(self) -> None:
        """Check CURRENT every second, until cancelled."""
        while not self._fixed:
            await asyncio.sleep(PERIOD)
            await self.refresh()

    async def refresh(self) -> None:
        """Switch to the CURRENT snapshot if it changed. On any failure the old world stays and the problem is logged
        once.
        """
        if self._fixed:
            return
        try:
            await asyncio.to_thread(self._switch)
            self.check()
        except Exception as error:
            self._report(failure_of(self._folder, error))

    def _switch(self) -> None:
        """Open the CURRENT snapshot if it is not the one that is served. Raises SnapshotError if there is none."""
        current = current_id(self._folder)
        if current is None and self._world is None:
            raise SnapshotError(
                f"the collection {self._folder.name!r} has no snapshot yet",
                action=f"run: webemu ingest SOURCE... --collection {self._folder.name}",
                place=str(self._folder),
            )
        if current is None or current == self.snapshot:
            return
        before, self._world = self.snapshot, self._opened(current)
        switched = event("snapshot_switched", snapshot=current, before=before or None)
        log.info("snapshot %s is served, replacing %s", current, before or "none", extra=switched)

    def _report(self, error: EmulatorError) -> None:
        """Log why nothing new can be served, unless that was logged before; clients see it if no world is open."""
        if self._logged != str(error):
            log.warning("%s (%s)", error, error.action, extra=event("snapshot_unavailable", action=error.action))
        self._logged, self._problem = str(error), (error.message, error.action)
