"""Routes of the native API: each parses a request, calls the world, and returns an `ApiResponse`.

Searches, texts and payloads in memory are answered on the event loop, since that is faster than a change of thread.
Everything else runs in the thread pool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import orjson

from webemu.api.http.errors import INFRASTRUCTURE, is_ours
from webemu.api.http.params import read_body, read_query
from webemu.api.http.response import JSON, Answer
from webemu.api.observe import dashboard, metrics
from webemu.api.observe.counters import Counters
from webemu.api.observe.worker_metrics import Tally
from webemu.api.runtime.cache import Cache, Key
from webemu.api.runtime.live_snapshot import Served
from webemu.api.runtime.thread_pool import Pool, begun
from webemu.api.services import native
from webemu.api.services.native import Hunt, Visit
from webemu.emulator.errors import BadRequest, EmulatorError, SnapshotError
from webemu.emulator.types import Query
from webemu.emulator.world import World

Asked = TypeVar("Asked", Query, Visit)
Route = Callable[[bytes], Awaitable[Answer]]
"""Handler of one method: takes the query string, or for POST the body."""
Rendered = tuple[bytes, bool]
"""Rendered member of a batch, and whether this server failed on it."""


class Routes:
    """Route table of the native API, and the state that the routes share."""

    def __init__(self, served: Served, cache: Cache, pool: Pool, counters: Counters, tally: Tally) -> None:
        self._served = served
        self._cache = cache
        self._pool = pool
        self._counters = counters
        self._tally = tally
        self._making: dict[Key, asyncio.Future[Answer]] = {}
        """Responses that are being computed now; equal requests wait for the same one."""
        self.at_once: Mapping[str, Callable[[bytes], Answer | None]] = {
            "/v1/search": self.search_at_once,
            "/v1/fetch": self.fetch_at_once,
            "/health": self.healthy,
        }
        """Routes that may answer a GET on the event loop; they return None if they would have to wait."""
        self.table: Mapping[str, Mapping[str, Route]] = {
            "/v1/search": {"GET": self.search, "HEAD": self.search, "POST": self.searches},
            "/v1/fetch": {"GET": self.fetch, "HEAD": self.fetch, "POST": self.fetches},
            "/v1/find": {"GET": self.find, "HEAD": self.find},
            "/v1/stats": {"GET": self.stats, "HEAD": self.stats},
            "/dashboard": {"GET": self.dashboard, "HEAD": self.dashboard},
            "/dashboard/figures": {"GET": self.live, "HEAD": self.live},
            "/metrics": {"GET": self.metrics, "HEAD": self.metrics},
            "/health": {"GET": self.health, "HEAD": self.health},
        }
        """Routes by path and method."""

    def search_at_once(self, query: bytes) -> Answer | None:
        """Answer a search on the event loop; None if it is slow and must run in a thread."""
        world = self._served.world
        key = (world.snapshot, "/v1/search", query)
        body = self._cache.get(key)
        if body is None:
            wanted = native.parse_search(query)
            if world.is_long(wanted):
                return None
            body = native.search(world, wanted)
            self._cache.put(key, body)
        else:  # a cached search reaches no world, which would have counted it
            self._counters.hear(query)
        return Answer(body, world.snapshot)

    async def search(self, query: bytes) -> Answer:
        """Answer `GET /v1/search`."""
        return self.search_at_once(query) or await self._once("/v1/search", query, self._searched)

    async def _searched(self, world: World, query: bytes) -> Answer:
        """Answer a search in a thread, after its embedding is computed."""
        wanted = native.parse_search(query)
        if ready := world.ready(wanted):
            await begun(ready)
        return Answer(await self._pool.run(partial(native.search, world, wanted)), world.snapshot)

    def fetch_at_once(self, query: bytes) -> Answer | None:
        """Answer a fetch on the event loop; None if it needs a conversion, a disk or another machine."""
        world = self._served.world
        key = (world.snapshot, "/v1/fetch", query)
        body = self._cache.get(key)
        if body is None:
            visit = native.parse_fetch(query)
            if world.is_far:
                return None
            if visit.request.view == "raw":
                try:
                    return _payload(world, visit, wait=False)
                except BlockingIOError:
                    return None
            if visit.request.view != "text":
                return None
            body = _page(world, visit)
            self._cache.put(key, body)
        return Answer(body, world.snapshot)

    async def fetch(self, query: bytes) -> Answer:
        """Answer `GET /v1/fetch`."""
        return self.fetch_at_once(query) or await self._once("/v1/fetch", query, self._fetched)

    async def _fetched(self, world: World, query: bytes) -> Answer:
        """Answer a fetch in a thread."""
        visit = native.parse_fetch(query)
        if visit.request.view == "raw":
            return await self._pool.run(partial(_payload, world, visit))
        return Answer(await self._pool.run(partial(_page, world, visit)), world.snapshot)

    async def _once(self, path: str, query: bytes, make: Callable[[World, bytes], Awaitable[Answer]]) -> Answer:
        """Compute a response once for all equal requests that arrive meanwhile: the samples of one prompt ask the same
        things.
        """
        world = self._served.world
        key = (world.snapshot, path, query)
        if (making := self._making.get(key)) is None:
            making = self._making[key] = asyncio.ensure_future(self._made(key, make(world, query)))
        return await asyncio.shield(making)  # a client that disconnects must not cancel it for the others

    async def _made(self, key: Key, making: Awaitable[Answer]) -> Answer:
        """Wait for a response and store it in the cache if it is JSON."""
        try:
            answer = await making
        finally:
            del self._making[key]
        if answer.kind == JSON:
            self._cache.put(key, answer.body)
        return answer

    async def find(self, query: bytes) -> Answer:
        """Answer `GET /v1/find`."""
        world = self._served.world
        hunt = native.parse_find(query)
        return Answer(await self._pool.run(partial(_matches, world, hunt)), world.snapshot)

    async def searches(self, body: bytes) -> Answer:
        """Answer `POST /v1/search`."""
        world = self._served.world
        asked = await self._pool.run(lambda: native.parse_searches(read_body(body)))
        world.begin(query for query in asked if isinstance(query, Query))
        return await self._batch(asked, partial(native.search, world), world.snapshot)

    async def fetches(self, body: bytes) -> Answer:
        """Answer `POST /v1/fetch`."""
        world = self._served.world
        asked = await self._pool.run(lambda: native.parse_fetches(read_body(body)))
        return await self._batch(asked, partial(_page, world), world.snapshot)

    async def _batch(
        self, asked: Sequence[Asked | BadRequest], render: Callable[[Asked], bytes], snapshot: str
    ) -> Answer:
        """Answer a batch in order. Rollouts of one group ask the same things, so equal members are answered once."""
        distinct = list(dict.fromkeys(asked))
        rendered = await self._pool.map(partial(_member, render), distinct)
        of = dict(zip(distinct, rendered, strict=True))
        members = [of[one] for one in asked]
        failed = any(ours for _, ours in members)
        body = native.render_batch([body for body, _ in members], snapshot)
        return Answer(body, snapshot, headers=(INFRASTRUCTURE,) if failed else ())

    async def stats(self, query: bytes) -> Answer:
        """Answer `GET /v1/stats`."""
        read_query(query, ())
        world = self._served.world
        figures = {**world.figures(), "snapshot": world.snapshot, "process": self._counters.figures()}
        return Answer(orjson.dumps(figures), world.snapshot)

    async def metrics(self, query: bytes) -> Answer:
        """Answer `GET /metrics`."""
        read_query(query, ())
        return Answer(metrics.render(self._tally.read(), self._held()), self._served.snapshot, kind=metrics.KIND)

    async def dashboard(self, query: bytes) -> Answer:
        """Answer `GET /dashboard`."""
        read_query(query, ())
        return dashboard.page()

    async def live(self, query: bytes) -> Answer:
        """Answer `GET /dashboard/figures`."""
        read_query(query, ())
        return Answer(dashboard.figures(self._tally.read(), self._held()), self._served.snapshot)

    def _held(self) -> dict[str, object]:
        """Return the figures of the snapshot that is served; empty while there is none."""
        try:
            return {**self._served.world.figures(), "snapshot": self._served.world.snapshot}
        except SnapshotError:
            return {}

    async def health(self, query: bytes) -> Answer:
        """Answer `GET /health` in a task."""
        return self.healthy(query)

    def healthy(self, query: bytes) -> Answer:
        """Answer `GET /health`. Raises SnapshotError while there is no snapshot, or once its files are gone."""
        read_query(query, ())
        snapshot = self._served.world.snapshot
        self._served.check()
        return Answer(orjson.dumps({"status": "ok", "snapshot": snapshot}), snapshot)


def _page(world: World, visit: Visit) -> bytes:
    return native.render_page(world.fetch(visit.request), visit.window)


def _payload(world: World, visit: Visit, wait: bool = True) -> Answer:
    return native.render_payload(*world.payload(visit.request, wait), world.snapshot)


def _matches(world: World, hunt: Hunt) -> bytes:
    return native.render_matches(hunt, *world.find(hunt.request, hunt.pattern, hunt.limit))


def _member(render: Callable[[Asked], bytes], asked: Asked | BadRequest) -> Rendered:
    """Render one member of a batch. An error becomes its own rendering, so that the rest of the batch goes on."""
    if isinstance(asked, BadRequest):
        return native.render_error(asked), False
    try:
        return render(asked), False
    except EmulatorError as error:
        return native.render_error(error), is_ours(error)
