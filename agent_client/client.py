"""The two clients, `Client` and `AsyncClient`, with the same methods. `calls` builds requests, `retry` decides on
retries.

A `Client` may be shared by threads (each has its own connection); an `AsyncClient` belongs to one event loop. Both
reach a server by its address, `http://host:port` or `unix:///path`, or an ASGI application in this process without a
socket.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

import httpx

from webemu.agent_client import calls
from webemu.agent_client.address import Address, parse_address
from webemu.agent_client.asgi import ASGI_ADDRESS, Application, AsgiTransport
from webemu.agent_client.asgi_thread import ThreadedAsgiTransport
from webemu.agent_client.calls import ApiCall
from webemu.agent_client.errors import ClientError, InfrastructureError
from webemu.agent_client.responses import Response
from webemu.agent_client.retry import RetryPolicy, connection_error
from webemu.agent_client.transport import (
    PooledTransport,
    ThreadClients,
    ThreadConnections,
    open_async_pool,
    open_thread_connections,
)
from webemu.agent_client.types import FindAnswer, Health, PageAnswer, RawAnswer, SearchAnswer, SnippetStyle, View

if TYPE_CHECKING:
    from webemu.agent_client.async_pool import AsyncConnectionPool

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8800"
"""Address of a server started with default settings."""

TOKEN_VARIABLE = "WEBEMU_ADMIN_TOKEN"
"""Variable with the token of the trainer. Clients without a session send it; an agent's must not see it."""


class _BaseClient:
    """Settings shared by both clients: server, headers, timeout and retries."""

    def __init__(self, server: Address, timeout: float, retries: int, session: str | None) -> None:
        self.server = server
        """Address of the server."""
        self._retry_policy = RetryPolicy(retries)
        # No limit on waiting for a free connection: a burst of requests is not a failure.
        self._timeout = httpx.Timeout(timeout, pool=None)
        self._headers = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "webemu-client"}
        if session is not None:
            self._headers["X-Webemu-Session"] = session
        elif token := os.environ.get(TOKEN_VARIABLE):
            self._headers["Authorization"] = f"Bearer {token}"

    def _build_request(self, call: ApiCall[object]) -> httpx.Request:
        return call.to_request(self.server.url, self._headers, self._timeout)


class Client(_BaseClient):
    """Synchronous client of the emulated web. Thread-safe.

    with Client("http://127.0.0.1:8800") as web:
        page = web.open(web.search("river port").results[0].url)
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        timeout: float = 30,
        retries: int = 5,
        session: str | None = None,
        transport: httpx.BaseTransport | None = None,
        app: Application | None = None,
    ) -> None:
        """Create a client; nothing is sent yet. Raises ValueError if `base_url` is not an address.

        `timeout` is in seconds without data, `retries` the number of repeated attempts, `session` the value of
        `X-Webemu-Session`, and `app` an ASGI application to call instead of `base_url`.
        """
        super().__init__(parse_address(base_url) if app is None else ASGI_ADDRESS, timeout, retries, session)
        self._own_transport: ThreadConnections | ThreadedAsgiTransport | None = None
        if app is not None:
            self._own_transport = ThreadedAsgiTransport(app, self._headers, timeout)
        elif transport is None:
            self._own_transport = open_thread_connections(self.server, self._headers, timeout)
        self._httpx_clients = ThreadClients(self.server, transport)

    def request(self, call: ApiCall[T]) -> T:
        """Send a call, again while that may help, and return its result. Raises WebError or InfrastructureError."""
        attempt = 0
        while True:
            try:
                return call.parse_response(self._send(call))
            except InfrastructureError as error:
                time.sleep(self._retry_policy.delay(self._build_request(call), attempt, error))
                attempt += 1

    def _send(self, call: ApiCall[object]) -> Response:
        try:
            if self._own_transport is not None and self._own_transport.accepts_target(call.path):
                return self._own_transport.send(call.path, call.body)
            return self._httpx_clients.send(self._build_request(call))
        except httpx.RequestError as error:
            raise connection_error(self.server, error) from error

    def search(
        self,
        query: str,
        page: int = 1,
        size: int = 10,
        as_of: str | None = None,
        engine: str | None = None,
        snippet: SnippetStyle | None = None,
    ) -> SearchAnswer:
        """Return one page of results; `engine` is one of the snapshot's rankers, such as `plain` or `hybrid`, `snippet`
        the length of the snippets.
        """
        return self.request(calls.search(query, page, size, as_of, engine, snippet))

    def search_many(
        self,
        queries: Sequence[str],
        page: int = 1,
        size: int = 10,
        as_of: str | None = None,
        engine: str | None = None,
        snippet: SnippetStyle | None = None,
    ) -> list[SearchAnswer | ClientError]:
        """Return one answer or error per query, in order, with few requests."""
        batches = calls.search_many(queries, page, size, as_of, engine, snippet)
        return [answer for batch in batches for answer in self.request(batch)]

    def open(
        self,
        url: str,
        format: View = "text",
        at: str | None = None,
        start: int = 0,
        length: int = 20000,
        line: int | None = None,
        lines: int | None = None,
        follow: bool = True,
    ) -> PageAnswer:
        """Return a window of a page: by lines if `line` or `lines` is given, else by characters.

        `at` selects the capture nearest to a time; `length=0` returns the whole page.
        """
        return self.request(calls.open_page(url, format, at, start, length, line, lines, follow))

    def open_many(
        self, urls: Sequence[str], format: View = "text", at: str | None = None, length: int = 20000
    ) -> list[PageAnswer | ClientError]:
        """Return one page or error per URL, in order."""
        batches = calls.open_many(urls, format, at, length)
        return [answer for batch in batches for answer in self.request(batch)]

    def raw(self, url: str, at: str | None = None) -> RawAnswer:
        """Return the recorded response, byte for byte; redirects are not followed."""
        return self.request(calls.open_raw(url, at))

    def find(self, url: str, pattern: str, at: str | None = None, limit: int = 20) -> FindAnswer:
        """Return the occurrences of a plain text in a page, ignoring case."""
        return self.request(calls.find(url, pattern, at, limit))

    def health(self) -> Health:
        """Return the server's status and snapshot."""
        return self.request(calls.health())

    def close(self) -> None:
        """Close all connections."""
        if self._own_transport is not None:
            self._own_transport.close()
        self._httpx_clients.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_BaseClient):
    """Asynchronous client of the emulated web, for hundreds of concurrent rollouts on one event loop.

    async with AsyncClient() as web:
        answer = await web.search("river port")
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        timeout: float = 30,
        retries: int = 5,
        session: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        app: Application | None = None,
    ) -> None:
        """Create a client; nothing is sent yet. Raises ValueError if `base_url` is not an address.

        The parameters are those of `Client`.
        """
        super().__init__(parse_address(base_url) if app is None else ASGI_ADDRESS, timeout, retries, session)
        self._own_transport: AsyncConnectionPool | AsgiTransport | None = None
        if app is not None:
            self._own_transport = AsgiTransport(app, self._headers, timeout)
        elif transport is None:
            self._own_transport = open_async_pool(self.server, self._headers, timeout)
        self._httpx_client = httpx.AsyncClient(transport=transport or PooledTransport(self.server), trust_env=False)

    async def request(self, call: ApiCall[T]) -> T:
        """Send a call, again while that may help, and return its result. Raises WebError or InfrastructureError."""
        attempt = 0
        while True:
            try:
                return call.parse_response(await self._send(call))
            except InfrastructureError as error:
                await asyncio.sleep(self._retry_policy.delay(self._build_request(call), attempt, error))
                attempt += 1

    async def _send(self, call: ApiCall[object]) -> Response:
        try:
            if self._own_transport is not None and self._own_transport.accepts_target(call.path):
                return await self._own_transport.send(call.path, call.body)
            return await self._httpx_client.send(self._build_request(call))
        except httpx.RequestError as error:
            raise connection_error(self.server, error) from error

    async def search(
        self,
        query: str,
        page: int = 1,
        size: int = 10,
        as_of: str | None = None,
        engine: str | None = None,
        snippet: SnippetStyle | None = None,
    ) -> SearchAnswer:
        """Return one page of results; `engine` is one of the snapshot's rankers, such as `plain` or `hybrid`, `snippet`
        the length of the snippets.
        """
        return await self.request(calls.search(query, page, size, as_of, engine, snippet))

    async def search_many(
        self,
        queries: Sequence[str],
        page: int = 1,
        size: int = 10,
        as_of: str | None = None,
        engine: str | None = None,
        snippet: SnippetStyle | None = None,
    ) -> list[SearchAnswer | ClientError]:
        """Return one answer or error per query, in order, with few requests."""
        batches = calls.search_many(queries, page, size, as_of, engine, snippet)
        return [answer for batch in batches for answer in await self.request(batch)]

    async def open(
        self,
        url: str,
        format: View = "text",
        at: str | None = None,
        start: int = 0,
        length: int = 20000,
        line: int | None = None,
        lines: int | None = None,
        follow: bool = True,
    ) -> PageAnswer:
        """Return a window of a page: by lines if `line` or `lines` is given, else by characters.

        `at` selects the capture nearest to a time; `length=0` returns the whole page.
        """
        return await self.request(calls.open_page(url, format, at, start, length, line, lines, follow))

    async def open_many(
        self, urls: Sequence[str], format: View = "text", at: str | None = None, length: int = 20000
    ) -> list[PageAnswer | ClientError]:
        """Return one page or error per URL, in order."""
        batches = calls.open_many(urls, format, at, length)
        return [answer for batch in batches for answer in await self.request(batch)]

    async def raw(self, url: str, at: str | None = None) -> RawAnswer:
        """Return the recorded response, byte for byte; redirects are not followed."""
        return await self.request(calls.open_raw(url, at))

    async def find(self, url: str, pattern: str, at: str | None = None, limit: int = 20) -> FindAnswer:
        """Return the occurrences of a plain text in a page, ignoring case."""
        return await self.request(calls.find(url, pattern, at, limit))

    async def health(self) -> Health:
        """Return the server's status and snapshot."""
        return await self.request(calls.health())

    async def close(self) -> None:
        """Close all connections."""
        if self._own_transport is not None:
            await self._own_transport.close()
        await self._httpx_client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
