"""The ASGI application of a server: world, cache, threads, routes, documentation and DNS put together.

Requests of the native API are found by one look-up in a table before FastAPI is reached; FastAPI serves only the
documentation and unknown addresses. Start at `create_app`. The routes themselves are in `webemu.api.services.routes`,
the emulated web in `webemu.api.services.web`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from time import perf_counter

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from webemu.api.http.body import read_body
from webemu.api.http.coding import compress_response
from webemu.api.http.errors import (
    log_internal_error,
    method_not_allowed_error,
    no_such_route_error,
    render_error_response,
    reraise_if_fatal,
    run_app_safely,
)
from webemu.api.http.head import sanitize_headers
from webemu.api.http.response import (
    OCTET_STREAM,
    ApiResponse,
    Header,
    Receive,
    Scope,
    Send,
    build_headers,
    send_response,
)
from webemu.api.observe.counters import Counters
from webemu.api.observe.slow_requests import SlowRequestLog
from webemu.api.observe.worker_metrics import WRITE_SECONDS, MetricsAggregator
from webemu.api.proxy.authority import TlsContextCache
from webemu.api.proxy.dns_answers import Address, answer
from webemu.api.proxy.dns_server import DnsServer
from webemu.api.proxy.protocol_sniffer import ProxyHooks
from webemu.api.runtime.batch_sharing import peers_folder as siblings_folder
from webemu.api.runtime.cache import Cache
from webemu.api.runtime.live_snapshot import READER, LiveSnapshot
from webemu.api.runtime.load_shedding import WORK_CLOCK, arrival_time, is_overdue, overload_error
from webemu.api.runtime.thread_pool import ThreadPool
from webemu.api.services.openapi import DESCRIPTION, add_docs
from webemu.api.services.own_hosts import is_for_this_server, is_own_host
from webemu.api.services.registry import build_services
from webemu.api.services.routes import Route, Routes
from webemu.api.services.web import Web
from webemu.api.sessions.credentials import SESSION_PREFIX, has_session, strip_session_prefix
from webemu.api.sessions.handler import SessionHandler
from webemu.api.sessions.routes import PATH, SessionRoutes
from webemu.api.sessions.worlds import WorldCache
from webemu.emulator.config import Config, load_config
from webemu.emulator.errors import EmulatorError
from webemu.emulator.ledger import Ledger
from webemu.emulator.logs import event_extra
from webemu.emulator.world import World
from webemu.index.ledger import SessionLedger
from webemu.index.traces import TraceWriter

log = logging.getLogger("webemu.serve")

MAX_BODY_BYTES = 8_000_000
"""Largest body of a POST request to the API, in bytes."""
GC_THRESHOLD = 20_000
"""Allocations before the garbage collector looks for reference cycles. A request leaves no cycles but creates hundreds
of objects, so Python's low default would collect during almost every request.
"""
NEVER_SHED_PATHS = frozenset(("/health", "/metrics", "/v1/stats", "/dashboard", "/dashboard/figures"))
"""Paths that are answered however long the request waited: monitoring must work on a server that is overloaded."""
OTHER_ROUTES = "other"
"""Route name in `/v1/stats` for every address that is not in the table."""


class App(FastAPI):
    """FastAPI application with the table of the native API in front of it."""

    def __init__(self, config: Config, live_snapshot: LiveSnapshot, ledger: Ledger) -> None:
        self._live_snapshot = live_snapshot
        self._pool = pool = ThreadPool(max(2, min(8, os.cpu_count() or 2)))
        self._counters = Counters()
        self._min_gzip_bytes = config.compress
        self._ports = (config.port, *config.further_ports)
        self._slow_requests = slow_requests = SlowRequestLog(config.slow_ms)
        live_snapshot.set_query_listener(self._counters.record_query)
        self.metrics = MetricsAggregator(self._counters.to_dict, siblings_folder())
        """Figures of all workers of this server."""
        cache = Cache(config.cache_mb)
        routes = Routes(live_snapshot, cache, pool, self._counters, self.metrics)
        self._route_table, self._inline_routes = routes.table, routes.inline_routes
        self._traces = TraceWriter(config.state_folder / "traces")
        self._counters.sections |= {"cache": cache.figures, "pool": pool.figures, "traces": self._traces.figures}
        self._counters.sections["reader"] = lambda: READER
        world_cache = WorldCache(live_snapshot.open, live_snapshot.is_open, cache)
        session_handler = SessionHandler(ledger, world_cache, self._traces, pool, self._counters.record_session)
        self._sessions = SessionRoutes(session_handler.store, pool)
        self._web = Web(
            live_snapshot, build_services(config.accepted_keys), pool, self._counters, slow_requests, session_handler
        )
        self.doors = ProxyHooks(
            self.serve_web, self._web.is_captured_host, TlsContextCache(config.root), self.try_inline
        )
        """Functions that the protocols of `webemu.api.proxy` need; they find them under this attribute."""
        self.dns_server: DnsServer | None = None
        """DNS server if one is configured; opened and closed together with the application."""
        self.owns_process = False
        """True if nothing else runs in this process, so that its garbage collector may be tuned."""
        self._has_started = False
        super().__init__(
            title="webemu",
            description=DESCRIPTION,
            docs_url=None,
            redoc_url=None,
            lifespan=_lifespan,
            exception_handlers={HTTPException: _handle_http_error, Exception: _handle_unknown_error},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection: HTTP requests by our own routing, lifespan events by FastAPI."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        await run_app_safely(
            self._dispatch,
            lambda error: render_error_response(error, self._live_snapshot.snapshot),
            scope,
            receive,
            send,
        )

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find who answers a request: the native API, a session's routes, this server's own pages and services, or
        FastAPI.
        """
        methods = self._route_table.get(scope["path"])
        # The fast path: a known address without a session. Anything else is looked up more slowly below.
        if methods is not None and not has_session(scope["headers"]):
            await self._answer(methods, scope, receive, send)
            return
        if scope["path"].startswith(SESSION_PREFIX):
            scope = strip_session_prefix(scope)
            methods = self._route_table.get(scope["path"])
        if (session_methods := self._sessions.find_methods(scope["path"])) is not None and not has_session(
            scope["headers"]
        ):
            await self._answer(session_methods, scope, receive, send, PATH)
        elif not await self._web.serve_own_host(scope, receive, send):
            await (self._answer(methods, scope, receive, send) if methods else super().__call__(scope, receive, send))

    def try_inline(self, path: str, query: bytes, headers: list[Header], queued_seconds: float) -> ApiResponse | None:
        """Answer a GET of the API on the event loop.

        Returns None if the answer would have to wait for a thread or a disk, or if the request belongs to a session;
        the caller then takes the usual way. `queued_seconds` is the time that the request spent in the kernel
        before it was read.
        """
        route = self._inline_routes.get(path)
        if route is None or has_session(headers):
            return None
        start = perf_counter() - queued_seconds
        try:
            if queued_seconds and is_overdue(start) and path not in NEVER_SHED_PATHS:
                raise overload_error()
            answer = route(query)
        except BaseException as error:
            answer = self.render_error(reraise_if_fatal(error), f"GET {path}?{query[:500]!r}")
        if answer is None:
            return None
        answer = self._sanitize(answer)
        self._count(path, ("GET", path), answer, perf_counter() - start)
        return compress_response(answer, headers, self._min_gzip_bytes) if self._min_gzip_bytes else answer

    def _sanitize(self, answer: ApiResponse) -> ApiResponse:
        """Return a recorded response with only those headers that every client accepts; count the headers that are
        dropped.
        """
        if answer.content_type is not OCTET_STREAM:
            return answer
        headers, dropped = sanitize_headers(answer.headers)
        self._counters.count_dropped_headers(dropped)
        return replace(answer, headers=tuple(headers))

    def _count(self, route_label: str, method_and_path: tuple[str, str], answer: ApiResponse, seconds: float) -> None:
        """Count a request, and log it if it failed or was slow."""
        self._counters.count(route_label, answer.status, seconds)
        if answer.status >= 500 or seconds >= self._slow_requests.threshold_seconds:
            self._slow_requests.log_request(
                route_label, method_and_path, answer.status, seconds, answer.headers, answer.body
            )

    async def serve_web(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that arrived for the emulated web: as a captured page, or as this server's own if it names
        this server and the URL was not captured.
        """
        door = self if is_for_this_server(scope, self._ports) and not self._web.has_capture(scope) else self._web
        await door(scope, receive, send)

    def answer_dns(self, packet: bytes, local_address: Address) -> bytes:
        """Return the DNS response to a packet that arrived at `local_address`; empty if none is due."""
        return answer(packet, local_address, self._is_resolvable)

    def _is_resolvable(self, name: str) -> bool:
        """True if DNS resolves a name to this server.

        Raises:
            SnapshotError: no snapshot is open. A plain False would let clients cache that the name does not exist.
        """
        _ = self._live_snapshot.world  # raises
        return not is_own_host(name) and self._web.is_captured_host(name)

    async def _answer(
        self, methods: Mapping[str, Route], scope: Scope, receive: Receive, send: Send, route_label: str = ""
    ) -> None:
        """Answer a request of the native API. `route_label` is the name to count it under; empty for its path."""
        method, path, start = scope["method"], scope["path"], arrival_time(scope)
        try:
            if is_overdue(start) and path not in NEVER_SHED_PATHS:
                raise overload_error()
            if (route := methods.get(method)) is None:
                raise method_not_allowed_error(method, path, ", ".join(methods))
            query_or_body = (
                scope["query_string"] if method != "POST" else await read_body(scope, receive, MAX_BODY_BYTES)
            )
            if query_or_body is None:  # the client disconnected before its body was complete
                return
            answer = await route(query_or_body)
        except BaseException as error:
            answer = self.render_error(reraise_if_fatal(error), f"{method} {path}?{scope['query_string'][:500]!r}")
        answer = self._sanitize(answer)
        self._count(route_label or path, (method, path), answer, perf_counter() - start)
        if self._min_gzip_bytes:
            answer = compress_response(answer, scope["headers"], self._min_gzip_bytes)
        await send_response(answer, send, bodiless=method == "HEAD")

    def render_error(self, error: Exception, request_line: str) -> ApiResponse:
        """Return the JSON error response of any exception. An exception that is not an `EmulatorError` is logged as a
        defect.
        """
        emulator_error = error if isinstance(error, EmulatorError) else log_internal_error(error, request_line)
        return render_error_response(emulator_error, self._live_snapshot.snapshot)

    def render_fastapi_error(self, error: Exception, request: Request) -> Response:
        """Return the JSON error response of a request that reached FastAPI, and count it."""
        answer = self.render_error(error, f"{request.method} {request.url.path}")
        self._counters.count(OTHER_ROUTES, answer.status, 0.0)
        if answer.status >= 500:
            method_and_path = (request.method, request.url.path)
            self._slow_requests.log_request(
                OTHER_ROUTES, method_and_path, answer.status, 0.0, answer.headers, answer.body
            )
        response = Response(answer.body, answer.status)
        response.raw_headers = build_headers(answer)
        return response


async def _handle_http_error(request: Request, error: Exception) -> Response:
    """Answer Starlette's 404 and 405 in the error shape of this API."""
    app, path = request.app, request.url.path
    assert isinstance(app, App)
    if isinstance(error, HTTPException) and error.status_code == 405:
        return app.render_fastapi_error(method_not_allowed_error(request.method, path, "GET, HEAD"), request)
    return app.render_fastapi_error(no_such_route_error(path), request)


async def _handle_unknown_error(request: Request, error: Exception) -> Response:
    """Answer any other exception from FastAPI in the error shape of this API."""
    assert isinstance(request.app, App)
    return request.app.render_fastapi_error(error, request)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open what the application needs before the first request, and close it after the last one."""
    assert isinstance(app, App)
    if app._has_started:
        raise EmulatorError("this app was started before and cannot be started again; create another with create_app")
    app._has_started = True
    await app._live_snapshot.refresh()
    if app.dns_server:
        await app.dns_server.open()
    if peers := app._live_snapshot.peers:
        peers.open()
    follow_task = asyncio.create_task(app._live_snapshot.follow())
    publish_task = asyncio.create_task(_publish_metrics(app.metrics))
    # Connections may wait in the backlog since before the start; only the time from now on counts as waiting.
    app.doors = replace(app.doors, ready_at=perf_counter())
    log.info(
        "worker %d is ready", os.getpid(), extra=event_extra("worker_started", snapshot=app._live_snapshot.snapshot)
    )
    if app.owns_process:
        gc.freeze()  # objects of the start live for ever: traversing them on each collection would only delay requests
        gc.set_threshold(GC_THRESHOLD)
    try:
        yield
    finally:
        if app.owns_process:
            gc.unfreeze()
        if app.dns_server:
            app.dns_server.close()
        if peers:
            peers.close()
        for task in (follow_task, publish_task):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        app.metrics.write()
        app._pool.close()
        app._traces.close()
        log.info("worker %d has stopped", os.getpid(), extra=event_extra("worker_stopped"))


async def _publish_metrics(metrics: MetricsAggregator) -> None:
    """Publish the figures of this worker every second, and mark its processor time for load shedding."""
    while True:
        WORK_CLOCK.mark()
        metrics.write()
        await asyncio.sleep(WRITE_SECONDS)


def create_app(config: Config, world: World | None = None, ledger: Ledger | None = None) -> App:
    """Return the ASGI application that serves a collection.

    With a `world`, it serves exactly that world and never switches to a newer snapshot. Sessions are recorded in the
    collection's `sessions/` folder, or in the given `ledger`.

        app = create_app(load({"root": "webemu-data", "collection": "demo"}))
        uvicorn.run(app)
    """
    app = App(
        config, LiveSnapshot(config.collection_folder, world), ledger or SessionLedger(config.state_folder / "sessions")
    )
    if config.dns_port:
        app.dns_server = DnsServer(config.host, config.dns_port, app.answer_dns)
    add_docs(app)
    return app


def from_environment() -> App:
    """Return the application of one serving process, configured by the environment variables `WEBEMU_*`.

    uvicorn calls it in each worker. The worker exits when its supervisor is killed.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    app = create_app(load_config({}))
    app.owns_process = True
    return app


def _exit_with_parent(parent: multiprocessing.process.BaseProcess) -> None:
    """Wait for the supervisor to end, then stop this process: an orphaned worker would keep the port in use."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
