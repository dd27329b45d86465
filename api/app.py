"""The ASGI application of a server: world, cache, threads, routes, documentation and DNS put together.

Requests of the native API are found by one look-up in a table before FastAPI is reached; FastAPI serves only the
documentation and unknown addresses. Start at `create_app`. The routes themselves are in `webemu.api.services.routes`, the emulated web
in `webemu.api.services.web`.
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
from webemu.api.http.coding import packed
from webemu.api.http.errors import error_answer, guarded, internal_error, method_not_allowed, no_such_route, ours
from webemu.api.http.head import fitted
from webemu.api.http.response import BYTES, Answer, Header, Receive, Scope, Send, all_headers, send_answer
from webemu.api.observe.counters import Counters
from webemu.api.observe.slow_requests import Watch
from webemu.api.observe.worker_metrics import PERIOD, Tally
from webemu.api.proxy.authority import Contexts
from webemu.api.proxy.dns_answers import Address, answer
from webemu.api.proxy.dns_server import Resolver
from webemu.api.proxy.protocol_sniffer import Doors
from webemu.api.runtime.batch_sharing import folder as siblings_folder
from webemu.api.runtime.cache import Cache
from webemu.api.runtime.live_snapshot import READER, Served
from webemu.api.runtime.load_shedding import CLOCK, arrived, is_late, too_late
from webemu.api.runtime.thread_pool import Pool
from webemu.api.services.openapi import DESCRIPTION, add_docs
from webemu.api.services.own_hosts import is_here, is_own
from webemu.api.services.registry import services
from webemu.api.services.routes import Route, Routes
from webemu.api.services.web import Web
from webemu.api.sessions.credentials import PREFIX, carries, within
from webemu.api.sessions.handler import Desk
from webemu.api.sessions.routes import PATH, SessionRoutes
from webemu.api.sessions.worlds import Worlds
from webemu.emulator.config import Config, load
from webemu.emulator.errors import EmulatorError
from webemu.emulator.ledger import Ledger
from webemu.emulator.logs import event
from webemu.emulator.world import World
from webemu.index.ledger import SessionLedger
from webemu.index.traces import TraceWriter

log = logging.getLogger("webemu.serve")

MAX_BODY = 8_000_000
"""Largest body of a POST request to the API, in bytes."""
GARBAGE = 20_000
"""Allocations before the garbage collector looks for reference cycles. A request leaves no cycles but creates hundreds
of objects, so Python's low default would collect during almost every request.
"""
ALWAYS = frozenset(("/health", "/metrics", "/v1/stats", "/dashboard", "/dashboard/figures"))
"""Paths that are answered however long the request waited: monitoring must work on a server that is overloaded."""
OTHER = "other"
"""Route name in `/v1/stats` for every address that is not in the table."""


class App(FastAPI):
    """FastAPI application with the table of the native API in front of it."""

    def __init__(self, config: Config, served: Served, ledger: Ledger) -> None:
        self._served = served
        self._pool = pool = Pool(max(2, min(8, os.cpu_count() or 2)))
        self._counters = Counters()
        self._compress = config.compress
        self._ports = (config.port, *config.further_ports)
        self._watch = watch = Watch(config.slow_ms)
        served.tell(self._counters.hear)
        self.tally = Tally(self._counters.told, siblings_folder())
        """Figures of all workers of this server."""
        cache = Cache(config.cache_mb)
        routes = Routes(served, cache, pool, self._counters, self.tally)
        self._table, self._at_once = routes.table, routes.at_once
        self._traces = TraceWriter(config.written / "traces")
        self._counters.parts |= {"cache": cache.figures, "pool": pool.figures, "traces": self._traces.figures}
        self._counters.parts["reader"] = lambda: READER
        worlds = Worlds(served.of, served.holds, cache)
        desk = Desk(ledger, worlds, self._traces, pool, self._counters.attend)
        self._sessions = SessionRoutes(desk.book, pool)
        self._web = Web(served, services(config.keys), pool, self._counters, watch, desk)
        self.doors = Doors(self.of_the_web, self._web.knows, Contexts(config.root), self.at_once)
        """Functions that the protocols of `webemu.api.proxy` need; they find them under this attribute."""
        self.resolver: Resolver | None = None
        """DNS server if one is configured; opened and closed together with the application."""
        self.has_process = False
        """True if nothing else runs in this process, so that its garbage collector may be tuned."""
        self._has_begun = False
        super().__init__(
            title="webemu",
            description=DESCRIPTION,
            docs_url=None,
            redoc_url=None,
            lifespan=_lifespan,
            exception_handlers={HTTPException: _http_error, Exception: _unknown_error},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection: HTTP requests by our own routing, lifespan events by FastAPI."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        await guarded(self._asked, lambda error: error_answer(error, self._served.snapshot), scope, receive, send)

    async def _asked(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find who answers a request: the native API, a session's routes, this server's own pages and services, or
        FastAPI.
        """
        methods = self._table.get(scope["path"])
        # The fast path: a known address without a session. Anything else is looked up more slowly below.
        if methods is not None and not carries(scope["headers"]):
            await self._answer(methods, scope, receive, send)
            return
        if scope["path"].startswith(PREFIX):
            scope = within(scope)
            methods = self._table.get(scope["path"])
        if (opened := self._sessions.of(scope["path"])) is not None and not carries(scope["headers"]):
            await self._answer(opened, scope, receive, send, PATH)
        elif not await self._web.own(scope, receive, send):
            await (self._answer(methods, scope, receive, send) if methods else super().__call__(scope, receive, send))

    def at_once(self, path: str, query: bytes, headers: list[Header], waited: float) -> Answer | None:
        """Answer a GET of the API on the event loop.

        Returns None if the answer would have to wait for a thread or a disk, or if the request belongs to a session;
        the caller then takes the usual way. `queued_seconds` is the time that the request spent in the kernel
        before it was read.
        """
        route = self._at_once.get(path)
        if route is None or carries(headers):
            return None
        start = perf_counter() - waited
        try:
            if waited and is_late(start) and path not in ALWAYS:
                raise too_late()
            answer = route(query)
        except BaseException as error:
            answer = self.error(ours(error), f"GET {path}?{query[:500]!r}")
        if answer is None:
            return None
        answer = self._fitted(answer)
        self._count(path, ("GET", path), answer, perf_counter() - start)
        return packed(answer, headers, self._compress) if self._compress else answer

    def _fitted(self, answer: Answer) -> Answer:
        """Return a recorded response with only those headers that every client accepts; count the headers that are
        dropped.
        """
        if answer.kind is not BYTES:
            return answer
        headers, dropped = fitted(answer.headers)
        self._counters.drop(dropped)
        return replace(answer, headers=tuple(headers))

    def _count(self, place: str, asked: tuple[str, str], answer: Answer, seconds: float) -> None:
        """Count a request, and log it if it failed or was slow."""
        self._counters.count(place, answer.status, seconds)
        if answer.status >= 500 or seconds >= self._watch.slow:
            self._watch.note(place, asked, answer.status, seconds, answer.headers, answer.body)

    async def of_the_web(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that arrived for the emulated web: as a captured page, or as this server's own if it names
        this server and the URL was not captured.
        """
        door = self if is_here(scope, self._ports) and not self._web.holds(scope) else self._web
        await door(scope, receive, send)

    def of_dns(self, packet: bytes, here: Address) -> bytes:
        """Return the DNS response to a packet that arrived at `local_address`; empty if none is due."""
        return answer(packet, here, self._resolves)

    def _resolves(self, name: str) -> bool:
        """True if DNS resolves a name to this server.

        Raises:
            SnapshotError: no snapshot is open. A plain False would let clients cache that the name does not exist.
        """
        _ = self._served.world  # raises
        return not is_own(name) and self._web.knows(name)

    async def _answer(
        self, methods: Mapping[str, Route], scope: Scope, receive: Receive, send: Send, place: str = ""
    ) -> None:
        """Answer a request of the native API. `route_label` is the name to count it under; empty for its path."""
        method, path, start = scope["method"], scope["path"], arrived(scope)
        try:
            if is_late(start) and path not in ALWAYS:
                raise too_late()
            if (route := methods.get(method)) is None:
                raise method_not_allowed(method, path, ", ".join(methods))
            asked = scope["query_string"] if method != "POST" else await read_body(scope, receive, MAX_BODY)
            if asked is None:  # the client disconnected before its body was complete
                return
            answer = await route(asked)
        except BaseException as error:
            answer = self.error(ours(error), f"{method} {path}?{scope['query_string'][:500]!r}")
        answer = self._fitted(answer)
        self._count(place or path, (method, path), answer, perf_counter() - start)
        if self._compress:
            answer = packed(answer, scope["headers"], self._compress)
        await send_answer(answer, send, bodiless=method == "HEAD")

    def error(self, error: Exception, asked: str) -> Answer:
        """Return the JSON error response of any exception. An exception that is not an `EmulatorError` is logged as a
        defect.
        """
        known = error if isinstance(error, EmulatorError) else internal_error(error, asked)
        return error_answer(known, self._served.snapshot)

    def other_error(self, error: Exception, request: Request) -> Response:
        """Return the JSON error response of a request that reached FastAPI, and count it."""
        answer = self.error(error, f"{request.method} {request.url.path}")
        self._counters.count(OTHER, answer.status, 0.0)
        if answer.status >= 500:
            asked = (request.method, request.url.path)
            self._watch.note(OTHER, asked, answer.status, 0.0, answer.headers, answer.body)
        response = Response(answer.body, answer.status)
        response.raw_headers = all_headers(answer)
        return response


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer Starlette's 404 and 405 in the error shape of this API."""
    app, path = request.app, request.url.path
    assert isinstance(app, App)
    if isinstance(error, HTTPException) and error.status_code == 405:
        return app.other_error(method_not_allowed(request.method, path, "GET, HEAD"), request)
    return app.other_error(no_such_route(path), request)


async def _unknown_error(request: Request, error: Exception) -> Response:
    """Answer any other exception from FastAPI in the error shape of this API."""
    assert isinstance(request.app, App)
    return request.app.other_error(error, request)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open what the application needs before the first request, and close it after the last one."""
    assert isinstance(app, App)
    if app._has_begun:
        raise EmulatorError("this app was started before and cannot be started again; create another with create_app")
    app._has_begun = True
    await app._served.refresh()
    if app.resolver:
        await app.resolver.open()
    if siblings := app._served.siblings:
        siblings.open()
    following = asyncio.create_task(app._served.follow())
    telling = asyncio.create_task(_tell(app.tally))
    # Connections may wait in the backlog since before the start; only the time from now on counts as waiting.
    app.doors = replace(app.doors, began=perf_counter())
    log.info("worker %d is ready", os.getpid(), extra=event("worker_started", snapshot=app._served.snapshot))
    if app.has_process:
        gc.freeze()  # objects of the start live for ever: traversing them on each collection would only delay requests
        gc.set_threshold(GARBAGE)
    try:
        yield
    finally:
        if app.has_process:
            gc.unfreeze()
        if app.resolver:
            app.resolver.close()
        if siblings:
            siblings.close()
        for task in (following, telling):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        app.tally.write()
        app._pool.close()
        app._traces.close()
        log.info("worker %d has stopped", os.getpid(), extra=event("worker_stopped"))


async def _tell(tally: Tally) -> None:
    """Publish the figures of this worker every second, and mark its processor time for load shedding."""
    while True:
        CLOCK.mark()
        tally.write()
        await asyncio.sleep(PERIOD)


def create_app(config: Config, world: World | None = None, ledger: Ledger | None = None) -> App:
    """Return the ASGI application that serves a collection.

    With a `world`, it serves exactly that world and never switches to a newer snapshot. Sessions are recorded in the
    collection's `sessions/` folder, or in the given `ledger`.

        app = create_app(load({"root": "webemu-data", "collection": "demo"}))
        uvicorn.run(app)
    """
    app = App(config, Served(config.folder, world), ledger or SessionLedger(config.written / "sessions"))
    if config.dns_port:
        app.resolver = Resolver(config.host, config.dns_port, app.of_dns)
    add_docs(app)
    return app


def from_environment() -> App:
    """Return the application of one serving process, configured by the environment variables `WEBEMU_*`.

    uvicorn calls it in each worker. The worker exits when its supervisor is killed.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    app = create_app(load({}))
    app.has_process = True
    return app


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    """Wait for the supervisor to end, then stop this process: an orphaned worker would keep the port in use."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
