"""How requests travel: over connections of our own for async use, or where they do not reach (TLS, no `httptools`) by
httpx's API over aiohttp's; one connection per thread for sync use.

httpx's own pool looks at every connection twice per request and stalls at some hundred of them.
"""

from __future__ import annotations

import ssl
import threading
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

if TYPE_CHECKING:
    from agent_client.wire import Wire

CONNECTIONS = 512
"""Open connections of one `AsyncClient`; further requests wait their turn."""
HEADER_BYTES = 1 << 20
"""Recorded headers outgrow aiohttp's limits of 8 KB each and 128 in all."""


def certificates(base_url: str) -> ssl.SSLContext | bool:
    """What to verify a server with; loading the authorities costs 20 ms, so only where there is TLS."""
    return httpx.create_ssl_context() if base_url.startswith("https:") else False


class PooledTransport(AiohttpTransport):
    """One aiohttp session without cookies, opened inside the running event loop on first use."""

    def get_client(self) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS, ssl=self.ssl_context),
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


def wire(base_url: str, headers: Mapping[str, str], timeout: float) -> Wire | None:
    """Connections of our own, where they reach."""
    try:
        from agent_client.wire import Wire  # httptools is not everywhere

        return Wire.of(base_url, headers, timeout)
    except (ImportError, httpx.InvalidURL):  # what is wrong with an address is told when it is asked
        return None


class _Seat:
    """A thread's own client; closed when the thread ends or the seats are cleared."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.close = weakref.finalize(self, client.close)


class ThreadClients:
    """An `httpx.Client` per thread, so that no pool holds more than one connection; a given transport is shared."""

    def __init__(self, verify: ssl.SSLContext | bool, transport: httpx.BaseTransport | None) -> None:
        self._verify = verify
        self._shared = _Seat(httpx.Client(transport=transport)) if transport else None
        self._seats: weakref.WeakSet[_Seat] = weakref.WeakSet()
        self._local = threading.local()
        self._lock = threading.Lock()

    def mine(self) -> httpx.Client:
        """The calling thread's client."""
        seat: _Seat | None = self._shared or getattr(self._local, "seat", None)
        if seat is None:
            seat = self._local.seat = _Seat(httpx.Client(verify=self._verify, trust_env=False))
            with self._lock:
                self._seats.add(seat)
        return seat.client

    def close(self) -> None:
        with self._lock:
            for seat in [*self._seats, self._shared]:
                if seat:
                    seat.close()
