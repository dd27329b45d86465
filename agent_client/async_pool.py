"""Our own connections to one server, over TCP or a Unix socket, at a fraction of the cost of a request through httpx.

No proxies, and no request is ever sent twice. Errors are those of httpx, which also handles every request that is not
plain HTTP. For one event loop at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

import httpx

from webemu.agent_client.address import Address
from webemu.agent_client.concurrency import ConcurrencyLimiter
from webemu.agent_client.http1 import MAX_IDLE_SECONDS, RequestWriter, ResponseReader
from webemu.agent_client.raw_response import HeaderList, RawResponse


class AsyncConnectionPool:
    """A pool with as many connections as there are concurrent requests, up to a limit."""

    def __init__(self, server: Address, headers: Mapping[str, str], timeout: float) -> None:
        self._server, self._timeout = server, timeout
        self._writer = RequestWriter(server, headers)
        self.is_supported, self.accepts_target = self._writer.is_supported, self._writer.accepts_target
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: list[_Connection] = []
        self._busy: set[_Connection] = set()

    async def send(self, path: str, body: bytes | None) -> RawResponse | httpx.Response:
        """Return the response. Raises httpx.RequestError."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # connections of another loop ended with it
            self._loop, self._limiter, self._idle = loop, ConcurrencyLimiter(), []
        async with self._limiter:
            connection = self._pop_idle() or await self._connect()
            self._busy.add(connection)
            try:
                status, fields, content = await connection.send(self._writer.encode_request(path, body))
            except BaseException:  # cancellation too: a late response must not answer the next request
                connection.close()
                raise
            finally:
                self._busy.discard(connection)
            if connection.is_open:
                connection.last_used = loop.time()
                self._idle.append(connection)
        return self._writer.build_response(path, status, fields, content)

    async def close(self) -> None:
        """Close all connections; running requests fail."""
        for connection in [*self._idle, *self._busy]:
            connection.close()
        self._idle.clear()

    def _pop_idle(self) -> _Connection | None:
        """Return the idle connection that was used last; None if there is none that is fresh."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and asyncio.get_running_loop().time() - connection.last_used < MAX_IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def _connect(self) -> _Connection:
        """Return a new connection. Raises httpx.ConnectTimeout or httpx.ConnectError."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout):
                factory = partial(_Connection, loop, self._timeout)
                if self._server.path:
                    return (await loop.create_unix_connection(factory, self._server.path))[1]
                return (await loop.create_connection(factory, self._writer.host, self._writer.port))[1]
        except TimeoutError as error:
            raise httpx.ConnectTimeout(f"no connection within {self._timeout:g} seconds") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error


class _Connection(ResponseReader, asyncio.Protocol):
    """A connection that carries one request after another."""

    def __init__(self, loop: asyncio.AbstractEventLoop, timeout: float) -> None:
        super().__init__()
        self._loop, self._timeout = loop, timeout
        self._waiting: asyncio.Future[tuple[int, HeaderList, bytes]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._unsent = 0
        self.last_used = 0.0
        """Loop time at which it was last used."""

    def send(self, request: bytes) -> asyncio.Future[tuple[int, HeaderList, bytes]]:
        """Send a request; return the future of status, headers and body, whose exception is an httpx error."""
        self._waiting = waiting = self._loop.create_future()
        self._transport.write(request)
        self._deadline = self._loop.time() + self._timeout
        if self._timer is None:
            self._timer = self._loop.call_at(self._deadline, self._check_deadline)
        return waiting

    def close(self) -> None:
        """Close the connection; a running request fails."""
        self._fail(httpx.ReadError("the connection was closed"))

    def _fail(self, error: httpx.RequestError) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)
        if self._timer is not None:
            self._timer.cancel()
        self.is_open = False
        self._transport.abort()

    def _check_deadline(self) -> None:
        """Check the deadline. One timer serves many requests: it is renewed to the deadline of the running one."""
        self._timer = None
        if self._waiting is None:
            return
        unsent, self._unsent = self._unsent, self._transport.get_write_buffer_size()
        if self._unsent < unsent:  # the server is still reading the request: that is progress too
            self._deadline = self._loop.time() + self._timeout
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._check_deadline)
        else:
            self._fail(httpx.ReadTimeout(f"no data for {self._timeout:g} seconds"))

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._deadline = self._loop.time() + self._timeout
        if self._waiting is None:
            self.close()  # data without a request
            return
        try:
            self.feed(data)
        except httpx.RemoteProtocolError as error:
            self._fail(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._waiting is None:
            return
        try:
            if exc is not None:
                raise httpx.ReadError(str(exc)) from exc
            self.feed_end()
        except httpx.RequestError as error:
            self._fail(error)

    # Callback of the parser

    def on_response(self, status: int, fields: HeaderList, content: bytes) -> None:
        """Complete the running request; a response that was not requested closes the connection."""
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting.done():  # a response that was not requested
            self.close()
            return
        waiting.set_result((status, fields, content))
        if not self.is_open:
            self.close()
