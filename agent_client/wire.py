"""Connections of our own to one server, over plain HTTP/1.1: a fraction of what a request costs through httpx.

No TLS, no proxies, no redirects, no cookies, and nothing is ever sent twice. Errors are httpx's, which is asked itself
for whatever is not plain (`Wire.bears`). Of one event loop at a time.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

CONNECTIONS = 512
"""Open at once; further requests wait their turn."""
HEADER_BYTES = 1 << 20
"""Of an answer's head: recorded headers go along in it."""
IDLE = 15.0
"""Seconds after which a connection is not used again: servers close theirs, and a request on its way would be lost."""
LONGEST = 60_000
"""Characters of a target. httpx has words for longer ones."""
_PLAIN = re.compile(r"/(?!.*/\.)[\w/?&=%+.~:,;@!$'()*-]*", re.ASCII)
_UNSEEN = re.compile(r"[^ -~]")
Fields = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Received:
    """An answer; has of `httpx.Response` what is read of answers here."""

    url: str
    status_code: int
    fields: Fields
    content: bytes

    @property
    def headers(self) -> httpx.Headers:
        return httpx.Headers(self.fields)

    def json(self) -> Any:
        return json.loads(self.content)


class Wire:
    """As many connections as there are requests at once, up to a bound."""

    def __init__(self, base: httpx.URL, headers: Mapping[str, str], timeout: float) -> None:
        self._origin, self._prefix = str(base.copy_with(raw_path=b"/")).rstrip("/"), base.raw_path.decode().rstrip("/")
        self._host, self._port, self._timeout = base.host, base.port or 80, timeout
        lines = [f"{name}: {value}\r\n" for name, value in {"Host": base.netloc.decode(), **headers}.items()]
        self._head = " HTTP/1.1\r\n" + "".join(lines)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: list[_Connection] = []
        self._busy: set[_Connection] = set()

    @staticmethod
    def of(base_url: str, headers: Mapping[str, str], timeout: float) -> Wire | None:
        """None where the server cannot be asked so."""
        base = httpx.URL(base_url)
        is_plain = base.scheme == "http" and base.host and not base.userinfo and not base.query and not base.fragment
        return Wire(base, headers, timeout) if is_plain and not any(map(_UNSEEN.search, headers.values())) else None

    @staticmethod
    def bears(path: str) -> bool:
        """Whether a path can be asked for as it is written."""
        return len(path) < LONGEST and _PLAIN.fullmatch(path) is not None

    async def ask(self, path: str, body: bytes | None) -> Received | httpx.Response:
        """The answer. Raises httpx.RequestError."""
        target, loop = self._prefix + path, asyncio.get_running_loop()
        if loop is not self._loop:  # the connections of another went with it
            self._loop, self._turns, self._idle = loop, _Turns(CONNECTIONS), []
        async with self._turns:
            connection = self._rested() or await self._opened()
            self._busy.add(connection)
            try:
                status, fields, content = await connection.ask(self._request(target, body))
            except BaseException:  # also where nobody waits any more
                connection.close()
                raise
            finally:
                self._busy.discard(connection)
            if connection.is_open:
                connection.since = loop.time()
                self._idle.append(connection)
        if any(name.lower() == b"content-encoding" for name, _ in fields):  # though none was asked for
            return httpx.Response(status, headers=fields, content=content, request=httpx.Request("GET", self._origin))
        return Received(self._origin + target, status, fields, content)

    def close(self) -> None:
        for connection in [*self._idle, *self._busy]:
            connection.close()
        self._idle.clear()

    def _request(self, target: str, body: bytes | None) -> bytes:
        if body is None:
            return f"GET {target}{self._head}\r\n".encode()
        return f"POST {target}{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def _rested(self) -> _Connection | None:
        """The one that was used last."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and asyncio.get_running_loop().time() - connection.since < IDLE:
                return connection
            connection.close()
        return None

    async def _opened(self) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout):
                opening = loop.create_connection(lambda: _Connection(loop, self._timeout), self._host, self._port)
                return (await opening)[1]
        except TimeoutError as error:
            raise httpx.ConnectTimeout(f"no connection within {self._timeout:g} seconds") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error


class _Turns:
    """`asyncio.Semaphore` without its search through all who wait at every release."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was given at the same moment
                self._pass_on()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class _Connection(asyncio.Protocol):
    """One request after the other."""

    def __init__(self, loop: asyncio.AbstractEventLoop, timeout: float) -> None:
        self._loop, self._timeout = loop, timeout
        self._parser = HttpResponseParser(self)
        self._waiting: asyncio.Future[tuple[int, Fields, bytes]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._unsent = 0
        self.on_message_begin()
        self.is_open = False
        self.since = 0.0
        """When it was used last."""

    def ask(self, request: bytes) -> asyncio.Future[tuple[int, Fields, bytes]]:
        """Status, headers and body to come, or an error of httpx."""
        self._waiting = waiting = self._loop.create_future()
        self._transport.write(request)
        self._deadline = self._loop.time() + self._timeout
        if self._timer is None:
            self._timer = self._loop.call_at(self._deadline, self._look)
        return waiting

    def close(self) -> None:
        self._fail(httpx.ReadError("the connection was closed"))

    def _fail(self, error: httpx.RequestError) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)
        if self._timer is not None:
            self._timer.cancel()
        self.is_open = False
        self._transport.abort()

    def _look(self) -> None:
        """One timer for many requests: it goes on to the deadline of the one that is under way."""
        self._timer = None
        if self._waiting is None:
            return
        unsent, self._unsent = self._unsent, self._transport.get_write_buffer_size()
        if self._unsent < unsent:
            self._deadline = self._loop.time() + self._timeout
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._look)
        else:
            self._fail(httpx.ReadTimeout(f"nothing came for {self._timeout:g} seconds"))

    # Of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        self._deadline = self._loop.time() + self._timeout
        if self._waiting is None:
            self.close()  # nobody asked
            return
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail(httpx.RemoteProtocolError(f"what came is no answer of HTTP/1.1: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._waiting is None:
            return
        if exc is not None:
            self._fail(httpx.ReadError(str(exc)))
        elif self._ends_with_it():
            self._answer(self._parser.get_status_code())
        else:
            self._fail(httpx.RemoteProtocolError("the connection ended before the answer had come in whole"))

    def _ends_with_it(self) -> bool:
        """Whether the answer has no other end (RFC 9112, section 6.3)."""
        told = {name.lower() for name, _ in self._fields}
        return not self._is_head and not told & {b"content-length", b"transfer-encoding"}

    # Of the parser

    def on_message_begin(self) -> None:
        self._fields: Fields = []
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_head:  # what follows a body in pieces is of no use
            self._fields.append((name, value))
            self._size += len(name) + len(value)
            if self._size > HEADER_BYTES:
                raise ValueError("the head is too large")

    def on_headers_complete(self) -> None:
        self._is_head = False

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # others follow (RFC 9110, section 15.2)
            return
        self.is_open = self.is_open and self._parser.should_keep_alive()
        self._answer(status)

    def _answer(self, status: int) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting.done():  # more than was asked for
            self.close()
            return
        waiting.set_result((status, self._fields, b"".join(self._pieces)))
        if not self.is_open:
            self.close()
