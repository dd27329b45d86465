"""The web as the server shows it to whoever makes tasks: each thing is asked once, however many ask for it."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from webemu.agent_client import AsyncClient
from webemu.agent_client.errors import WebError
from webemu.agent_client.types import View

T = TypeVar("T")

PLAIN = "plain"
"""The setting without a session policy."""
DEPTH = 50
"""Results that are looked at."""
KEPT = 4096
"""Answers remembered."""
AT_ONCE = 32


class Found(NamedTuple):
    """A result."""

    url: str
    title: str


class Shown(NamedTuple):
    """A page."""

    url: str
    """Where it was found in the end."""
    title: str
    text: str


class Served:
    """Belongs to one event loop."""

    def __init__(self, server: str, settings: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """`settings`: session policies by name (docs/sessions.md), beside the plain one."""
        policies: dict[str, Mapping[str, Any]] = {PLAIN: {}, **(settings or {})}
        self._clients = {name: AsyncClient(server, session=_inline(policy)) for name, policy in policies.items()}
        self._known: OrderedDict[tuple[str, ...], asyncio.Future[Any]] = OrderedDict()
        self._places = asyncio.Semaphore(AT_ONCE)

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(self._clients)

    async def page(self, url: str, view: View = "text") -> Shown | None:
        """The latest page at a URL; None where the web has none, or none with text."""

        async def ask() -> Shown | None:
            try:
                answer = await self._clients[PLAIN].open(url, view, length=0)
            except WebError:
                return None
            return Shown(answer.final_url, answer.title, answer.content)

        return await self._once((view, url), ask)

    async def search(self, query: str, setting: str = PLAIN) -> tuple[Found, ...]:
        """The first `RERANK_DEPTH` results."""

        async def ask() -> tuple[Found, ...]:
            answer = await self._clients[setting].search(query, size=DEPTH)
            return tuple(Found(result.url, result.title) for result in answer.results)

        return await self._once(("search", setting, query), ask)

    async def _once(self, key: tuple[str, ...], ask: Callable[[], Awaitable[T]]) -> T:
        if key not in self._known:
            self._known[key] = asyncio.ensure_future(self._in_turn(ask))
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
        return await self._known[key]  # type: ignore[no-any-return]

    async def _in_turn(self, ask: Callable[[], Awaitable[T]]) -> T:
        async with self._places:
            return await ask()

    async def close(self) -> None:
        for one in self._known.values():
            one.cancel()
        await asyncio.gather(*self._known.values(), return_exceptions=True)
        for client in self._clients.values():
            await client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _inline(policy: Mapping[str, Any]) -> str | None:
    """A policy as the name of its session."""
    if not policy:
        return None
    return "wp-" + base64.urlsafe_b64encode(json.dumps(policy).encode()).decode().rstrip("=")
