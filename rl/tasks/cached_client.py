"""A caching client for the filters: they see the web as the server shows it, and each request is sent once."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from webemu.agent_client import AsyncClient
from webemu.agent_client.errors import WebError
from webemu.agent_client.types import View
from webemu.emulator.session import encode_inline_policy

T = TypeVar("T")

PLAIN_SETTING = "plain"
"""Name of the setting without a session policy."""
MAX_RESULTS = 50
"""Number of results per search."""
CACHE_SIZE = 4096
"""Number of pages in the cache, and of searches."""
MAX_CONCURRENCY = 32
"""Number of requests in flight."""


class Result(NamedTuple):
    """A search result."""

    url: str
    title: str
    snippet: str = ""


class PageText(NamedTuple):
    """A page as a client sees it."""

    url: str
    """The URL after redirects."""
    title: str
    text: str
    """Content in the requested view."""


class _RequestCache(Generic[T]):
    """Answers of one kind of request. The oldest answer leaves first."""

    def __init__(self, semaphore: asyncio.Semaphore) -> None:
        """Make an empty cache. `semaphore` limits the number of requests in flight."""
        self._semaphore = semaphore
        self._answers: OrderedDict[tuple[str, ...], asyncio.Future[T]] = OrderedDict()

    async def get_or_fetch(self, key: tuple[str, ...], fetch: Callable[[], Awaitable[T]]) -> T:
        """Return the cached answer of a request, or wait for the one that is being fetched."""
        # The future is stored before it is done, so that concurrent callers share one request.
        if key not in self._answers:
            self._answers[key] = asyncio.ensure_future(self._fetch(fetch))
            if len(self._answers) > CACHE_SIZE:
                self._answers.popitem(last=False)
        return await self._answers[key]

    async def _fetch(self, fetch: Callable[[], Awaitable[T]]) -> T:
        """Send a request as soon as fewer than `MAX_CONCURRENCY` are in flight."""
        async with self._semaphore:
            return await fetch()

    async def cancel(self) -> None:
        """Cancel the requests in flight and wait for their end."""
        for future in self._answers.values():
            future.cancel()
        await asyncio.gather(*self._answers.values(), return_exceptions=True)


class CachedClient:
    """A client that caches pages and results, with one session per setting. It belongs to one event loop.

    async with CachedClient("http://127.0.0.1:8800") as web:
        results = await web.search("capital of Iceland")
    """

    def __init__(self, server: str, settings: Mapping[str, Mapping[str, object]] | None = None) -> None:
        """Connect to a server. `settings` holds session policies by name (docs/sessions.md), in addition to the plain
        one.
        """
        policies: dict[str, Mapping[str, object]] = {PLAIN_SETTING: {}, **(settings or {})}
        self._clients = {
            name: AsyncClient(server, session=_encode_session(policy)) for name, policy in policies.items()
        }
        semaphore = asyncio.Semaphore(MAX_CONCURRENCY)
        self._pages = _RequestCache[PageText | None](semaphore)
        self._searches = _RequestCache[tuple[Result, ...]](semaphore)

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings, the plain one first."""
        return tuple(self._clients)

    async def get_page(self, url: str, view: View = "text") -> PageText | None:
        """Return the latest page at a URL; None if the server has none, or none with text."""

        async def fetch() -> PageText | None:
            try:
                answer = await self._clients[PLAIN_SETTING].open(url, view, length=0)
            except WebError:
                return None
            return PageText(answer.final_url, answer.title, answer.content)

        return await self._pages.get_or_fetch((view, url), fetch)

    async def search(self, query: str, setting: str = PLAIN_SETTING) -> tuple[Result, ...]:
        """Return the first `MAX_RESULTS` results."""

        async def fetch() -> tuple[Result, ...]:
            answer = await self._clients[setting].search(query, size=MAX_RESULTS)
            return tuple(Result(result.url, result.title, result.snippet) for result in answer.results)

        return await self._searches.get_or_fetch((setting, query), fetch)

    async def close(self) -> None:
        """Cancel requests in flight and close the connections."""
        await self._pages.cancel()
        await self._searches.cancel()
        for client in self._clients.values():
            await client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _encode_session(policy: Mapping[str, object]) -> str | None:
    """Return a policy encoded as the name of its session; None for the empty policy."""
    if not policy:
        return None
    return encode_inline_policy(json.dumps(policy).encode())
