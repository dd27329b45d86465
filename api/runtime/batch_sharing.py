"""Share large batches of searches among the workers of one server, over Unix sockets in a private folder.

A search holds Python's global lock, so that threads do not help, while the other worker processes exist anyway.
Whoever finishes a chunk takes the next one. A worker that does not answer is left out.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from queue import Empty, SimpleQueue

from webemu.emulator.errors import EmulatorError
from webemu.emulator.types import Query
from webemu.emulator.world import Passages, World

FOLDER = "_WEBEMU_SIBLINGS"
"""Environment variable that names the folder of the sockets to the workers."""
PIECE = 32
"""Queries that are sent to a worker at once."""
_BROKEN = (OSError, EOFError, EmulatorError)

Piece = tuple[int, Sequence[Query]]
"""Queries of one chunk, and the position of the first in the batch."""


class Siblings:
    """This worker as one of several. `world_of` opens a snapshot by its id."""

    def __init__(self, place: Path, name: str, world_of: Callable[[str], World]) -> None:
        self._path = place / f"{name}.sock"
        self._world_of = world_of
        self._listener: Listener | None = None

    def open(self) -> None:
        """Start to answer chunks for other workers."""
        self._listener = Listener(str(self._path), "AF_UNIX", backlog=64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Stop accepting connections from other workers."""
        if self._listener:
            with suppress(OSError):
                self._listener.close()

    def _accept(self, listener: Listener) -> None:
        while True:
            try:
                connection = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._help, args=(connection,), daemon=True).start()

    def _help(self, connection: Connection) -> None:
        """Answer the chunks of one other worker until it disconnects."""
        with connection, suppress(*_BROKEN):
            while True:
                snapshot, queries = connection.recv()
                world = self._world_of(snapshot)
                connection.send([world.passages_of(query) for query in queries])

    def share(self, world: World, queries: Sequence[Query]) -> list[Passages]:
        """Run the queries with the help of the other workers; return what the world finds for each, in order."""
        pieces: SimpleQueue[Piece] = SimpleQueue()
        for at in range(0, len(queries), PIECE):
            pieces.put((at, queries[at : at + PIECE]))
        found: dict[int, list[Passages]] = {}
        others = [path for path in self._path.parent.glob("*.sock") if path != self._path]
        threads = [threading.Thread(target=_ask, args=(path, world.snapshot, pieces, found)) for path in others]
        for thread in threads:
            thread.start()
        # This worker takes chunks too, at its own speed.
        _each(pieces, found, lambda given: [world.passages_of(query) for query in given])
        for thread in threads:
            thread.join()
        _each(
            pieces, found, lambda given: [world.passages_of(query) for query in given]
        )  # chunks that failing workers put back
        return [one for at in sorted(found) for one in found[at]]


def _each(
    pieces: SimpleQueue[Piece], found: dict[int, list[Passages]], answer: Callable[[Sequence[Query]], list[Passages]]
) -> None:
    """Answer chunks until none is left. One that cannot be answered is put back, and the error is raised."""
    with suppress(Empty):
        while True:
            at, queries = pieces.get_nowait()
            try:
                found[at] = answer(queries)
            except BaseException:
                pieces.put((at, queries))
                raise


def _ask(path: Path, snapshot: str, pieces: SimpleQueue[Piece], found: dict[int, list[Passages]]) -> None:
    """Let the worker behind a socket answer chunks until none is left or the worker fails."""

    def answer(queries: Sequence[Query]) -> list[Passages]:
        connection.send((snapshot, queries))
        passages: list[Passages] = connection.recv()
        return passages

    try:
        with Client(str(path), "AF_UNIX") as connection:
            _each(pieces, found, answer)
    except ConnectionRefusedError:  # that worker is dead
        path.unlink(missing_ok=True)
    except _BROKEN:
        pass


def from_environment(world_of: Callable[[str], World]) -> Siblings | None:
    """Return this process as one of the workers of its server; None if it is the only one."""
    place = folder()
    return Siblings(place, str(os.getpid()), world_of) if place and hasattr(socket, "AF_UNIX") else None


def folder() -> Path | None:
    """Return the private folder of the workers; None if there is only one."""
    name = os.environ.get(FOLDER)
    return Path(name) if name else None
