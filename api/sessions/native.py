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

from webemu.api.http.errors import INFRASTRUCTURE, error_answer, internal_error, is_ours, method_not_allowed, ours
from webemu.api.http.params import read_body
from webemu.api.http.request import Request
from webemu.api.http.response import Answer, all_headers
from webemu.api.services import native
from webemu.api.services.native import Visit
from webemu.api.services.origin import Reply
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import PageRequest, Query
from webemu.emulator.world import World

Asked = TypeVar("Asked", Query, Visit)


def answer(world: World, request: Request) -> Reply:
    """Return the response of `/v1/search`, `/v1/fetch` or `/v1/find`, errors included.

    Raises:
        BlockingIOError: the world may not wait here; the caller tries again in a thread.
    """
    try:
        methods = ROUTES[request.path]
        method = "GET" if request.method == "HEAD" else request.method
        if (route := methods.get(method)) is None:
            raise method_not_allowed(request.method, request.path, ", ".join([*methods, "HEAD"]))
        return _reply(route(world, request))
    except BlockingIOError:  # no failure: the caller tries again in a thread
        raise
    except BaseException as failure:
        return refused(ours(failure), request, world.snapshot)


def is_quick(request: Request) -> bool:
    """True if a request may be tried on the event loop; slow work raises BlockingIOError there."""
    return request.method in ("GET", "HEAD") and request.path in ("/v1/search", "/v1/fetch")


def refused(error: Exception, request: Request, snapshot: str) -> Reply:
    """Return the error response of any exception, in the error shape of the API."""
    known = error if isinstance(error, EmulatorError) else internal_error(error, f"{request.method} {request.url}")
    return _reply(error_answer(known, snapshot))


def _reply(answer: Answer) -> Reply:
    return Reply(answer.status, HTTPStatus(answer.status).phrase.encode(), all_headers(answer), answer.body)


def _search(world: World, request: Request) -> Answer:
    query = _on(native.parse_search(request.query.encode()), request.session.at)
    return Answer(native.search(world, query), world.snapshot)


def _fetch(world: World, request: Request) -> Answer:
    visit = _at(native.parse_fetch(request.query.encode()), request.session.at)
    if visit.request.view == "raw":
        return native.render_payload(*world.payload(visit.request), world.snapshot)
    return Answer(_page(world, visit), world.snapshot)


def _find(world: World, request: Request) -> Answer:
    hunt = native.parse_find(request.query.encode())
    asked = _seen(hunt.request, request.session.at)
    found = world.find(asked, hunt.pattern, hunt.limit)
    return Answer(native.render_matches(replace(hunt, request=asked), *found), world.snapshot)


def _searches(world: World, request: Request) -> Answer:
    at = request.session.at
    asked = [one if isinstance(one, BadRequest) else _on(one, at) for one in native.parse_searches(_object(request))]
    world.begin(query for query in asked if isinstance(query, Query))
    return _batch(world, asked, partial(native.search, world))


def _fetches(world: World, request: Request) -> Answer:
    at = request.session.at
    asked = [one if isinstance(one, BadRequest) else _at(one, at) for one in native.parse_fetches(_object(request))]
    return _batch(world, asked, lambda visit: _page(world, visit))


def _object(request: Request) -> Mapping[str, object]:
    """Return the JSON object in the body. Raises BadRequest."""
    return read_body(request.body)


def _batch(world: World, asked: Sequence[Asked | BadRequest], render: Callable[[Asked], bytes]) -> Answer:
    """Answer a batch in order; an error becomes the rendering of its member."""
    members, failed = [], False
    for one in asked:
        try:
            members.append(native.render_error(one) if isinstance(one, BadRequest) else render(one))
        except EmulatorError as error:
            failed |= is_ours(error)
            members.append(native.render_error(error))
    body = native.render_batch(members, world.snapshot)
    return Answer(body, world.snapshot, headers=(INFRASTRUCTURE,) if failed else ())


def _page(world: World, visit: Visit) -> bytes:
    return native.render_page(world.fetch(visit.request), visit.window)


def _on(query: Query, at: datetime | None) -> Query:
    """Return the query with the time of the session, unless it has its own."""
    return query if query.as_of else replace(query, as_of=at)


def _at(visit: Visit, at: datetime | None) -> Visit:
    """Return the fetch request with the time of the session, unless it has its own."""
    return replace(visit, request=_seen(visit.request, at))


def _seen(request: PageRequest, at: datetime | None) -> PageRequest:
    """Return the page request with the time of the session, unless it has its own."""
    return request if request.at else replace(request, at=at)


ROUTES: Mapping[str, Mapping[str, Callable[[World, Request], Answer]]] = {
    "/v1/search": {"GET": _search, "POST": _searches},
    "/v1/fetch": {"GET": _fetch, "POST": _fetches},
    "/v1/find": {"GET": _find},
}
"""Routes by path and method."""
