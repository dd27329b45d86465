"""An event loop that accepts, in each iteration, many of the connections that wait at a listening socket.

libuv, and so uvloop, accepts one connection per iteration of the loop, and an iteration lasts as long as all requests
together that are ready in it. Beside busy connections a new one would wait one iteration for each connection before it
in the queue. asyncio's own loop accepts as many as the backlog holds, so nothing is changed where uvloop is missing.
Read `webemu.api.proxy.protocol_sniffer` next: the protocol of the accepted connections.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
import socket
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

import uvloop

from webemu.api.runtime.descriptors import count_for_connections, find_free, read_limit
from webemu.emulator.logs import event_extra

log = logging.getLogger("webemu.serve")

MAX_ACCEPTS_PER_TURN = 256
"""Most connections that one worker accepts in one iteration. The rest waits for its next iteration, so that busy
connections need not wait for a whole burst, or for another worker that listens on the same socket.
"""
PAUSE_SECONDS = 0.5
"""Seconds until the next attempt when the system has no file descriptors or memory left for a connection."""
REPEAT_SECONDS = 10.0
"""Seconds until the log says again that no connection can be accepted."""
_EXHAUSTED_ERRORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""System errors that say that a resource for connections is used up."""


class AcceptingLoop(uvloop.Loop):
    """uvloop's event loop with a different way of accepting connections."""

    async def create_server(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], *args: Any, sock: socket.socket | None = None,
        **options: Any,
    ) -> asyncio.AbstractServer | Acceptor:  # fmt: skip
        """Serve a listening socket with an `Acceptor`; without a socket, or with asyncio's TLS, as uvloop does."""
        if sock is None:
            return await super().create_server(protocol_factory, *args, **options)
        if options.get("ssl"):
            return await super().create_server(protocol_factory, *args, sock=sock, **options)
        return Acceptor(self, protocol_factory, sock, int(options.get("backlog", 100)))


class Acceptor:
    """Accepts the connections of one listening socket until it is closed. It does not close the socket itself."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, protocol_factory: Callable[[], asyncio.BaseProtocol],
        listener: socket.socket, backlog: int,
    ) -> None:  # fmt: skip
        self._loop, self._factory, self._listener = loop, protocol_factory, listener
        self._backlog = backlog
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._logged_at = -math.inf
        self._is_open = True
        listener.setblocking(False)
        listener.listen(backlog)
        loop.add_reader(listener, self._accept)

    def _accept(self) -> bool:
        """Accept the connections that wait, up to the limit of one iteration, while descriptors are left; return
        whether more may wait.
        """
        limit = count_for_connections()
        for _ in range(MAX_ACCEPTS_PER_TURN):
            try:
                if find_free(self._listener.fileno()) >= limit:
                    self._pause(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
                    return False
                connection, _address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return False
            except OSError as error:
                if error.errno not in _EXHAUSTED_ERRORS:
                    raise
                self._pause(error)
                return False
            connection.setblocking(False)
            self._open(connection)
        return True

    def _open(self, connection: socket.socket) -> None:
        """Give a connection its protocol at once: a task would begin one iteration later, and an iteration may be
        long.
        """
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
        """Stop watching the socket for a while: it would stay readable, and the loop would do nothing else."""
        if self._loop.time() >= self._logged_at + REPEAT_SECONDS:
            self._logged_at, limit = self._loop.time(), read_limit()
            message = (
                "no connection can be accepted: %s: connections have all of the %d descriptors but %d, which are kept "
                "for files; raise the limit (ulimit -n), or let clients keep fewer connections open"
            )
            log_fields = event_extra("accept_failed", error=error.strerror, limit=limit)
            log.error(message, error.strerror, limit, limit - count_for_connections(), extra=log_fields)
        self._loop.remove_reader(self._listener)
        self._timer = self._loop.call_later(PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        """Watch the socket again."""
        self._loop.add_reader(self._listener, self._accept)

    def is_serving(self) -> bool:
        """True until the server is closed."""
        return self._is_open

    def close(self) -> None:
        """Accept the connections that wait, which would be reset with the socket, and no more. All of them go on."""
        if self._is_open:
            for _ in range(1 + self._backlog // MAX_ACCEPTS_PER_TURN):
                if not self._accept():
                    break
            self._is_open = False
            self._loop.remove_reader(self._listener)
            if self._timer:
                self._timer.cancel()

    async def wait_closed(self) -> None:
        """Return at once: each connection is ended by its protocol."""


async def _finish(opening: Coroutine[object, None, object], ready: Awaitable[object]) -> None:
    """Continue a coroutine that was started by hand, once the future that it waits for is done."""
    await ready
    with suppress(StopIteration, OSError):
        opening.send(None)
