"""Large batches of searches, shared with the other workers of the same server over Unix sockets in a private folder.

A search holds Python's lock, so that threads do not help; the workers are there anyhow. Who has finished a piece takes
the next; a worker that does not answer is done without.
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
"""Names the folder to the workers."""
PIECE = 32
"""Queries that are given to a worker at once."""
_BROKEN = (OSError, EOFError, EmulatorError)

Piece = tuple[int, Sequence[Query]]


class Siblings:
    """This worker as one of many. `world_of` opens a snapshot by its id."""

    def __init__(self, place: Path, name: str, world_of: Callable[[str], World]) -> None:
        self._path = place / f"{name}.sock"
        self._world_of = world_of
        self._listener: Listener | None = None

    def open(self) -> None:
        """From now on others are helped."""
        self._listener = Listener(str(self._path), "AF_UNIX", backlog=64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
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
        with connection, suppress(*_BROKEN):
            while True:
                snapshot, queries = connection.recv()
                world = self._world_of(snapshot)
                connection.send([world.passages_of(query) for query in queries])

    def share(self, world: World, queries: Sequence[Query]) -> list[Passages]:
        """What the world finds for each query, in order."""
        pieces: SimpleQueue[Piece] = SimpleQueue()
        for at in range(0, len(queries), PIECE):
            pieces.put((at, queries[at : at + PIECE]))
        found: dict[int, list[Passages]] = {}
        others = [path for path in self._path.parent.glob("*.sock") if path != self._path]
        threads = [threading.Thread(target=_ask, args=(path, world.snapshot, pieces, found)) for path in others]
        for thread in threads:
            thread.start()
        _each(pieces, found, lambda given: [world.passages_of(query) for query in given])
        for thread in threads:
            thread.join()
        _each(pieces, found, lambda given: [world.passages_of(query) for query in given])  # what others gave back
        return [one for at in sorted(found) for one in found[at]]


def _each(
    pieces: SimpleQueue[Piece], found: dict[int, list[Passages]], answer: Callable[[Sequence[Query]], list[Passages]]
) -> None:
    """Answer pieces until there are none; one that cannot be answered is given back."""
    with suppress(Empty):
        while True:
            at, queries = pieces.get_nowait()
            try:
                found[at] = answer(queries)
            except BaseException:
                pieces.put((at, queries))
                raise


def _ask(path: Path, snapshot: str, pieces: SimpleQueue[Piece], found: dict[int, list[Passages]]) -> None:
    """Have pieces answered by the worker behind a socket."""

    def answer(queries: Sequence[Query]) -> list[Passages]:
        connection.send((snapshot, queries))
        passages: list[Passages] = connection.recv()
        return passages

    try:
        with Client(str(path), "AF_UNIX") as connection:
            _each(pieces, found, answer)
    except ConnectionRefusedError:  # it is dead
        path.unlink(missing_ok=True)
    except _BROKEN:
        pass


def from_environment(world_of: Callable[[str], World]) -> Siblings | None:
    """This process among the workers of a server; None if it is the only one."""
    place = folder()
    return Siblings(place, str(os.getpid()), world_of) if place and hasattr(socket, "AF_UNIX") else None


def folder() -> Path | None:
    """The private folder of a server's workers; None where there is but one."""
    name = os.environ.get(FOLDER)
    return Path(name) if name else None
