"""An event loop that accepts, in each of its turns, the connections that wait at a listening socket.

libuv, and so uvloop, accepts one connection in a turn of the loop, and a turn is as long as all requests together that
are ready in it: beside busy connections a new one would wait once for each one before it in the line. asyncio's own
loop accepts as many as the backlog holds, so nothing is done where there is no uvloop. Read `webemu.api.proxy.protocol_sniffer` next: the
protocol of the connections that are accepted.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, cast

import uvloop

from webemu.emulator.logs import event

log = logging.getLogger("webemu.serve")

PER_TURN = 256
"""Connections accepted at most in one turn of one worker. The rest waits for its next turn, so that busy connections do
not wait for a whole burst, or for other workers, which listen at the same socket."""
PAUSE_SECONDS = 0.5
"""Time until the next attempt where the system has no descriptors or memory left for a connection."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class AcceptingLoop(uvloop.Loop):
    """uvloop with another way of accepting connections."""

    async def create_server(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], *args: Any, sock: socket.socket | None = None,
        **options: Any,
    ) -> asyncio.AbstractServer | Acceptor:  # fmt: skip
        """Serve at a listening socket by an `Acceptor`; what has no socket yet, or ends TLS itself, as uvloop does."""
        if sock is None or options.get("ssl"):
            return await super().create_server(protocol_factory, *args, sock=cast(Any, sock), **options)
        return Acceptor(self, protocol_factory, sock, int(options.get("backlog", 100)))


class Acceptor:
    """Accepts the connections of one listening socket until it is closed. The socket itself stays its owner's."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, protocol_factory: Callable[[], asyncio.BaseProtocol],
        listener: socket.socket, backlog: int,
    ) -> None:  # fmt: skip
        self._loop, self._factory, self._listener = loop, protocol_factory, listener
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_open = True
        listener.setblocking(False)
        listener.listen(backlog)
        loop.add_reader(listener, self._accept)

    def _accept(self) -> None:
        for _ in range(PER_TURN):
            try:
                connection, _address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                self._pause(error)
                return
            connection.setblocking(False)
            self._open(connection)

    def _open(self, connection: socket.socket) -> None:
        """Give the connection its protocol now: a task would begin a turn later, and a turn may be long."""
        opening = self._loop.connect_accepted_socket(self._factory, connection)
        try:
            ready = opening.send(None)
        except OSError:  # the client has gone already
            connection.close()
            return
        task = self._loop.create_task(_finish(opening, ready))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _pause(self, error: OSError) -> None:
        """Stop looking for a while: the socket stays ready, and the loop would do nothing else."""
        message = "no connection can be accepted: %s; raise the limit (ulimit -n) or let clients keep fewer open"
        log.error(message, error.strerror, extra=event("accept_failed", error=error.strerror))
        self._loop.remove_reader(self._listener)
        self._timer = self._loop.call_later(PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        self._loop.add_reader(self._listener, self._accept)

    def is_serving(self) -> bool:
        """True until the server is closed."""
        return self._is_open

    def close(self) -> None:
        """Accept no more connections. Those that were accepted go on."""
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._listener)
            if self._timer:
                self._timer.cancel()

    async def wait_closed(self) -> None:
        """Return at once: connections are their protocols' to end."""


async def _finish(opening: Coroutine[Any, Any, Any], ready: Awaitable[Any]) -> None:
    """Go on with a coroutine that was begun by hand, once the future is done that it waits for."""
    await ready
    with suppress(StopIteration, OSError):
        opening.send(None)
