"""One keep-alive connection of the load: plain, or a TLS tunnel through the server as a proxy."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

if TYPE_CHECKING:
    from webemu.api.bench.load import Load

LOST, SILENT, CONNECTING, GARBLED = 1, 2, 3, 4
"""Failures in place of a status: connection lost before the answer, no answer in time, no connection, no HTTP."""
PATIENCE = 60.0
"""Seconds until an answer counts as missing."""
PAUSE = 0.1
"""Seconds between two attempts to open a connection."""


class Wire(asyncio.Protocol):
    """Connection that sends one request at a time and reopens itself after it was closed."""

    def __init__(self, load: Load, host: str) -> None:
        self.load, self.host = load, host
        self._number = -1
        self._due = self._since = 0.0
        self._is_keeping = True
        self._failure = LOST
        self._transport: asyncio.Transport | None = None
        self._opening: asyncio.Task[None] | None = None

    def send(self, number: int, message: bytes, due: float) -> None:
        """Send a request, or report it as lost if the connection was closed while idle.

        `number` is its index in the plan and `due` the time (perf_counter) it was due.
        """
        if self._transport is None:  # closed while it was idle
            self._number, self._due = number, due
            self._lost(LOST)
            return
        self._number, self._due = number, due
        self._since = time.perf_counter()
        self._transport.write(message)

    def look(self, now: float) -> None:
        """Abort the connection if its answer is later than `ANSWER_TIMEOUT_SECONDS`."""
        if self._number >= 0 and self._transport is not None and now - self._since > PATIENCE:
            self._failure = SILENT
            self._transport.abort()

    def close(self) -> None:
        """Close the connection and stop reopening it."""
        if self._opening is not None:
            self._opening.cancel()
        if self._transport is not None:
            self._transport.abort()

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a new response parser (asyncio)."""
        self._transport = transport  # type: ignore[assignment]
        self._parser = HttpResponseParser(self)
        self._is_keeping, self._failure = True, LOST

    def data_received(self, data: bytes) -> None:
        """Feed the parser; abort on bytes that are not HTTP (asyncio)."""
        self.load.samples.received += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._failure = GARBLED
            if self._transport is not None:
                self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the pending request as lost and reopen the connection while the run lasts (asyncio)."""
        self._transport = None
        if not self.load.running:
            return
        if self._number >= 0:
            self._lost(self._failure)
        else:
            self.load.dropped(self)
            self._reopen()

    def _lost(self, status: int) -> None:
        number, self._number = self._number, -1
        self.load.answered(number, status, self._due, time.perf_counter())
        self._reopen()

    def _reopen(self) -> None:
        self._opening = asyncio.get_running_loop().create_task(self._again())

    async def _again(self) -> None:
        while self.load.running:
            try:
                await opened(self)
            except OSError:
                if not self.load.unopened(self):
                    return
                await asyncio.sleep(PAUSE)
            else:
                self.load.take(self)
                return

    # Called by the parser

    def on_message_complete(self) -> None:
        """Report the answer and become free again (httptools)."""
        status = self._parser.get_status_code()
        if status < 200 or self._number < 0:  # a 1xx, which a final answer follows, or bytes that no request caused
            return
        number, self._number = self._number, -1
        self.load.answered(number, status, self._due, time.perf_counter())
        if self._parser.should_keep_alive():
            self.load.take(self)
        else:
            self._is_keeping = False
            if self._transport is not None:
                self._transport.close()


class _Head(asyncio.Protocol):
    """Protocol that waits for the answer to CONNECT."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._read = b""

    def data_received(self, data: bytes) -> None:
        self._read += data
        if b"\r\n\r\n" in self._read and not self.answer.done():
            self.answer.set_result(self._read)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.answer.done():
            self.answer.set_exception(ConnectionError("the connection ended before CONNECT was answered"))


async def opened(wire: Wire) -> None:
    """Open the connection, through a TLS tunnel if the load has certificates. Raises OSError."""
    loop, load = asyncio.get_running_loop(), wire.load
    where = load.plan.host, load.plan.port
    if load.trusted is None:
        await loop.create_connection(lambda: wire, *where)
        return
    transport, head = await loop.create_connection(_Head, *where)
    transport.write(f"CONNECT {wire.host}:443 HTTP/1.1\r\nHost: {wire.host}:443\r\n\r\n".encode())
    said = await head.answer
    if said[9:12] != b"200":
        transport.abort()
        raise ConnectionError(f"CONNECT to {wire.host} was answered with {said[9:12].decode('latin-1')}")
    secure = await loop.start_tls(transport, wire, load.trusted, server_hostname=wire.host)
    if secure is None:
        raise ConnectionError(f"the connection to {wire.host} was lost in its handshake")
    wire.connection_made(secure)
