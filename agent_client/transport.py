"""Chooses how requests travel: over our own connections, or, where those do not work (TLS, no `httptools`), over
httpx.

For async use, httpx runs on aiohttp's connection pool, because httpx's own pool examines every connection twice per
request and stalls at some hundred of them.
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
    """Anything that can be closed."""

    def close(self) -> None: ...


T = TypeVar("T", bound=Closes)

HEADER_BYTES = 1 << 20
"""Maximum size of response headers: recorded headers exceed aiohttp's limits of 8 KB each and 128 in all."""


def certificates(server: Address) -> ssl.SSLContext | bool:
    """Return what to verify a server with. Loading the authorities takes 20 ms, so it is only done for TLS."""
    return httpx.create_ssl_context() if server.url.startswith("https:") else False


class PooledTransport(AiohttpTransport):
    """An httpx transport over one aiohttp session without cookies, opened in the running event loop on first use."""

    def __init__(self, server: Address) -> None:
        super().__init__(verify=certificates(server))
        self._path = server.path

    def get_client(self) -> aiohttp.ClientSession:
        """Return a new aiohttp session; httpx_aiohttp calls it once."""
        local = aiohttp.UnixConnector(self._path, limit=AT_ONCE) if self._path else None
        session = aiohttp.ClientSession(
            connector=local or aiohttp.TCPConnector(limit=AT_ONCE, ssl=self.ssl_context),
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=HEADER_BYTES,
            max_field_size=HEADER_BYTES,
            max_headers=1 << 14,
        )
        # aiohttp's own retry on a lost connection would hide injected faults; the client retries anyway.
        session._retry_connection = False
        return session

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; all errors are those of httpx."""
        try:
            return await super().handle_async_request(request)
        except aiohttp.ClientError as error:  # the few that httpx_aiohttp does not translate
            raise httpx.RemoteProtocolError(str(error), request=request) from error


def wire(server: Address, headers: Mapping[str, str], timeout: float) -> Wire | None:
    """Return our own connection pool for an event loop; None if it cannot reach the server."""
    try:
        from webemu.agent_client.async_pool import Wire  # httptools is not available everywhere

        made = Wire(server, headers, timeout)
        return made if made.is_plain else None
    except (ImportError, httpx.InvalidURL):  # an invalid address is reported by the first request
        return None


def lines(server: Address, headers: Mapping[str, str], timeout: float) -> Lines | None:
    """Return our own connections for threads; None if they cannot reach the server."""
    try:
        from webemu.agent_client.blocking import Line
        from webemu.agent_client.http1 import Writer

        writer = Writer(server, headers)
    except (ImportError, httpx.InvalidURL):  # no `httptools`, or no `poll`
        return None
    return Lines(lambda: Line(server, writer, timeout), writer) if writer.is_plain else None


class PerThread(Generic[T]):
    """One resource per thread, closed when the thread ends or with all others."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._seats: weakref.WeakSet[_Seat[T]] = weakref.WeakSet()
        self._local = threading.local()
        self._lock = threading.Lock()

    def mine(self) -> T:
        """Return the calling thread's resource, making it on first use."""
        seat: _Seat[T] | None = getattr(self._local, "seat", None)
        if seat is None:
            seat = self._local.seat = _Seat(self._make())
            with self._lock:
                self._seats.add(seat)
        return seat.held

    def close(self) -> None:
        """Close the resources of all threads."""
        with self._lock:
            for seat in self._seats:
                seat.close()


class _Seat(Generic[T]):
    """Holds the resource of one thread, and closes it when it is garbage-collected."""

    def __init__(self, held: T) -> None:
        self.held = held
        self.close = weakref.finalize(self, held.close)  # a thread-local value dies with its thread


class Lines:
    """Our own connections, one per thread."""

    def __init__(self, make: Callable[[], Line], writer: Writer) -> None:
        self._each, self.bears = PerThread(make), writer.bears

    def ask(self, path: str, body: bytes | None) -> Received | httpx.Response:
        """Return the response. Raises httpx.RequestError."""
        return self._each.mine().ask(path, body)

    def close(self) -> None:
        """Close the connections of all threads."""
        self._each.close()


class ThreadClients:
    """One `httpx.Client` per thread, so that no pool holds more than one connection; a transport that is passed in is
    shared.
    """

    def __init__(self, server: Address, transport: httpx.BaseTransport | None) -> None:
        self._server, self._verify = server, certificates(server)
        self._shared = httpx.Client(transport=transport) if transport else None
        self._each = PerThread(self._made)

    def send(self, request: httpx.Request) -> httpx.Response:
        """Return the response. Raises httpx.RequestError."""
        return (self._shared or self._each.mine()).send(request)

    def close(self) -> None:
        """Close the clients of all threads."""
        self._each.close()
        if self._shared:
            self._shared.close()

    def _made(self) -> httpx.Client:
        """Return the client of a new thread."""
        local = httpx.HTTPTransport(uds=self._server.path) if self._server.path else None
        return httpx.Client(transport=local, verify=self._verify, trust_env=False)
