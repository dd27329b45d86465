"""The world that is being served: follows the collection's CURRENT snapshot while requests go on.

A request takes the world once and ends on it; the switch, back or forth, is one assignment.
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
"""Snapshots that are kept open for sessions that began with them."""
_ID = re.compile(r"[0-9a-f]{1,64}")
PERIOD = 1.0
"""Seconds between two looks at CURRENT."""


def problem(collection: Path, snapshot: str) -> tuple[str, str] | None:
    """Return why a snapshot cannot be served and what to do, for who starts the server; None if it can."""
    try:
        check_snapshot(collection, snapshot)
    except Exception as error:
        failure = failure_of(collection, error)
        is_command = "--collection" in failure.action
        root = f" --root {shlex.quote(str(collection.parent))}" if is_command else ""
        return " ".join(str(failure).split()), failure.action + root
    return None


def is_out_of_files(error: BaseException | None) -> bool:
    """True if an error comes of having no file descriptor left, whatever was tried then."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            return True
        error = error.__cause__ or error.__context__
    return False


def failure_of(collection: Path, error: Exception) -> EmulatorError:
    """Return why a snapshot cannot be served, as an error that clients may see: no path is in its message or action."""
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
    """Holds the open world. Given one at the start, it serves that and follows nothing."""

    def __init__(self, folder: Path, world: World | None = None) -> None:
        self._folder = folder
        self._world = world
        self._fixed = world is not None
        self._problem = ("the snapshot is not open yet", "retry after a second")
        self._logged = ""
        # A snapshot may be asked for again (rollback) while requests still hold it: LMDB forbids to open a file twice.
        self._open: WeakValueDictionary[str, World] = WeakValueDictionary()
        self._pinned: list[World] = []
        self.siblings = from_environment(self.of)
        self._heard: Callable[[str], None] | None = None

    def tell(self, heard: Callable[[str], None]) -> None:
        """Have it told of each search in any world that is served."""
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
        """Its id, empty while there is none."""
        return "" if self._world is None else self._world.snapshot

    def check(self) -> None:
        """Raise SnapshotError if the files of what is served are gone: answers from memory go on, but not for long."""
        place = self._folder / "snapshots" / self.snapshot / "manifest.json"
        if self.snapshot and not self._fixed and not place.exists():
            raise SnapshotError(
                f"the files of snapshot {self.snapshot} are gone from the collection {self._folder.name!r}",
                action="put the folder of the collection back, or ingest again",
            )

    def of(self, snapshot: str) -> World:
        """The world of a snapshot, whatever is served; that, with an empty id. For threads. Raises SnapshotError."""
        if snapshot in ("", self.snapshot):
            return self.world
        if not _ID.fullmatch(snapshot):
            raise SnapshotError(f"{snapshot[:80]!r} is no snapshot", action="webemu snapshots list")
        world = self._opened(snapshot)
        self._pinned = [world, *(one for one in self._pinned if one is not world)][:PINNED]
        return world

    def holds(self, snapshot: str) -> bool:
        """Whether `of` has nothing to open."""
        return snapshot in ("", self.snapshot) or snapshot in self._open

    def _opened(self, snapshot: str) -> World:
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
        """Look at CURRENT for ever."""
        while not self._fixed:
            await asyncio.sleep(PERIOD)
            await self.refresh()

    async def refresh(self) -> None:
        """Switch to the CURRENT snapshot if it is another; on any failure the old world stays."""
        if self._fixed:
            return
        try:
            await asyncio.to_thread(self._switch)
            self.check()
        except Exception as error:
            self._report(failure_of(self._folder, error))

    def _switch(self) -> None:
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
        log.info("snapshot %s is served, before it %s", current, before or "none", extra=switched)

    def _report(self, error: EmulatorError) -> None:
        if self._logged != str(error):
            log.warning("%s (%s)", error, error.action, extra=event("snapshot_unavailable", action=error.action))
        self._logged, self._problem = str(error), (error.message, error.action)
