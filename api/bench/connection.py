"""One keep-alive connection of the load: plain, or a TLS tunnel through the server as a proxy."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import Protocol

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

LOST, NO_ANSWER, NOT_CONNECTED, NOT_HTTP = 1, 2, 3, 4
"""Failures in place of a status: connection lost before the answer, no answer in time, no connection, no HTTP."""
ANSWER_TIMEOUT_SECONDS = 60.0
"""Seconds until an answer counts as missing."""
RETRY_SECONDS = 0.1
"""Seconds between two attempts to open a connection."""


class ConnectionOwner(Protocol):
    """Run that a connection belongs to, as `webemu.api.bench.load` has it: it hands out requests and takes answers."""

    is_running: bool
    """True while requests are sent."""
    address: tuple[str, int]
    """Host and port of the server."""
    tls_context: ssl.SSLContext | None
    """Context of the tunnels; None for plain connections."""

    def count_received(self, size: int) -> None:
        """Count bytes that arrived."""

    def forget_idle(self, connection: LoadConnection) -> None:
        """Stop using a connection that was closed while it was idle."""

    def record_answer(self, request_index: int, status: int, due: float, now: float) -> None:
        """Record the answer, or the failure, of a request that was due at a time (perf_counter)."""

    def record_unopened(self, connection: LoadConnection) -> bool:
        """Record that a connection could not be opened; return False if opening should be given up."""

    def assign_next(self, connection: LoadConnection) -> None:
        """Give a free connection its next request, or keep it idle."""


class LoadConnection(asyncio.Protocol):
    """Connection that sends one request at a time and reopens itself after it was closed."""

    def __init__(self, load: ConnectionOwner, host: str) -> None:
        self.load, self.host = load, host
        self._request_index = -1
        self._due_at = self._sent_at = 0.0
        self._failure = LOST
        self._transport: asyncio.Transport | None = None
        self._open_task: asyncio.Task[None] | None = None

    def send(self, request_index: int, message: bytes, due: float) -> None:
        """Send a request, or report it as lost if the connection was closed while idle.

        `request_index` is its index in the plan and `due` the time (perf_counter) it was due.
        """
        if self._transport is None:  # closed while it was idle
            self._request_index, self._due_at = request_index, due
            self._report_lost(LOST)
            return
        self._request_index, self._due_at = request_index, due
        self._sent_at = time.perf_counter()
        self._transport.write(message)

    def check_timeout(self, now: float) -> None:
        """Abort the connection if its answer is later than `ANSWER_TIMEOUT_SECONDS`."""
        if self._request_index >= 0 and self._transport is not None and now - self._sent_at > ANSWER_TIMEOUT_SECONDS:
            self._failure = NO_ANSWER
            self._transport.abort()

    def close(self) -> None:
        """Close the connection and stop reopening it."""
        if self._open_task is not None:
            self._open_task.cancel()
        if self._transport is not None:
            self._transport.abort()

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a new response parser (asyncio)."""
        self._transport = transport  # type: ignore[assignment]
        self._parser = HttpResponseParser(self)
        self._failure = LOST

    def data_received(self, data: bytes) -> None:
        """Feed the parser; abort on bytes that are not HTTP (asyncio)."""
        self.load.count_received(len(data))
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._failure = NOT_HTTP
            if self._transport is not None:
                self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the pending request as lost and reopen the connection while the run lasts (asyncio)."""
        self._transport = None
        if not self.load.is_running:
            return
        if self._request_index >= 0:
            self._report_lost(self._failure)
        else:
            self.load.forget_idle(self)
            self._reopen()

    def _report_lost(self, status: int) -> None:
        request_index, self._request_index = self._request_index, -1
        self.load.record_answer(request_index, status, self._due_at, time.perf_counter())
        self._reopen()

    def _reopen(self) -> None:
        self._open_task = asyncio.get_running_loop().create_task(self._retry_opening())

    async def _retry_opening(self) -> None:
        while self.load.is_running:
            try:
                await open_connection(self)
            except OSError:
                if not self.load.record_unopened(self):
                    return
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self.load.assign_next(self)
                return

    # Called by the parser

    def on_message_complete(self) -> None:
        """Report the answer and become free again (httptools)."""
        status = self._parser.get_status_code()
        if (
            status < 200 or self._request_index < 0
        ):  # a 1xx, which a final answer follows, or bytes that no request caused
            return
        request_index, self._request_index = self._request_index, -1
        self.load.record_answer(request_index, status, self._due_at, time.perf_counter())
        if self._parser.should_keep_alive():
            self.load.assign_next(self)
        elif self._transport is not None:
            self._transport.close()


class _ConnectReply(asyncio.Protocol):
    """Protocol that waits for the answer to CONNECT."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        if b"\r\n\r\n" in self._received and not self.answer.done():
            self.answer.set_result(self._received)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.answer.done():
            self.answer.set_exception(ConnectionError("the connection ended before CONNECT was answered"))


async def open_connection(connection: LoadConnection) -> None:
    """Open the connection, through a TLS tunnel if the load has certificates. Raises OSError."""
    loop, load = asyncio.get_running_loop(), connection.load
    address = load.address
    if load.tls_context is None:
        await loop.create_connection(lambda: connection, *address)
        return
    transport, connect_reply = await loop.create_connection(_ConnectReply, *address)
    transport.write(f"CONNECT {connection.host}:443 HTTP/1.1\r\nHost: {connection.host}:443\r\n\r\n".encode())
    reply = await connect_reply.answer
    if reply[9:12] != b"200":
        transport.abort()
        raise ConnectionError(f"CONNECT to {connection.host} was answered with {reply[9:12].decode('latin-1')}")
    tls_transport = await loop.start_tls(transport, connection, load.tls_context, server_hostname=connection.host)
    if tls_transport is None:
        raise ConnectionError(f"the connection to {connection.host} was lost in its handshake")
    connection.connection_made(tls_transport)
