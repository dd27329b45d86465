"""The native API under a session: the same responses, made from the session's own world, each rendered anew.

Members of a batch are answered one after another, so that a budget always runs out at the same member.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import TypeVar

from webemu.api.http.errors import (
    INFRASTRUCTURE,
    is_server_fault,
    log_internal_error,
    method_not_allowed_error,
    render_error_response,
    reraise_if_fatal,
)
from webemu.api.http.params import read_json_body
from webemu.api.http.request import Request
from webemu.api.http.response import ApiResponse, Response, build_headers
from webemu.api.services import native
from webemu.api.services.native import FetchRequest
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import PageRequest, Query
from webemu.emulator.world import World

ParsedRequest = TypeVar("ParsedRequest", Query, FetchRequest)


def answer(world: World, request: Request) -> Response:
    """Return the response of `/v1/search`, `/v1/fetch` or `/v1/find`, errors included.

    Raises:
        BlockingIOError: the world may not wait here; the caller tries again in a thread.
    """
    try:
        methods = ROUTES[request.path]
        method = "GET" if request.method == "HEAD" else request.method
        if (route := methods.get(method)) is None:
            raise method_not_allowed_error(request.method, request.path, ", ".join([*methods, "HEAD"]))
        return _to_response(route(world, request))
    except BlockingIOError:  # no failure: the caller tries again in a thread
        raise
    except BaseException as failure:
        return render_refusal(reraise_if_fatal(failure), request, world.snapshot)


def runs_inline(request: Request) -> bool:
    """True if a request may be tried on the event loop; slow work raises BlockingIOError there."""
    return request.method in ("GET", "HEAD") and request.path in ("/v1/search", "/v1/fetch")


def render_refusal(error: Exception, request: Request, snapshot: str) -> Response:
    """Return the error response of any exception, in the error shape of the API."""
    emulator_error = (
        error if isinstance(error, EmulatorError) else log_internal_error(error, f"{request.method} {request.url}")
    )
    return _to_response(render_error_response(emulator_error, snapshot))


def _to_response(answer: ApiResponse) -> Response:
    return Response(answer.status, HTTPStatus(answer.status).phrase.encode(), build_headers(answer), answer.body)


def _search(world: World, request: Request) -> ApiResponse:
    query = _query_at(native.parse_search(request.query.encode()), request.session.at_time)
    return ApiResponse(native.search(world, query), world.snapshot)


def _fetch(world: World, request: Request) -> ApiResponse:
    fetch_request = _fetch_at(native.parse_fetch(request.query.encode()), request.session.at_time)
    if fetch_request.request.view == "raw":
        return native.render_payload(*world.payload(fetch_request.request), world.snapshot)
    return ApiResponse(_render_page(world, fetch_request), world.snapshot)


def _find(world: World, request: Request) -> ApiResponse:
    find_request = native.parse_find(request.query.encode())
    page_request = _page_at(find_request.request, request.session.at_time)
    page_and_matches = world.find(page_request, find_request.pattern, find_request.limit)
    return ApiResponse(
        native.render_matches(replace(find_request, request=page_request), *page_and_matches), world.snapshot
    )


def _search_batch(world: World, request: Request) -> ApiResponse:
    at_time = request.session.at_time
    queries = [
        one if isinstance(one, BadRequest) else _query_at(one, at_time)
        for one in native.parse_search_batch(read_json_body(request.body))
    ]
    world.prefetch(query for query in queries if isinstance(query, Query))
    return _answer_batch(world, queries, partial(native.search, world))


def _fetch_batch(world: World, request: Request) -> ApiResponse:
    at_time = request.session.at_time
    fetch_requests = [
        one if isinstance(one, BadRequest) else _fetch_at(one, at_time)
        for one in native.parse_fetch_batch(read_json_body(request.body))
    ]
    return _answer_batch(world, fetch_requests, lambda fetch_request: _render_page(world, fetch_request))


def _answer_batch(
    world: World, requests: Sequence[ParsedRequest | BadRequest], render: Callable[[ParsedRequest], bytes]
) -> ApiResponse:
    """Answer a batch in order; an error becomes the rendering of its member."""
    members, has_server_fault = [], False
    for member in requests:
        try:
            members.append(native.render_error(member) if isinstance(member, BadRequest) else render(member))
        except EmulatorError as error:
            has_server_fault |= is_server_fault(error)
            members.append(native.render_error(error))
    body = native.render_batch(members, world.snapshot)
    return ApiResponse(body, world.snapshot, headers=(INFRASTRUCTURE,) if has_server_fault else ())


def _render_page(world: World, fetch_request: FetchRequest) -> bytes:
    return native.render_page(world.fetch(fetch_request.request), fetch_request.text_range)


def _query_at(query: Query, at_time: datetime | None) -> Query:
    """Return the query with the time of the session, unless it has its own."""
    return query if query.as_of else replace(query, as_of=at_time)


def _fetch_at(fetch_request: FetchRequest, at_time: datetime | None) -> FetchRequest:
    """Return the fetch request with the time of the session, unless it has its own."""
    return replace(fetch_request, request=_page_at(fetch_request.request, at_time))


def _page_at(request: PageRequest, at_time: datetime | None) -> PageRequest:
    """Return the page request with the time of the session, unless it has its own."""
    return request if request.at_time else replace(request, at_time=at_time)


ROUTES: Mapping[str, Mapping[str, Callable[[World, Request], ApiResponse]]] = {
    "/v1/search": {"GET": _search, "POST": _search_batch},
    "/v1/fetch": {"GET": _fetch, "POST": _fetch_batch},
    "/v1/find": {"GET": _find},
}
"""Routes by path and method."""
