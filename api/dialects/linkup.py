"""Linkup (`api.linkup.so`): search and fetch.

A sourced answer has sources and an empty answer; structured answers are refused, because a language model writes both.
Its client requires a `favicon` of every result: empty if the crawl has none.
"""

from __future__ import annotations

from typing import Any

from webemu.api.dialects.days import day
from webemu.api.dialects.dialect import Dialect, Route, fields, flag, header, number, reply, text, texts
from webemu.api.dialects.search import Wanted, search
from webemu.api.dialects.site import icon, opened
from webemu.api.http.errors import is_ours
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.errors import BadRequest, EmulatorError, NotCaptured, NoView, Refused
from webemu.emulator.types import Hit, PageRequest
from webemu.emulator.world import World

RESULTS = 10
"""Results of a search that names no number."""
Asked = dict[str, Any]
"""A JSON object: parameters of a request, or a part of a response."""


def find(world: World, request: Request) -> Reply:
    """Answer `/v1/search`. A search without results is an error, as the service has it."""
    asked = fields(request)
    if not (query := text(asked, "q")).strip():
        raise BadRequest("q should not be empty", reason="bad-q")
    kind = text(asked, "outputType", "searchResults")
    if kind not in ("searchResults", "sourcedAnswer"):
        raise BadRequest("outputType must be searchResults or sourcedAnswer here", reason="bad-outputType")
    hits = search(world, query, _wanted(asked), request.session.at)[0]
    if not hits:
        raise Refused("The query did not yield any result", reason="no-result", status=400)
    if kind == "sourcedAnswer":
        return reply({"answer": "", "sources": [_source(world, request, hit) for hit in hits]})
    return reply({"results": [_result(world, request, hit) for hit in hits]})


def _wanted(asked: Asked) -> Wanted:
    """Return filters from the parameters."""
    sites, without = texts(asked, "includeDomains"), texts(asked, "excludeDomains")
    count = number(asked, "maxResults", RESULTS, 1, 100)
    return Wanted(0, count, day(asked, "fromDate"), day(asked, "toDate"), tuple(sites), tuple(without))


def _result(world: World, request: Request, hit: Hit) -> Asked:
    one = {"type": "text", "name": hit.title or hit.url, "url": hit.url, "content": world.passage(hit)}
    return one | {"favicon": icon(world, hit.url, request.session.at)}


def _source(world: World, request: Request, hit: Hit) -> Asked:
    one = {"name": hit.title or hit.url, "url": hit.url, "snippet": hit.snippet}
    return one | {"favicon": icon(world, hit.url, request.session.at)}


def fetch(world: World, request: Request) -> Reply:
    """Answer `/v1/fetch` with a page as markdown, and as HTML if that is asked for."""
    asked, at = fields(request), request.session.at
    if not (url := text(asked, "url").strip()):
        raise BadRequest("url should not be empty", reason="bad-url")
    page = world.fetch(PageRequest(url, "markdown", at))
    told: Asked = {"markdown": page.content, "favicon": icon(world, page.capture.url, at)}
    marked = opened(world, url, "html", at)
    if marked and flag(asked, "includeRawHtml"):
        told["rawHtml"] = marked.content
    if marked and flag(asked, "includeRawContent"):
        told |= {"rawContent": marked.content, "contentType": page.capture.mime}
    return reply(told)


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as `{"statusCode", "error": {"code", "message", "details"}}`."""
    status, code = _said(error)
    named = error.reason.removeprefix("bad-") if isinstance(error, BadRequest) else ""
    details = [{"field": named, "message": error.message}] if named else []
    message = "Validation failed" if named else error.message
    return reply({"statusCode": status, "error": {"code": code, "message": message, "details": details}}, status)


_KNOWN = {
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


def _said(error: EmulatorError) -> tuple[int, str]:
    """Return status and code of an error."""
    if error.reason in _KNOWN:
        return _KNOWN[error.reason]
    if isinstance(error, (NotCaptured, NoView)):
        return 400, "FETCH_TARGET_NOT_FOUND" if isinstance(error, NotCaptured) else "FETCH_UNSUPPORTED_CONTENT_TYPE"
    if is_ours(error):
        return error.status, "INTERNAL_SERVER_ERROR"
    return error.status, "VALIDATION_ERROR"


DIALECT = Dialect(
    "linkup",
    "Linkup",
    ("api.linkup.so",),
    (Route(("POST",), "/v1/search", find), Route(("POST",), "/v1/fetch", fetch)),
    lambda request: header(request, b"authorization", "Bearer"),
    refuse,
    '`LinkupClient(key, base_url="http://127.0.0.1:8800/linkup/v1")`',
    ("linkup-sdk",),
)
