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

from webemu.emulator.cancellation import until_cancelled
from webemu.emulator.errors import EmulatorError
from webemu.emulator.passage import HitPassages
from webemu.emulator.types import Query
from webemu.emulator.world import World

FOLDER_VARIABLE = "_WEBEMU_SIBLINGS"
"""Environment variable that names the folder of the sockets to the workers."""
CHUNK_SIZE = 32
"""Queries that are sent to a worker at once."""
_PEER_ERRORS = (OSError, EOFError, EmulatorError)

Chunk = tuple[int, Sequence[Query]]
"""Queries of one chunk, and the position of the first in the batch."""


class WorkerPeers:
    """This worker as one of several. `world_of` opens a snapshot by its id."""

    def __init__(self, socket_folder: Path, name: str, world_of: Callable[[str], World]) -> None:
        self._socket_path = socket_folder / f"{name}.sock"
        self._world_of = world_of
        self._listener: Listener | None = None

    def open(self) -> None:
        """Start to answer chunks for other workers."""
        self._listener = Listener(str(self._socket_path), "AF_UNIX", backlog=64)
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
            threading.Thread(target=self._serve_peer, args=(connection,), daemon=True).start()

    def _serve_peer(self, connection: Connection) -> None:
        """Answer the chunks of one other worker until it disconnects."""
        with connection, suppress(*_PEER_ERRORS):
            while True:
                snapshot, queries = connection.recv()
                world = self._world_of(snapshot)
                connection.send([world.search_passages(query) for query in queries])

    def run_batch(self, world: World, queries: Sequence[Query]) -> list[HitPassages]:
        """Run the queries with the help of the other workers; return what the world finds for each, in order."""
        chunks: SimpleQueue[Chunk] = SimpleQueue()
        for offset in range(0, len(queries), CHUNK_SIZE):
            chunks.put((offset, queries[offset : offset + CHUNK_SIZE]))
        results: dict[int, list[HitPassages]] = {}
        peer_paths = [path for path in self._socket_path.parent.glob("*.sock") if path != self._socket_path]
        threads = [
            threading.Thread(target=_ask_peer, args=(path, world.snapshot, chunks, results)) for path in peer_paths
        ]
        for thread in threads:
            thread.start()

        def answer(chunk: Sequence[Query]) -> list[HitPassages]:
            return [world.search_passages(query) for query in until_cancelled(chunk)]

        try:
            _answer_chunks(chunks, results, answer)  # this worker takes chunks too, at its own speed
            for thread in threads:
                thread.join()
            _answer_chunks(chunks, results, answer)  # chunks that failing workers put back
        except BaseException:
            with suppress(Empty):  # nothing is left for the others either
                while True:
                    chunks.get_nowait()
            raise
        return [one for offset in sorted(results) for one in results[offset]]


def _answer_chunks(
    chunks: SimpleQueue[Chunk],
    results: dict[int, list[HitPassages]],
    answer: Callable[[Sequence[Query]], list[HitPassages]],
) -> None:
    """Answer chunks until none is left. One that cannot be answered is put back, and the error is raised."""
    with suppress(Empty):
        while True:
            offset, queries = chunks.get_nowait()
            try:
                results[offset] = answer(queries)
            except BaseException:
                chunks.put((offset, queries))
                raise


def _ask_peer(path: Path, snapshot: str, chunks: SimpleQueue[Chunk], results: dict[int, list[HitPassages]]) -> None:
    """Let the worker behind a socket answer chunks until none is left or the worker fails."""

    def answer(queries: Sequence[Query]) -> list[HitPassages]:
        connection.send((snapshot, queries))
        passages: list[HitPassages] = connection.recv()
        return passages

    try:
        with Client(str(path), "AF_UNIX") as connection:
            _answer_chunks(chunks, results, answer)
    except ConnectionRefusedError:  # that worker is dead
        path.unlink(missing_ok=True)
    except _PEER_ERRORS:
        pass


def from_environment(world_of: Callable[[str], World]) -> WorkerPeers | None:
    """Return this process as one of the workers of its server; None if it is the only one."""
    socket_folder = peers_folder()
    return (
        WorkerPeers(socket_folder, str(os.getpid()), world_of) if socket_folder and hasattr(socket, "AF_UNIX") else None
    )


def peers_folder() -> Path | None:
    """Return the private folder of the workers; None if there is only one."""
    name = os.environ.get(FOLDER_VARIABLE)
    return Path(name) if name else None
