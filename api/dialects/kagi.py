"""Kagi's Search API (`kagi.com/api/v0`) and its enrichment indexes, which have the same response format."""

from __future__ import annotations

from webemu.api.dialects.days import format_midnight
from webemu.api.dialects.dialect import (
    Dialect,
    Route,
    build_response,
    get_header,
    get_number,
    get_text,
    read_params,
    request_digest,
)
from webemu.api.dialects.search import MAX_RELATED, SearchParams, search
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

_ERROR_CODES = {"bad-key": (2, "Unauthorized"), "out-of-budget": (101, "Insufficient credit")}
"""Kagi's code and message by reason of the error."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/api/v0/search`, `/api/v0/enrich/web` and `/api/v0/enrich/news`."""
    params = read_params(request)
    if not (query := get_text(params, "q")).strip():
        raise BadRequest("Missing query parameter: q", reason="bad-q")
    search_params = SearchParams(
        count=get_number(params, "limit", 10, 1, 100), published=request.path.endswith("/news")
    )
    hits = search(world, query, search_params, request.session.at_time)[0]
    rows = [_render_result(hit, rank) for rank, hit in enumerate(hits, 1)]
    related_queries = world.related_queries(query, hits, MAX_RELATED) if request.path.endswith("/search") else []
    return build_response(
        {"meta": _render_meta(request), "data": rows + ([{"t": 1, "list": related_queries}] if related_queries else [])}
    )


def _render_result(hit: Hit, rank: int) -> dict[str, object]:
    row = {"t": 0, "rank": rank, "url": hit.url, "title": hit.title or hit.url, "snippet": hit.snippet}
    return row | {"published": format_midnight(hit.date)}


def _render_meta(request: Request) -> dict[str, object]:
    return {"id": request_digest(request)[:32], "node": "us-east", "ms": 0, "api_balance": 0.0}


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"meta", "data": null, "error": [{"code", "msg", "ref"}]}`."""
    code, message = _ERROR_CODES.get(error.reason, (0 if error.status >= 500 else 1, error.message))
    status = 402 if error.reason == "out-of-budget" else error.status
    return build_response(
        {"meta": _render_meta(request), "data": None, "error": [{"code": code, "msg": message, "ref": None}]}, status
    )


DIALECT = Dialect(
    "kagi",
    "Kagi",
    ("kagi.com",),
    (Route(("GET",), "/api/v0/(search|enrich/web|enrich/news)", answer_search, True),),
    lambda request: get_header(request, b"authorization", "Bot"),
    render_error,
    "by name through the proxy; `http://127.0.0.1:8800/kagi/api/v0` where a client has a base URL",
    is_meant_at_root=lambda request: request.path.startswith("/api/v0/"),
)
