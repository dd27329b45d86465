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
from webemu.agent_client.concurrency import MAX_CONCURRENT_REQUESTS

if TYPE_CHECKING:
    from webemu.agent_client.async_pool import AsyncConnectionPool
    from webemu.agent_client.blocking import BlockingConnection
    from webemu.agent_client.http1 import RequestWriter
    from webemu.agent_client.raw_response import RawResponse


class Closeable(Protocol):
    """Anything that can be closed."""

    def close(self) -> None: ...


T = TypeVar("T", bound=Closeable)

MAX_HEADER_BYTES = 1 << 20
"""Maximum size of response headers: recorded headers exceed aiohttp's limits of 8 KB each and 128 in all."""


def tls_verification(server: Address) -> ssl.SSLContext | bool:
    """Return what to verify a server with. Loading the authorities takes 20 ms, so it is only done for TLS."""
    return httpx.create_ssl_context() if server.url.startswith("https:") else False


class PooledTransport(AiohttpTransport):
    """An httpx transport over one aiohttp session without cookies, opened in the running event loop on first use."""

    def __init__(self, server: Address) -> None:
        super().__init__(verify=tls_verification(server))
        self._path = server.path

    def get_client(self) -> aiohttp.ClientSession:
        """Return a new aiohttp session; httpx_aiohttp calls it once."""
        local = aiohttp.UnixConnector(self._path, limit=MAX_CONCURRENT_REQUESTS) if self._path else None
        session = aiohttp.ClientSession(
            connector=local or aiohttp.TCPConnector(limit=MAX_CONCURRENT_REQUESTS, ssl=self.ssl_context),
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
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


def open_async_pool(server: Address, headers: Mapping[str, str], timeout: float) -> AsyncConnectionPool | None:
    """Return our own connection pool for an event loop; None if it cannot reach the server."""
    try:
        from webemu.agent_client.async_pool import AsyncConnectionPool  # httptools is not available everywhere

        pool = AsyncConnectionPool(server, headers, timeout)
        return pool if pool.is_supported else None
    except (ImportError, httpx.InvalidURL):  # an invalid address is reported by the first request
        return None


def open_thread_connections(server: Address, headers: Mapping[str, str], timeout: float) -> ThreadConnections | None:
    """Return our own connections for threads; None if they cannot reach the server."""
    try:
        from webemu.agent_client.blocking import BlockingConnection
        from webemu.agent_client.http1 import RequestWriter

        writer = RequestWriter(server, headers)
    except (ImportError, httpx.InvalidURL):  # no `httptools`, or no `poll`
        return None
    return (
        ThreadConnections(lambda: BlockingConnection(server, writer, timeout), writer) if writer.is_supported else None
    )


class PerThread(Generic[T]):
    """One resource per thread, closed when the thread ends or with all others."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._slots: weakref.WeakSet[_ThreadSlot[T]] = weakref.WeakSet()
        self._local = threading.local()
        self._lock = threading.Lock()

    def current(self) -> T:
        """Return the calling thread's resource, making it on first use."""
        slot: _ThreadSlot[T] | None = getattr(self._local, "seat", None)
        if slot is None:
            slot = self._local.seat = _ThreadSlot(self._make())
            with self._lock:
                self._slots.add(slot)
        return slot.resource

    def close(self) -> None:
        """Close the resources of all threads."""
        with self._lock:
            for slot in self._slots:
                slot.close()


class _ThreadSlot(Generic[T]):
    """Holds the resource of one thread, and closes it when it is garbage-collected."""

    def __init__(self, resource: T) -> None:
        self.resource = resource
        self.close = weakref.finalize(self, resource.close)  # a thread-local value dies with its thread


class ThreadConnections:
    """Our own connections, one per thread."""

    def __init__(self, make: Callable[[], BlockingConnection], writer: RequestWriter) -> None:
        self._per_thread, self.accepts_target = PerThread(make), writer.accepts_target

    def send(self, path: str, body: bytes | None) -> RawResponse | httpx.Response:
        """Return the response. Raises httpx.RequestError."""
        return self._per_thread.current().send(path, body)

    def close(self) -> None:
        """Close the connections of all threads."""
        self._per_thread.close()


class ThreadClients:
    """One `httpx.Client` per thread, so that no pool holds more than one connection; a transport that is passed in is
    shared.
    """

    def __init__(self, server: Address, transport: httpx.BaseTransport | None) -> None:
        self._server, self._verify = server, tls_verification(server)
        self._shared = httpx.Client(transport=transport) if transport else None
        self._per_thread = PerThread(self._make_client)

    def send(self, request: httpx.Request) -> httpx.Response:
        """Return the response. Raises httpx.RequestError."""
        return (self._shared or self._per_thread.current()).send(request)

    def close(self) -> None:
        """Close the clients of all threads."""
        self._per_thread.close()
        if self._shared:
            self._shared.close()

    def _make_client(self) -> httpx.Client:
        """Return the client of a new thread."""
        local = httpx.HTTPTransport(uds=self._server.path) if self._server.path else None
        return httpx.Client(transport=local, verify=self._verify, trust_env=False)
