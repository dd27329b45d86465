"""The ASGI application of a server: world, cache, threads, routes, documentation and DNS put together.

A request goes from `App` to FastAPI, whose routes are the native API (`webemu.api.services.native_api`), unless it is
for the emulated web (`webemu.api.services.web`) or an imitated service. Start at `create_app`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from time import perf_counter

from fastapi import FastAPI
from starlette.exceptions import HTTPException

from webemu.api.http.errors import render_error_response, run_app_safely
from webemu.api.http.listener_rules import RULES
from webemu.api.http.missing_parts import run_app_marked
from webemu.api.http.request import Request
from webemu.api.http.response import ApiResponse, Receive, Scope, Send, send_response
from webemu.api.observe.counters import Counters
from webemu.api.observe.slow_requests import SlowRequestLog
from webemu.api.observe.worker_metrics import WRITE_SECONDS, MetricsAggregator
from webemu.api.proxy.authority import TlsContextCache
from webemu.api.proxy.dns_answers import Address, answer
from webemu.api.proxy.dns_server import DnsServer
from webemu.api.proxy.protocol_sniffer import ProxyHooks
from webemu.api.runtime.batch_sharing import peers_folder as siblings_folder
from webemu.api.runtime.cache import Cache
from webemu.api.runtime.live_snapshot import READER, LiveSnapshot, has_exchanges
from webemu.api.runtime.load_shedding import WORK_CLOCK
from webemu.api.runtime.quota import Quota
from webemu.api.runtime.thread_pool import ThreadPool
from webemu.api.services.native_api import NEVER_SHED_PATHS, NativeApi, decline_inline
from webemu.api.services.openapi import DESCRIPTION, add_docs
from webemu.api.services.own_hosts import is_for_this_server, is_own_host
from webemu.api.services.registry import build_services
from webemu.api.services.routes import Routes
from webemu.api.services.trainer_side import TrainerSide
from webemu.api.services.web import Web
from webemu.api.sessions.credentials import SESSION_PREFIX, has_session, strip_session_prefix
from webemu.api.sessions.handler import SessionHandler
from webemu.api.sessions.listening import NO_POLICY, open_rules, pin_policies, read_policy_file
from webemu.api.sessions.native import ROUTES
from webemu.api.sessions.routes import SessionRoutes
from webemu.api.sessions.store import open_fresh_session
from webemu.api.sessions.worlds import WorldCache
from webemu.emulator.config import Config, load_config
from webemu.emulator.errors import EmulatorError, ServiceRefusal
from webemu.emulator.ledger import Ledger
from webemu.emulator.logs import event_extra
from webemu.emulator.policy import Policy
from webemu.emulator.session import has_policy_prefix
from webemu.emulator.world import World
from webemu.index.kept_texts import FOLDER as VIEWS_FOLDER
from webemu.index.kept_texts import KeptTexts
from webemu.index.ledger import SessionLedger
from webemu.index.open import RECENT_CONVERSIONS
from webemu.index.self_check import SelfCheck
from webemu.index.traces import TraceWriter

log = logging.getLogger("webemu.serve")

COUNTED = "webemu.counted"
"""Key of an ASGI scope: True for a request that was counted against the quota."""
GC_THRESHOLD = 20_000
"""Allocations before the garbage collector looks for reference cycles. A request leaves no cycles but creates hundreds
of objects, so Python's low default would collect during almost every request.
"""


class App:
    """ASGI application of a server: a FastAPI application, and in front of it what no path can route.

    The host of a request, its session or its body decide whether the emulated web or an imitated service answers it;
    FastAPI has the native API and its documentation.
    """

    def __init__(self, config: Config, live_snapshot: LiveSnapshot, ledger: Ledger) -> None:
        self._live_snapshot = live_snapshot
        self._pool = pool = ThreadPool(max(2, min(8, os.cpu_count() or 2)))
        self._ports = (config.port, *config.further_ports)
        counters, slow_requests, cache = Counters(), SlowRequestLog(config.slow_ms), Cache(config.cache_mb)
        live_snapshot.set_listeners(counters.record_query, counters.vain.record)
        counters.list_slow_requests = slow_requests.recent
        self._metrics = MetricsAggregator(counters.worker_figures, siblings_folder())
        self._traces = TraceWriter(config.state_folder / "traces")
        counters.sections |= {"cache": cache.figures, "pool": pool.figures, "traces": self._traces.figures}
        counters.sections |= live_snapshot.sections
        counters.sections["reader"] = lambda: READER
        world_cache = WorldCache(live_snapshot.open, live_snapshot.is_open, cache)
        self._rules = open_rules(config, ledger)
        self._quota = Quota(config.requests_per_minute, config.megabytes_per_day, siblings_folder())
        session_handler = SessionHandler(ledger, world_cache, self._traces, pool, counters.record_session)
        self._web = Web(
            live_snapshot, build_services(config.accepted_keys), pool, counters, slow_requests, session_handler
        )
        self._native = NativeApi(
            Routes(live_snapshot, cache, pool, counters, self._metrics),
            SessionRoutes(session_handler.store, pool),
            live_snapshot,
            counters,
            slow_requests,
            config.compress,
            TrainerSide(config.admin_token, config.accepted_keys),
        )
        self.fastapi = _build_fastapi(self._native, self._lifespan)
        """Native API and documentation."""
        is_open = self._rules.are_all_open and not self._quota.is_limited
        try_inline = self._native.try_inline if is_open else decline_inline
        self.doors = ProxyHooks(self.serve_web, self._web.is_captured_host, TlsContextCache(config.root), try_inline)
        """Functions that the protocols of `webemu.api.proxy` need; they find them under this attribute."""
        self._views = (config.state_folder / VIEWS_FOLDER, config.views_mb << 20)
        self._host_networks = config.host_networks
        self.dns_server = DnsServer(config.host, config.dns_port, self.answer_dns) if config.dns_port else None
        """DNS server if one is configured; opened and closed together with the application."""
        self.owns_process = False
        """True if nothing else runs in this process, so that its garbage collector may be tuned."""
        self._has_started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection: an HTTP request, or the lifespan events, which are FastAPI's."""
        if scope["type"] != "http":
            await self.fastapi(scope, receive, send)
            return
        route = partial(run_app_marked, self._route) if self._live_snapshot.is_remote else self._route
        await run_app_safely(route, self._render_error, scope, receive, send)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Give a request to an imitated service or one of this server's own pages if it is meant for one, else to
        FastAPI.

        Services may recognise their requests by the body, and those of a session are answered under its policy.
        """
        if (admitted := await self._admit(scope, send, scope["path"] in NEVER_SHED_PATHS)) is None:
            return
        scope, send = admitted
        if scope["path"].startswith(SESSION_PREFIX):
            scope = strip_session_prefix(scope)
        has_policy = has_session(scope["headers"]) or (RULES in scope and scope["path"] in ROUTES)
        is_native = self._native.has_path(scope["path"]) and not has_policy
        if is_native or not await self._web.serve_own_host(scope, receive, send):
            await self.fastapi(scope, receive, send)

    async def _admit(self, scope: Scope, send: Send, is_exempt: bool = False) -> tuple[Scope, Send] | None:
        """Return a request with the rules of its listener, and counted against the quota unless it is exempt; once,
        though one that names this server may come here twice. A request that its listener is not for is refused here:
        None.
        """
        try:
            scope = self._rules.annotate(scope)
        except ServiceRefusal as error:
            await send_response(self._render_error(error), send, bodiless=scope["method"] == "HEAD")
            return None
        if not self._quota.is_limited or is_exempt or COUNTED in scope:
            return scope, send
        return self._quota.apply({**scope, COUNTED: True}, send)

    def _render_error(self, error: EmulatorError) -> ApiResponse:
        return render_error_response(error, self._live_snapshot.snapshot)

    async def serve_web(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that arrived for the emulated web: as a captured page, or as this server's own if it names
        this server and the URL was not captured.
        """
        if (admitted := await self._admit(scope, send)) is None:
            return
        scope, send = admitted
        door = self if is_for_this_server(scope, self._ports) and not self._web.has_capture(scope) else self._web
        await door(scope, receive, send)

    def has_answer(self, request: Request) -> bool:
        """True if the collection has the recorded answer to a request to the emulated web."""
        return self._web.has_answer(request)

    def answer_dns(self, packet: bytes, local_address: Address) -> bytes:
        """Return the DNS response to a packet that arrived at `local_address`; empty if none is due."""
        return answer(packet, local_address, self._is_resolvable, self._host_networks)

    def _is_resolvable(self, name: str) -> bool:
        """True if DNS resolves a name to this server.

        Raises:
            SnapshotError: no snapshot is open. A plain False would let clients cache that the name does not exist.
        """
        _ = self._live_snapshot.world  # raises
        return not is_own_host(name) and self._web.is_captured_host(name)

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """Open what the application needs before the first request, and close it after the last one."""
        if self._has_started:
            raise EmulatorError(
                "this app was started before and cannot be started again; create another with create_app"
            )
        self._has_started = True
        kept_texts = KeptTexts(*self._views) if self._views[1] else None
        RECENT_CONVERSIONS.kept_texts = kept_texts
        await self._live_snapshot.refresh()
        if self.dns_server:
            await self.dns_server.open()
        if peers := self._live_snapshot.peers:
            peers.open()
        follow_task = asyncio.create_task(self._live_snapshot.follow())
        publish_task = asyncio.create_task(_publish_metrics(self._metrics))
        # Connections may wait in the backlog since before the start; only the time from now on counts as waiting.
        self.doors = replace(self.doors, ready_at=perf_counter())
        log.info(
            "worker %d is ready",
            os.getpid(),
            extra=event_extra("worker_started", snapshot=self._live_snapshot.snapshot),
        )
        if self.owns_process:
            gc.freeze()  # objects of the start live for ever: traversing them on each collection would delay requests
            gc.set_threshold(GC_THRESHOLD)
        try:
            yield
        finally:
            if self.owns_process:
                gc.unfreeze()
            if self.dns_server:
                self.dns_server.close()
            if peers:
                peers.close()
            for task in (follow_task, publish_task):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            self._metrics.write()
            self._pool.close()
            self._traces.close()
            RECENT_CONVERSIONS.kept_texts = None
            if kept_texts:
                kept_texts.close()
            log.info("worker %d has stopped", os.getpid(), extra=event_extra("worker_stopped"))


def _build_fastapi(native: NativeApi, lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]]) -> FastAPI:
    """Return the FastAPI application of the native API and its documentation."""
    app = FastAPI(
        title="webemu",
        description=DESCRIPTION,
        openapi_url=None,  # `add_docs` has routes for the document and the page
        redirect_slashes=False,
        routes=native.routes,
        exception_handlers={HTTPException: native.handle_error, Exception: native.handle_error},
        lifespan=lifespan,
    )
    add_docs(app)
    return app


async def _publish_metrics(metrics: MetricsAggregator) -> None:
    """Publish the figures of this worker every second, and mark its processor time for load shedding."""
    while True:
        WORK_CLOCK.mark()
        metrics.write()
        await asyncio.sleep(WRITE_SECONDS)


def create_app(
    config: Config,
    world: World | None = None,
    ledger: Ledger | None = None,
    live_snapshot: LiveSnapshot | None = None,
) -> App:
    """Return the ASGI application that serves a collection.

    With a `world`, it serves exactly that world and never switches to a newer snapshot; with a `live_snapshot`, it
    serves what that one follows. Sessions are recorded in the
    collection's `sessions/` folder, or in the given `ledger`.

        app = create_app(load({"root": "webemu-data", "collection": "demo"}))
        uvicorn.run(app)
    """
    return App(
        config,
        live_snapshot
        or LiveSnapshot(
            config.collection_folder,
            world,
            SelfCheck(config.collection_folder, config.state_folder, config.check_hours),
        ),
        ledger or SessionLedger(config.state_folder / "sessions"),
    )


def store_policies(config: Config) -> Config:
    """Return the settings with policies that are in files stored in the ledger, where all processes find them.

    Raises: as `webemu.api.sessions.listening.open_rules`.
    """
    if config.policy == config.listen == NO_POLICY:
        return config
    return pin_policies(config, SessionLedger(config.state_folder / "sessions"))


def store_run_policy(config: Config) -> Config:
    """Return the settings of a single run: with a session of its own if the collection has recorded exchanges, since
    these are replayed in order within a session. Otherwise as `store_policies`, which says what it raises.
    """
    if has_policy_prefix(config.policy) or not has_exchanges(config.collection_folder):
        return store_policies(config)
    policy = Policy() if config.policy == NO_POLICY else read_policy_file(config.policy)
    return replace(config, policy=open_fresh_session(policy, SessionLedger(config.state_folder / "sessions")))


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
