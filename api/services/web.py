"""The emulated web as an ASGI application: any URL, answered as it was when the crawl saw it.

What was not captured is answered plausibly and marked: an unknown host as a name that does not resolve, an unknown
path with the host's own error page if it was captured, else with a plain 404. Services that live on the web (archives,
wikis, search APIs) are modules of their own, found through `webemu.api.services.registry`. Debug headers of this
server begin with `X-Webemu-`. No request leaves this machine.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import NamedTuple, TypeVar

from webemu.api.dialects.dialect import Dialect
from webemu.api.http.body import read_body
from webemu.api.http.disconnect import run_while_connected
from webemu.api.http.errors import (
    reraise_if_fatal,
    run_app_safely,
)
from webemu.api.http.head import sanitize_headers
from webemu.api.http.request import Handler, Request, read_request, read_without_session
from webemu.api.http.response import Receive, Response, Scope, Send
from webemu.api.mcp import session_errors
from webemu.api.observe.counters import Counters
from webemu.api.observe.slow_requests import SlowRequestLog
from webemu.api.runtime.live_snapshot import LiveSnapshot
from webemu.api.runtime.load_shedding import arrival_time, find_refusal, wait_for_turn
from webemu.api.runtime.thread_pool import ThreadPool
from webemu.api.services.captured_web import answer, answer_from_index, render_plain_failure, render_refusal
from webemu.api.services.recordings import has_recorded_answer, mark_unrecorded, replay_exchange
from webemu.api.services.registry import MCP_DIALECT, Services
from webemu.api.sessions.connection_faults import break_connection, strip_debug_headers
from webemu.api.sessions.handler import SessionHandler
from webemu.api.sessions.native import ROUTES
from webemu.api.sessions.responder import (
    NATIVE_RESPONDER,
    Responder,
    check_api_key,
    dialect_responder,
    with_session_from_key,
)
from webemu.emulator import inline_work
from webemu.emulator.errors import EmulatorError
from webemu.emulator.world import World

MaybeResponse = TypeVar("MaybeResponse", Response, Response | None)
Client = tuple[Scope, Receive]
"""Means to notice that the client of a request leaves."""

WEB_ROUTE, PAGES_ROUTE = "the web", "pages"
"""Route names in `/v1/stats` for every address of the emulated web, and for this server's own pages."""
MAX_BODY_BYTES = 8_000_000
"""Largest body of a request, in bytes."""


class RequestTimer(NamedTuple):
    """Start time of a request, and the route under which it will be counted."""

    route: str
    start: float

    def with_dialect(self, dialect: Dialect | None) -> RequestTimer:
        """Return the timer with the name of the dialect as its route; itself without a dialect."""
        return self if dialect is None else self._replace(route=dialect.name)


class Web:
    """ASGI application for requests whose Host is a host of the web."""

    def __init__(
        self,
        live_snapshot: LiveSnapshot,
        services: Services,
        pool: ThreadPool,
        counters: Counters,
        slow_requests: SlowRequestLog,
        session_handler: SessionHandler,
    ) -> None:
        self._live_snapshot = live_snapshot
        self._services = services
        self._pool = pool
        self._counters = counters
        self._slow_requests = slow_requests
        self._session_handler = session_handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        await run_app_safely(self._answer, render_plain_failure, scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, under its session if it has one, and send the response."""
        request: Request | None = None
        timer = RequestTimer(WEB_ROUTE, arrival_time(scope))
        refusal = find_refusal(scope, timer.start)  # asked now: reading the body would count as waiting
        try:
            if (request := await _read_request(scope, receive)) is None:
                return
            service = self._services.hosts.get(request.host)
            timer = timer.with_dialect(self._dialect(service))
            request = self._with_session(request, service)
            if refusal := refusal or await wait_for_turn():
                reply = self._responder(request.host, service, answer).render_error(request, refusal)
            elif request.session.id:
                handler = partial(_serve_service_host, service) if service else answer
                await self._handle_session(request, self._responder(request.host, service, handler), scope, send, timer)
                return
            else:
                reply = await self._answer_without_session(request, (scope, receive))
        except ConnectionResetError:  # injected by the weather of a session: the connection is meant to end
            raise
        except BaseException as failure:
            reply = self._refuse_unreadable(failure, scope, is_own=False)
        await self._send_response(reply, scope, send, request is None or request.session.sends_debug_headers, timer)

    async def serve_own_host(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer a request to one of this server's own pages or services; return False if there is none at its path."""
        timer = RequestTimer(PAGES_ROUTE, arrival_time(scope))
        refusal = find_refusal(scope, timer.start)
        reply: Response | None
        try:
            if (request := await _read_request(scope, receive)) is None:
                return True
            request, responder = self._resolve_own(request)
            if responder is None:
                return False
            timer = (
                RequestTimer(request.path, timer.start)
                if responder is NATIVE_RESPONDER
                else timer.with_dialect(self._dialect(responder.handler))
            )
            if refusal := refusal or await wait_for_turn():
                reply = responder.render_error(request, refusal)
            elif request.session.id and not session_errors.is_protocol_message(request):
                return await self._handle_session(request, responder, scope, send, timer)
            else:
                reply = await self._run_service(responder.handler, responder.handler, request, (scope, receive))
                if request.session.id and reply is not None:  # a session may have another snapshot than the live one
                    reply = reply._replace(headers=[pair for pair in reply.headers if pair[0] != b"X-Webemu-Snapshot"])
        except ConnectionResetError:  # injected by the weather of a session: the connection is meant to end
            raise
        except BaseException as failure:
            reply = self._refuse_unreadable(failure, scope, is_own=True)
        if reply is not None:
            await self._send_response(reply, scope, send, True, timer)
        return reply is not None

    def _refuse_unreadable(self, failure: BaseException, scope: Scope, is_own: bool) -> Response:
        """Return the error response to a request that could not be read, or not answered, in the format of its
        service.
        """
        request = read_without_session(scope)
        service = self._services.find_own_handler(request) if is_own else self._services.hosts.get(request.host)
        responder = NATIVE_RESPONDER if is_own and service is None else self._responder(request.host, service, answer)
        return responder.render_error(request, reraise_if_fatal(failure))

    def _resolve_own(self, request: Request) -> tuple[Request, Responder | None]:
        """Return the request with its session, and who answers it for this server; None if no page or service does."""
        if request.path in ROUTES:
            request = with_session_from_key(request, None)
            check_api_key(request)
            return request, NATIVE_RESPONDER
        if (handler := self._services.find_own_handler(request)) is None:
            return request, None
        request, dialect = self._with_session(request, handler), self._dialect(handler)
        if dialect is MCP_DIALECT:
            check_api_key(request)
        return request, self._responder(NATIVE_RESPONDER.service, handler, handler)

    def _dialect(self, service: Handler | None) -> Dialect | None:
        return self._services.dialects.get(service) if service else None

    def _with_session(self, request: Request, service: Handler | None) -> Request:
        """Return the request with the session that it carries in place of an API key, if any."""
        return with_session_from_key(request, self._dialect(service))

    def _responder(self, name: str, service: Handler | None, handler: Handler) -> Responder:
        """Return who answers a request: a service with its dialect, else the plain web."""
        dialect = self._dialect(service)
        return dialect_responder(dialect, handler) if dialect else Responder(name, handler, render_refusal)

    async def _handle_session(
        self, request: Request, responder: Responder, scope: Scope, send: Send, timer: RequestTimer
    ) -> bool:
        """Answer a request under the policy of its session; return False if the service has no answer."""
        outcome = await self._session_handler.handle(request, responder)
        if outcome.connection_fault:
            reply = outcome.reply and self._sanitize(outcome.reply)
            await break_connection(outcome._replace(reply=reply), scope, send)
        elif outcome.reply is not None:
            await self._send_response(
                outcome.reply, scope, send, outcome.sends_debug_headers, timer, outcome.delay_ms / 1000
            )
        return outcome.reply is not None or bool(outcome.connection_fault)

    async def _run_service(
        self,
        service: Handler,
        handler: Callable[[World, Request], MaybeResponse],
        request: Request,
        client: Client,
    ) -> MaybeResponse:
        """Return what a service answers, on the event loop if that is as quick as a search, else from a thread, where
        the work ends if the client leaves.
        """
        world = self._live_snapshot.world
        if self._services.runs_inline(service, request) and not world.has_exchanges:
            world = self._session_handler.worlds.get_sessionless()
            if not world.is_remote:
                with suppress(BlockingIOError), inline_work.on_event_loop():
                    return handler(world, request)
        return await run_while_connected(self._pool.run(partial(handler, world, request)), *client)

    async def _answer_without_session(self, request: Request, client: Client) -> Response:
        """Answer on the event loop if neither the disk nor long work is needed, else in a thread."""
        world = self._live_snapshot.world
        if service := self._services.hosts.get(request.host):
            return await self._run_service(service, partial(_serve_service_host, service), request, client)
        try:
            return answer(world, request, wait=False)
        except BlockingIOError:
            return await self._pool.run(partial(answer, world, request))

    async def _send_response(
        self,
        reply: Response,
        scope: Scope,
        send: Send,
        keeps_debug_headers: bool,
        timer: RequestTimer,
        weather_seconds: float = 0.0,
    ) -> None:
        """Send a response and count the request.

        `weather_seconds` is the delay injected by the weather of a session, which does not make the request slow.
        Debug headers are removed unless `keeps_debug_headers`.
        """
        reply = self._sanitize(reply)
        seconds = perf_counter() - timer.start
        self._counters.count(timer.route, reply.status, seconds)
        if reply.status >= 500 or seconds - weather_seconds >= self._slow_requests.threshold_seconds:
            method_and_path = (scope["method"], scope["path"])
            self._slow_requests.log_request(
                timer.route, method_and_path, reply.status, seconds - weather_seconds, reply.headers, reply.body
            )
        headers = reply.headers if keeps_debug_headers else strip_debug_headers(reply.headers)
        await send({"type": "http.response.start", "status": reply.status, "reason": reply.reason, "headers": headers})
        bodiless = scope["method"] == "HEAD" or reply.status in (204, 304)
        await send({"type": "http.response.body", "body": b"" if bodiless else reply.body})

    def _sanitize(self, reply: Response) -> Response:
        """Return the response with only those headers that every client accepts; count the headers that are dropped."""
        headers, dropped = sanitize_headers(reply.headers)
        self._counters.count_dropped_headers(dropped)
        return reply._replace(headers=headers) if dropped else reply

    def is_captured_host(self, host: str) -> bool:
        """True if a host name resolves on the emulated web, or an IP address was captured; False until a snapshot is
        open.
        """
        try:
            name = host.lower().rstrip(".")
            name = f"[{name}]" if ":" in name else name  # IPv6 addresses have brackets in URLs
            return self._services.has_host(name) or self._live_snapshot.world.knows_host(name)
        except EmulatorError:
            return False

    def has_answer(self, request: Request) -> bool:
        """True if the snapshot answers a request with what was recorded, not with a substitute; False until one is
        open.
        """
        try:
            return has_recorded_answer(self._live_snapshot.world, request)
        except EmulatorError:
            return False

    def has_capture(self, scope: Scope) -> bool:
        """True if the very URL was captured; False until a snapshot is open."""
        try:
            return self._live_snapshot.world.has_url(read_without_session(scope).url)
        except EmulatorError:
            return False


async def _read_request(scope: Scope, receive: Receive) -> Request | None:
    """Return the request with its body; None if the client disconnected. Raises BadRequest and HttpError."""
    request = read_request(scope)
    if request.method in ("GET", "HEAD"):
        return request
    body = await read_body(scope, receive, MAX_BODY_BYTES)
    return None if body is None else request._replace(body=body)


def _serve_service_host(service: Handler, world: World, request: Request) -> Response:
    """Answer a request to the host of a service: what was recorded comes first, then its captured pages; the service
    has the rest.
    """
    if world.has_exchanges:
        reply = replay_exchange(world, request, "searches")
        return reply or mark_unrecorded(_serve_service(service, world, request))
    return _serve_service(service, world, request)


def _serve_service(service: Handler, world: World, request: Request) -> Response:
    """Answer a request to the host of a service with a captured page, else as the service."""
    if request.method in ("GET", "HEAD") and world.has_url(request.url):
        return answer_from_index(world, request)
    return service(world, request) or answer_from_index(world, request)
