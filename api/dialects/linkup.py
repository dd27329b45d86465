"""Linkup (`api.linkup.so`): search and fetch.

A sourced answer has sources and an empty answer; structured answers are refused, because a language model writes both.
Its client requires a `favicon` of every result: empty if the crawl has none.
"""

from __future__ import annotations

from webemu.api.dialects.days import get_day
from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_flag,
    get_header,
    get_number,
    get_text,
    get_texts,
    read_params,
)
from webemu.api.dialects.search import SearchParams, search
from webemu.api.dialects.site import find_icon, open_page
from webemu.api.http.errors import is_server_fault
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError, NotCaptured, ServiceRefusal, ViewUnavailable
from webemu.emulator.types import Hit, PageRequest
from webemu.emulator.world import World

DEFAULT_RESULTS = 10
"""Results of a search that names no number."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/v1/search`. A search without results is an error, as the service has it."""
    params = read_params(request)
    if not (query := get_text(params, "q")).strip():
        raise BadRequest("q should not be empty", reason="bad-q")
    kind = get_text(params, "outputType", "searchResults")
    if kind not in ("searchResults", "sourcedAnswer"):
        raise BadRequest("outputType must be searchResults or sourcedAnswer here", reason="bad-outputType")
    hits = search(world, query, _read_search_params(params), request.session.at_time)[0]
    if not hits:
        raise ServiceRefusal("The query did not yield any result", reason="no-result", status=400)
    if kind == "sourcedAnswer":
        return build_response({"answer": "", "sources": [_render_source(world, request, hit) for hit in hits]})
    return build_response({"results": [_render_result(world, request, hit) for hit in hits]})


def _read_search_params(params: JsonObject) -> SearchParams:
    """Return filters from the parameters."""
    sites, excluded_sites = get_texts(params, "includeDomains"), get_texts(params, "excludeDomains")
    count = get_number(params, "maxResults", DEFAULT_RESULTS, 1, 100)
    return SearchParams(
        0, count, get_day(params, "fromDate"), get_day(params, "toDate"), tuple(sites), tuple(excluded_sites)
    )


def _render_result(world: World, request: Request, hit: Hit) -> JsonObject:
    row: JsonObject = {"type": "text", "name": hit.title or hit.url, "url": hit.url, "content": world.passage_of(hit)}
    return row | {"favicon": find_icon(world, hit.url, request.session.at_time)}


def _render_source(world: World, request: Request, hit: Hit) -> JsonObject:
    row: JsonObject = {"name": hit.title or hit.url, "url": hit.url, "snippet": hit.snippet}
    return row | {"favicon": find_icon(world, hit.url, request.session.at_time)}


def answer_fetch(world: World, request: Request) -> Response:
    """Answer `/v1/fetch` with a page as markdown, and as HTML if that is asked for."""
    params, at_time = read_params(request), request.session.at_time
    if not (url := get_text(params, "url").strip()):
        raise BadRequest("url should not be empty", reason="bad-url")
    page = world.fetch(PageRequest(url, "markdown", at_time))
    payload: JsonObject = {"markdown": page.content, "favicon": find_icon(world, page.capture.url, at_time)}
    html_page = open_page(world, url, "html", at_time)
    if html_page and get_flag(params, "includeRawHtml"):
        payload["rawHtml"] = html_page.content
    if html_page and get_flag(params, "includeRawContent"):
        payload |= {"rawContent": html_page.content, "contentType": page.capture.mime}
    return build_response(payload)


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"statusCode", "error": {"code", "message", "details"}}`."""
    status, code = _classify_error(error)
    field = error.reason.removeprefix("bad-") if isinstance(error, BadRequest) else ""
    details = [{"field": field, "message": error.message}] if field else []
    message = "Validation failed" if field else "Unauthorized" if error.reason == "bad-key" else error.message
    return build_response(
        {"statusCode": status, "error": {"code": code, "message": message, "details": details}}, status
    )


_ERRORS = {
    "bad-key": (401, "UNAUTHORIZED"),
    "rate-limited": (429, "TOO_MANY_REQUESTS"),
    "out-of-budget": (429, "INSUFFICIENT_FUNDS_CREDITS"),
    "no-result": (400, "SEARCH_QUERY_NO_RESULT"),
    "host-not-captured": (400, "FETCH_TARGET_UNREACHABLE"),
    "payload-too-large": (400, "FETCH_RESPONSE_TOO_LARGE"),
    "payload-undecodable": (400, "FETCH_ERROR"),
    "no-such-route": (404, "NOT_FOUND"),
}
"""Status and code by reason of the error."""


def _classify_error(error: EmulatorError) -> tuple[int, str]:
    """Return status and code of an error."""
    if error.reason in _ERRORS:
        return _ERRORS[error.reason]
    if isinstance(error, (NotCaptured, ViewUnavailable)):
        return 400, "FETCH_TARGET_NOT_FOUND" if isinstance(error, NotCaptured) else "FETCH_UNSUPPORTED_CONTENT_TYPE"
    if is_server_fault(error):
        return error.status, "INTERNAL_SERVER_ERROR"
    return error.status, "VALIDATION_ERROR"


DIALECT = Dialect(
    "linkup",
    "Linkup",
    ("api.linkup.so",),
    (Route(("POST",), "/v1/search", answer_search), Route(("POST",), "/v1/fetch", answer_fetch)),
    lambda request: get_header(request, b"authorization", "Bearer"),
    render_error,
    '`LinkupClient(key, base_url="http://127.0.0.1:8800/linkup/v1")`',
    ("linkup-sdk",),
)
