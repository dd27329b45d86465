"""How requests travel: over connections of our own; where they do not reach (TLS, no `httptools`), by httpx, whose API
stands over aiohttp's for async use.

httpx's own pool looks at every connection twice per request and stalls at some hundred of them.
"""

from __future__ import annotations

import ssl
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from webemu.agent_client.address import Address
from webemu.agent_client.concurrency import AT_ONCE

if TYPE_CHECKING:
    from webemu.agent_client.async_pool import Wire
    from webemu.agent_client.blocking import Line
    from webemu.agent_client.http1 import Writer
    from webemu.agent_client.raw_response import Received


class Closes(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=Closes)

HEADER_BYTES = 1 << 20
"""Recorded headers outgrow aiohttp's limits of 8 KB each and 128 in all."""


def certificates(server: Address) -> ssl.SSLContext | bool:
    """What to verify a server with; loading the authorities costs 20 ms, so only where there is TLS."""
    return httpx.create_ssl_context() if server.url.startswith("https:") else False


class PooledTransport(AiohttpTransport):
    """One aiohttp session without cookies, opened inside the running event loop on first use."""

    def __init__(self, server: Address) -> None:
        super().__init__(verify=certificates(server))
        self._path = server.path

    def get_client(self) -> aiohttp.ClientSession:
        local = aiohttp.UnixConnector(self._path, limit=AT_ONCE) if self._path else None
        session = aiohttp.ClientSession(
            connector=local or aiohttp.TCPConnector(limit=AT_ONCE, ssl=self.ssl_context),
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=HEADER_BYTES,
            max_field_size=HEADER_BYTES,
            max_headers=1 << 14,
        )
        # aiohttp asks again by itself where a kept connection is lost: that hides weather, and who asks retries anyway.
        session._retry_connection = False
        return session

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return await super().handle_async_request(request)
        except aiohttp.ClientError as error:  # the few that httpx_aiohttp does not translate
            raise httpx.RemoteProtocolError(str(error), request=request) from error


def wire(server: Address, headers: Mapping[str, str], timeout: float) -> Wire | None:
    """Connections of our own for an event loop, where they reach."""
    try:
        from webemu.agent_client.async_pool import Wire  # httptools is not everywhere

        made = Wire(server, headers, timeout)
        return made if made.is_plain else None
    except (ImportError, httpx.InvalidURL):  # what is wrong with an address is told when it is asked
        return None


def lines(server: Address, headers: Mapping[str, str], timeout: float) -> Lines | None:
    """The same for threads."""
    try:
        from webemu.agent_client.blocking import Line
        from webemu.agent_client.http1 import Writer

        writer = Writer(server, headers)
    except (ImportError, httpx.InvalidURL):  # no `httptools`, or no `poll`
        return None
    return Lines(lambda: Line(server, writer, timeout), writer) if writer.is_plain else None


class PerThread(Generic[T]):
    """One for each thread that asks; closed when the thread ends, or with all."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._seats: weakref.WeakSet[_Seat[T]] = weakref.WeakSet()
        self._local = threading.local()
        self._lock = threading.Lock()

    def mine(self) -> T:
        """The calling thread's."""
        seat: _Seat[T] | None = getattr(self._local, "seat", None)
        if seat is None:
            seat = self._local.seat = _Seat(self._make())
            with self._lock:
                self._seats.add(seat)
        return seat.held

    def close(self) -> None:
        with self._lock:
            for seat in self._seats:
                seat.close()


class _Seat(Generic[T]):
    """What a thread holds."""

    def __init__(self, held: T) -> None:
        self.held = held
        self.close = weakref.finalize(self, held.close)


class Lines:
    """A connection of our own for each thread."""

    def __init__(self, make: Callable[[], Line], writer: Writer) -> None:
        self._each, self.bears = PerThread(make), writer.bears

    def ask(self, path: str, body: bytes | None) -> Received | httpx.Response:
        """The answer. Raises httpx.RequestError."""
        return self._each.mine().ask(path, body)

    def close(self) -> None:
        self._each.close()


class ThreadClients:
    """An `httpx.Client` per thread, so that no pool holds more than one connection; a given transport is shared."""

    def __init__(self, server: Address, transport: httpx.BaseTransport | None) -> None:
        self._server, self._verify = server, certificates(server)
        self._shared = httpx.Client(transport=transport) if transport else None
        self._each = PerThread(self._made)

    def send(self, request: httpx.Request) -> httpx.Response:
        """Raises httpx.RequestError."""
        return (self._shared or self._each.mine()).send(request)

    def close(self) -> None:
        self._each.close()
        if self._shared:
            self._shared.close()

    def _made(self) -> httpx.Client:
        local = httpx.HTTPTransport(uds=self._server.path) if self._server.path else None
        return httpx.Client(transport=local, verify=self._verify, trust_env=False)
