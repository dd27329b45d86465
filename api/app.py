"""The server put together: the world, the cache, the threads, the routes and their documentation, DNS.

The routes of the API are found by one look into a table before FastAPI is asked; FastAPI serves what documents them.
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
GARBAGE = 20_000
"""Objects made and kept before the collector looks for cycles among them: an answer leaves none, but makes hundreds."""
ALWAYS = frozenset(("/health", "/metrics", "/v1/stats", "/dashboard", "/dashboard/figures"))
"""Answered however long they waited: who looks after a server must see one that has too much to do."""
OTHER = "other"
"""What `/v1/stats` calls every address that is not in the table."""


class App(FastAPI):
    """FastAPI with the API's own table in front."""

    def __init__(self, config: Config, served: Served, ledger: Ledger) -> None:
        self._served = served
        self._pool = pool = Pool(max(2, min(8, os.cpu_count() or 2)))
        self._counters = Counters()
        self._compress = config.compress
        self._ports = (config.port, *config.further_ports)
        self._watch = watch = Watch(config.slow_ms)
        served.tell(self._counters.hear)
        self.tally = Tally(self._counters.told, siblings_folder())
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
        self.resolver: Resolver | None = None
        """DNS, if it is wanted; opened and closed with the app."""
        self.has_process = False
        """Whether nothing else lives in this process."""
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
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        await guarded(self._asked, lambda error: error_answer(error, self._served.snapshot), scope, receive, send)

    async def _asked(self, scope: Scope, receive: Receive, send: Send) -> None:
        methods = self._table.get(scope["path"])
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
        """The answer to a GET of the API, where there is nothing to wait for; None where there may be. `waited`: the
        seconds that it was here before."""
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
        """Return a recorded answer with headers that every client can take; those left out are counted."""
        if answer.kind is not BYTES:
            return answer
        headers, dropped = fitted(answer.headers)
        self._counters.drop(dropped)
        return replace(answer, headers=tuple(headers))

    def _count(self, place: str, asked: tuple[str, str], answer: Answer, seconds: float) -> None:
        self._counters.count(place, answer.status, seconds)
        if answer.status >= 500 or seconds >= self._watch.slow:
            self._watch.note(place, asked, answer.status, seconds, answer.headers, answer.body)

    async def of_the_web(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what came through a door to the web: as the web, unless it names this server and was not captured."""
        door = self if is_here(scope, self._ports) and not self._web.holds(scope) else self._web
        await door(scope, receive, send)

    def of_dns(self, packet: bytes, here: Address) -> bytes:
        """What DNS says to a packet that came in through an address."""
        return answer(packet, here, self._resolves)

    def _resolves(self, name: str) -> bool:
        """Raises SnapshotError while there is no world, where `knows` would deny all names."""
        _ = self._served.world
        return not is_own(name) and self._web.knows(name)

    async def _answer(
        self, methods: Mapping[str, Route], scope: Scope, receive: Receive, send: Send, place: str = ""
    ) -> None:
        method, path, start = scope["method"], scope["path"], arrived(scope)
        try:
            if is_late(start) and path not in ALWAYS:
                raise too_late()
            if (route := methods.get(method)) is None:
                raise method_not_allowed(method, path, ", ".join(methods))
            asked = scope["query_string"] if method != "POST" else await read_body(scope, receive, MAX_BODY)
            if asked is None:
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
        """Any exception in the one error shape."""
        known = error if isinstance(error, EmulatorError) else internal_error(error, asked)
        return error_answer(known, self._served.snapshot)

    def other_error(self, error: Exception, request: Request) -> Response:
        """The same for what FastAPI was asked."""
        answer = self.error(error, f"{request.method} {request.url.path}")
        self._counters.count(OTHER, answer.status, 0.0)
        if answer.status >= 500:
            asked = (request.method, request.url.path)
            self._watch.note(OTHER, asked, answer.status, 0.0, answer.headers, answer.body)
        response = Response(answer.body, answer.status)
        response.raw_headers = all_headers(answer)
        return response


async def _http_error(request: Request, error: Exception) -> Response:
    app, path = request.app, request.url.path
    assert isinstance(app, App)
    if isinstance(error, HTTPException) and error.status_code == 405:
        return app.other_error(method_not_allowed(request.method, path, "GET, HEAD"), request)
    return app.other_error(no_such_route(path), request)


async def _unknown_error(request: Request, error: Exception) -> Response:
    assert isinstance(request.app, App)
    return request.app.other_error(error, request)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    assert isinstance(app, App)
    if app._has_begun:
        raise EmulatorError("an app that has ended does not begin again; make another with create_app")
    app._has_begun = True
    await app._served.refresh()
    if app.resolver:
        await app.resolver.open()
    if siblings := app._served.siblings:
        siblings.open()
    following = asyncio.create_task(app._served.follow())
    telling = asyncio.create_task(_tell(app.tally))
    app.doors = replace(app.doors, began=perf_counter())
    log.info("worker %d serves", os.getpid(), extra=event("worker_started", snapshot=app._served.snapshot))
    if app.has_process:
        gc.freeze()  # what is here now stays: the collector would look through it again and again, and requests wait
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
        log.info("worker %d ends", os.getpid(), extra=event("worker_stopped"))


async def _tell(tally: Tally) -> None:
    while True:
        CLOCK.mark()
        tally.write()
        await asyncio.sleep(PERIOD)


def create_app(config: Config, world: World | None = None, ledger: Ledger | None = None) -> App:
    """The server of a collection; given a world, of that world, whatever the collection becomes.

    Sessions are written down in the collection, or in the given ledger.
    """
    app = App(config, Served(config.folder, world), ledger or SessionLedger(config.written / "sessions"))
    if config.dns_port:
        app.resolver = Resolver(config.host, config.dns_port, app.of_dns)
    add_docs(app)
    return app


def from_environment() -> App:
    """What each serving process calls: the config is in `WEBEMU_*`."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    app = create_app(load({}))
    app.has_process = True
    return app


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    """A worker whose supervisor was killed must not go on holding the port."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
