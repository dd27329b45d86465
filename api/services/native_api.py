"""The native API as routes of FastAPI: the endpoint of each path reads a request, answers it, and counts it.

`Routes` has the handlers, which know neither FastAPI nor ASGI. The same handlers answer in two places: here as routes,
and by `try_inline` for a GET that has nothing to wait for (docs/decisions/014-answered-where-it-is-read.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter

from fastapi import Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute

from webemu.api.http.body import read_body
from webemu.api.http.coding import compress_response
from webemu.api.http.disconnect import run_while_connected
from webemu.api.http.errors import (
    AsgiApp,
    log_internal_error,
    method_not_allowed_error,
    no_such_route_error,
    render_error_response,
    reraise_if_fatal,
)
from webemu.api.http.head import sanitize_headers
from webemu.api.http.listener_rules import RULES
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
from webemu.api.runtime.live_snapshot import LiveSnapshot
from webemu.api.runtime.load_shedding import arrival_time, find_refusal, is_overdue, overload_error, wait_for_turn
from webemu.api.services.routes import Route, Routes
from webemu.api.services.trainer_side import TRAINER_PATHS, TrainerSide
from webemu.api.sessions.credentials import has_session
from webemu.api.sessions.routes import PATH, SessionRoutes
from webemu.emulator.errors import EmulatorError

MAX_BODY_BYTES = 8_000_000
"""Largest body of a POST request to the API, in bytes."""
NEVER_SHED_PATHS = frozenset(("/health", "/metrics", "/v1/stats", "/dashboard", "/dashboard/figures"))
"""Paths that are answered however long the request waited: monitoring must work on a server that is overloaded."""
OTHER_ROUTES = "other"
"""Route name in `/v1/stats` for every address that is not a native route."""


class NativeRoute(StarletteRoute):
    """Route of FastAPI that matches its path exactly, and takes every method: the endpoint refuses the wrong ones.

    A plain route of Starlette would match a path with a line feed at its end, too.
    """

    def __init__(self, path: str, endpoint: AsgiApp) -> None:
        super().__init__(path, endpoint)
        self.path_regex = re.compile(self.path_regex.pattern.removesuffix("$") + r"\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NativeEndpoint:
    """ASGI application of one native route."""

    api: NativeApi
    find_methods: Callable[[str], Mapping[str, Route] | None]
    """Function that returns the handlers of a path by method."""
    route_label: str
    """Name under which the requests are counted."""
    is_for_trainer: bool = False
    """True if agents are told that the route does not exist."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Raises HTTPException, which FastAPI gives to `NativeApi.handle_error`."""
        if self.is_for_trainer and (error := self.api.trainer_side.find_refusal(scope)):
            await self.api.refuse(error, scope, send, self.route_label)
            return
        methods = self.find_methods(scope["path"])
        assert methods is not None  # the route has matched
        await self.api.answer(methods, scope, receive, send, self.route_label)


def decline_inline(path: str, query: bytes, headers: list[Header], queued_seconds: float) -> ApiResponse | None:
    """Return None for every request: a server with rules answers all in the usual way, which applies them."""
    return None


class NativeApi:
    """Answers requests of the native API: sheds, reads, calls the handler, counts, compresses, sends."""

    def __init__(
        self,
        routes: Routes,
        sessions: SessionRoutes,
        live_snapshot: LiveSnapshot,
        counters: Counters,
        slow_requests: SlowRequestLog,
        min_gzip_bytes: int,
        trainer_side: TrainerSide,
    ) -> None:
        self._table, self._inline_routes = routes.table, routes.inline_routes
        self._sessions = sessions
        self._live_snapshot = live_snapshot
        self._counters = counters
        self._slow_requests = slow_requests
        self._min_gzip_bytes = min_gzip_bytes
        self.trainer_side = trainer_side
        """Decides who may use the routes of the trainer."""

    @property
    def routes(self) -> list[BaseRoute]:
        """Routes for a FastAPI application."""
        sessions = NativeEndpoint(self, self._sessions.find_methods, PATH, is_for_trainer=True)
        return [
            *(
                NativeRoute(path, NativeEndpoint(self, self._table.get, path, path in TRAINER_PATHS))
                for path in self._table
            ),
            NativeRoute(PATH, sessions),
            NativeRoute(f"{PATH}/{{session:path}}", sessions),
        ]

    def has_path(self, path: str) -> bool:
        """True if a path belongs to the native API."""
        return path in self._table or self._sessions.find_methods(path) is not None

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
            request_line = f"GET {path}?{query[:500]!r}"
            answer = self._render_error(reraise_if_fatal(error), request_line, self._live_snapshot.snapshot)
        return answer and self._finish(answer, path, ("GET", path), perf_counter() - start, headers)

    async def refuse(self, error: EmulatorError, scope: Scope, send: Send, route_label: str) -> None:
        """Answer a request with an error, and count it."""
        answer = render_error_response(error, self._snapshot_shown(scope))
        self._count(route_label, (scope["method"], scope["path"]), answer, 0.0)
        await send_response(answer, send, bodiless=scope["method"] == "HEAD")

    async def answer(
        self, methods: Mapping[str, Route], scope: Scope, receive: Receive, send: Send, route_label: str
    ) -> None:
        """Answer a request to a native route with the handler of its method."""
        method, path, start = scope["method"], scope["path"], arrival_time(scope)
        try:
            if (refusal := find_refusal(scope, start)) and path not in NEVER_SHED_PATHS:
                raise refusal
            if (route := methods.get(method)) is None:
                raise method_not_allowed_error(method, path, ", ".join(methods))
            query_or_body = (
                scope["query_string"] if method != "POST" else await read_body(scope, receive, MAX_BODY_BYTES)
            )
            if query_or_body is None:  # the client disconnected before its body was complete
                return
            if path not in NEVER_SHED_PATHS and (refusal := await wait_for_turn()):
                raise refusal
            work = route(query_or_body)
            answer = await (run_while_connected(work, scope, receive) if method == "POST" else work)
        except BaseException as error:
            request_line = f"{method} {path}?{scope['query_string'][:500]!r}"
            answer = self._render_error(reraise_if_fatal(error), request_line, self._snapshot_shown(scope))
        answer = self._finish(answer, route_label, (method, path), perf_counter() - start, scope["headers"])
        await send_response(answer, send, bodiless=method == "HEAD")

    def _finish(
        self,
        answer: ApiResponse,
        route_label: str,
        method_and_path: tuple[str, str],
        seconds: float,
        request_headers: list[Header],
    ) -> ApiResponse:
        """Count a request, and return its response as it is sent: clean, and in gzip if that is wanted."""
        answer = self._sanitize(answer)
        self._count(route_label, method_and_path, answer, seconds)
        return compress_response(answer, request_headers, self._min_gzip_bytes) if self._min_gzip_bytes else answer

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

    def _snapshot_shown(self, scope: Scope) -> str:
        """Return the id of the live snapshot; empty for those who carry a session, whose web may be an earlier one."""
        return "" if RULES in scope or has_session(scope["headers"]) else self._live_snapshot.snapshot

    def _render_error(self, error: Exception, request_line: str, snapshot: str) -> ApiResponse:
        """Return the JSON error response of any exception. An exception that is not an `EmulatorError` is logged as a
        defect.
        """
        emulator_error = error if isinstance(error, EmulatorError) else log_internal_error(error, request_line)
        return render_error_response(emulator_error, snapshot)

    async def handle_error(self, request: Request, error: Exception) -> Response:
        """Answer an exception that FastAPI caught in the error shape of this API, and count it."""
        method, path = request.method, request.url.path
        if isinstance(error, HTTPException):  # Starlette's own: no route has the path, or not for this method
            is_method = error.status_code == 405
            error = method_not_allowed_error(method, path, "GET, HEAD") if is_method else no_such_route_error(path)
        answer = self._render_error(error, f"{method} {path}", self._snapshot_shown(request.scope))
        self._count(OTHER_ROUTES, (method, path), answer, 0.0)
        response = Response(answer.body, answer.status)
        response.raw_headers = build_headers(answer)
        return response
