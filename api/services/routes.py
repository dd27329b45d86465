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

from webemu.api.http.errors import INFRASTRUCTURE, is_server_fault
from webemu.api.http.missing_parts import missing_parts_headers
from webemu.api.http.params import read_json_body, read_query
from webemu.api.http.response import JSON, ApiResponse
from webemu.api.observe import dashboard, metrics
from webemu.api.observe.counters import Counters
from webemu.api.observe.worker_metrics import MetricsAggregator
from webemu.api.runtime.cache import Cache, Key
from webemu.api.runtime.live_snapshot import LiveSnapshot
from webemu.api.runtime.thread_pool import ThreadPool, wait_until_done
from webemu.api.services import native
from webemu.api.services.native import FetchRequest, FindRequest
from webemu.emulator import inline_work
from webemu.emulator.errors import BadRequest, EmulatorError, SnapshotError
from webemu.emulator.missing_parts import collect_missing_parts
from webemu.emulator.types import Query
from webemu.emulator.world import World

ParsedRequest = TypeVar("ParsedRequest", Query, FetchRequest)
Route = Callable[[bytes], Awaitable[ApiResponse]]
"""Handler of one method: takes the query string, or for POST the body."""
RenderedMember = tuple[bytes, bool]
"""Rendered member of a batch, and whether this server failed on it."""


class Routes:
    """Route table of the native API, and the state that the routes share."""

    def __init__(
        self,
        live_snapshot: LiveSnapshot,
        cache: Cache,
        pool: ThreadPool,
        counters: Counters,
        aggregator: MetricsAggregator,
    ) -> None:
        self._live_snapshot = live_snapshot
        self._cache = cache
        self._pool = pool
        self._counters = counters
        self._aggregator = aggregator
        self._pending: dict[Key, asyncio.Future[ApiResponse]] = {}
        """Responses that are being computed now; equal requests wait for the same one."""
        self.inline_routes: Mapping[str, Callable[[bytes], ApiResponse | None]] = {
            "/v1/search": self.try_search_inline,
            "/v1/fetch": self.try_fetch_inline,
            "/health": self.check_health,
        }
        """Routes that may answer a GET on the event loop; they return None if they would have to wait."""
        self.table: Mapping[str, Mapping[str, Route]] = {
            "/v1/search": {"GET": self.search, "HEAD": self.search, "POST": self.search_batch},
            "/v1/fetch": {"GET": self.fetch, "HEAD": self.fetch, "POST": self.fetch_batch},
            "/v1/find": {"GET": self.find, "HEAD": self.find},
            "/v1/stats": {"GET": self.stats, "HEAD": self.stats},
            "/dashboard": {"GET": self.dashboard, "HEAD": self.dashboard},
            "/dashboard/figures": {"GET": self.dashboard_figures, "HEAD": self.dashboard_figures},
            "/metrics": {"GET": self.metrics, "HEAD": self.metrics},
            "/health": {"GET": self.health, "HEAD": self.health},
        }
        """Routes by path and method."""

    def try_search_inline(self, query: bytes) -> ApiResponse | None:
        """Answer a search on the event loop; None if it is slow and must run in a thread."""
        world = self._live_snapshot.world
        key = (world.snapshot, "/v1/search", query)
        body = self._cache.get(key)
        if body is None:
            parsed_query = native.parse_search(query)
            if world.is_slow(parsed_query) or inline_work.are_long((parsed_query,)):
                return None
            body = native.search(world, parsed_query)
            self._cache.put(key, body)
        else:  # a cached search reaches no world, which would have counted it
            self._counters.record_query(query)
        return ApiResponse(body, world.snapshot)

    async def search(self, query: bytes) -> ApiResponse:
        """Answer `GET /v1/search`."""
        return self.try_search_inline(query) or await self._compute_once("/v1/search", query, self._search_in_thread)

    async def _search_in_thread(self, world: World, query: bytes) -> ApiResponse:
        """Answer a search in a thread, after its embedding is computed."""
        parsed_query = native.parse_search(query)
        if ready := world.start_async(parsed_query):
            await wait_until_done(ready)
        with collect_missing_parts() as missing:
            body = await self._pool.run(partial(native.search, world, parsed_query))
        return ApiResponse(body, world.snapshot, headers=missing_parts_headers(missing))

    def try_fetch_inline(self, query: bytes) -> ApiResponse | None:
        """Answer a fetch on the event loop; None if it needs a conversion, a disk or another machine."""
        world = self._live_snapshot.world
        key = (world.snapshot, "/v1/fetch", query)
        body = self._cache.get(key)
        if body is None:
            fetch_request = native.parse_fetch(query)
            if world.is_remote:
                return None
            try:
                if fetch_request.request.view == "raw":
                    return _render_payload(world, fetch_request, wait=False)
                body = _render_page(world, fetch_request, wait=False)
            except BlockingIOError:
                return None
            self._cache.put(key, body)
        return ApiResponse(body, world.snapshot)

    async def fetch(self, query: bytes) -> ApiResponse:
        """Answer `GET /v1/fetch`."""
        return self.try_fetch_inline(query) or await self._compute_once("/v1/fetch", query, self._fetch_in_thread)

    async def _fetch_in_thread(self, world: World, query: bytes) -> ApiResponse:
        """Answer a fetch in a thread."""
        fetch_request = native.parse_fetch(query)
        if fetch_request.request.view == "raw":
            return await self._pool.run(partial(_render_payload, world, fetch_request))
        return ApiResponse(await self._pool.run(partial(_render_page, world, fetch_request)), world.snapshot)

    async def _compute_once(
        self, path: str, query: bytes, compute: Callable[[World, bytes], Awaitable[ApiResponse]]
    ) -> ApiResponse:
        """Compute a response once for all equal requests that arrive meanwhile: the samples of one prompt ask the same
        things.
        """
        world = self._live_snapshot.world
        key = (world.snapshot, path, query)
        if (future := self._pending.get(key)) is None:
            future = self._pending[key] = asyncio.ensure_future(self._finish_and_cache(key, compute(world, query)))
        return await asyncio.shield(future)  # a client that disconnects must not cancel it for the others

    async def _finish_and_cache(self, key: Key, pending: Awaitable[ApiResponse]) -> ApiResponse:
        """Wait for a response and store it in the cache if it is JSON and lacks nothing."""
        try:
            answer = await pending
        finally:
            del self._pending[key]
        if answer.content_type == JSON and not answer.headers:  # headers say that partitions of the index are missing
            self._cache.put(key, answer.body)
        return answer

    async def find(self, query: bytes) -> ApiResponse:
        """Answer `GET /v1/find`."""
        world = self._live_snapshot.world
        find_request = native.parse_find(query)
        return ApiResponse(await self._pool.run(partial(_render_matches, world, find_request)), world.snapshot)

    async def search_batch(self, body: bytes) -> ApiResponse:
        """Answer `POST /v1/search`."""
        world = self._live_snapshot.world
        queries = await self._pool.run(lambda: native.parse_search_batch(read_json_body(body)))
        world.prefetch(query for query in queries if isinstance(query, Query))
        return await self._answer_batch(queries, partial(native.search, world), world.snapshot)

    async def fetch_batch(self, body: bytes) -> ApiResponse:
        """Answer `POST /v1/fetch`."""
        world = self._live_snapshot.world
        fetch_requests = await self._pool.run(lambda: native.parse_fetch_batch(read_json_body(body)))
        return await self._answer_batch(fetch_requests, partial(_render_page, world), world.snapshot)

    async def _answer_batch(
        self, requests: Sequence[ParsedRequest | BadRequest], render: Callable[[ParsedRequest], bytes], snapshot: str
    ) -> ApiResponse:
        """Answer a batch in order. Rollouts of one group ask the same things, so equal members are answered once."""
        distinct = list(dict.fromkeys(requests))
        rendered = await self._pool.map(partial(_render_member, render), distinct)
        rendered_by_request = dict(zip(distinct, rendered, strict=True))
        members = [rendered_by_request[one] for one in requests]
        has_server_fault = any(is_fault for _, is_fault in members)
        body = native.render_batch([body for body, _ in members], snapshot)
        return ApiResponse(body, snapshot, headers=(INFRASTRUCTURE,) if has_server_fault else ())

    async def stats(self, query: bytes) -> ApiResponse:
        """Answer `GET /v1/stats`."""
        read_query(query, ())
        world = self._live_snapshot.world
        figures = {**world.figures(), "snapshot": world.snapshot, "process": self._counters.figures()}
        return ApiResponse(orjson.dumps(figures), world.snapshot)

    async def metrics(self, query: bytes) -> ApiResponse:
        """Answer `GET /metrics`."""
        read_query(query, ())
        return ApiResponse(
            metrics.render(self._aggregator.read(), self._snapshot_figures()),
            self._live_snapshot.snapshot,
            content_type=metrics.CONTENT_TYPE,
        )

    async def dashboard(self, query: bytes) -> ApiResponse:
        """Answer `GET /dashboard`."""
        read_query(query, ())
        return dashboard.render_page()

    async def dashboard_figures(self, query: bytes) -> ApiResponse:
        """Answer `GET /dashboard/figures`."""
        read_query(query, ())
        return ApiResponse(
            dashboard.render_figures(
                self._aggregator.read(), self._snapshot_figures(), self._live_snapshot.describe_ingest()
            ),
            self._live_snapshot.snapshot,
        )

    def _snapshot_figures(self) -> dict[str, object]:
        """Return the figures of the snapshot that is served; empty while there is none."""
        try:
            return {**self._live_snapshot.world.figures(), "snapshot": self._live_snapshot.world.snapshot}
        except SnapshotError:
            return {}

    async def health(self, query: bytes) -> ApiResponse:
        """Answer `GET /health` in a task."""
        return self.check_health(query)

    def check_health(self, query: bytes) -> ApiResponse:
        """Answer `GET /health`. Raises SnapshotError while there is no snapshot, or once its files are gone."""
        read_query(query, ())
        snapshot = self._live_snapshot.world.snapshot
        self._live_snapshot.check_files()
        return ApiResponse(orjson.dumps({"status": "ok", "snapshot": snapshot}), snapshot)


def _render_page(world: World, fetch_request: FetchRequest, wait: bool = True) -> bytes:
    return native.render_page(world.fetch(fetch_request.request, wait), fetch_request.text_range)


def _render_payload(world: World, fetch_request: FetchRequest, wait: bool = True) -> ApiResponse:
    return native.render_payload(*world.payload(fetch_request.request, wait), world.snapshot)


def _render_matches(world: World, find_request: FindRequest) -> bytes:
    return native.render_matches(
        find_request, *world.find(find_request.request, find_request.pattern, find_request.limit)
    )


def _render_member(render: Callable[[ParsedRequest], bytes], request: ParsedRequest | BadRequest) -> RenderedMember:
    """Render one member of a batch. An error becomes its own rendering, so that the rest of the batch goes on."""
    if isinstance(request, BadRequest):
        return native.render_error(request), False
    try:
        return render(request), False
    except EmulatorError as error:
        return native.render_error(error), is_server_fault(error)
