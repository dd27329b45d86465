"""Bocha (`api.bochaai.com`, `api.bocha.cn`): web search in the shape of Bing's, as agents in China use it.

The service's `dateLastCrawled` is the date of publication in Peking's time, marked as if it were UTC.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_flag,
    get_header,
    get_number,
    get_text,
    read_params,
    request_digest,
)
from webemu.api.dialects.display import display_title
from webemu.api.dialects.freshness import parse_freshness
from webemu.api.dialects.search import SearchParams, estimate_total, search
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

_ABSENT_MEMBERS: JsonObject = dict.fromkeys(("cachedPageUrl", "language", "isFamilyFriendly", "isNavigational"))
"""Members of a result that the service always leaves null."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/v1/web-search`."""
    params = read_params(request)
    if not (query := get_text(params, "query")).strip():
        raise BadRequest("Missing parameter query", reason="bad-query")
    search_params = _read_search_params(world, request, params)
    hits, has_more = search(world, query, search_params, request.session.at_time)
    rows = [_render_page(world, hit, get_flag(params, "summary")) for hit in hits]
    pages = {"webSearchUrl": f"https://bochaai.com/search?q={quote(query)}", "value": rows, "someResultsRemoved": False}
    pages["totalEstimatedMatches"] = estimate_total(search_params, len(hits), has_more)
    results: JsonObject = {"_type": "SearchResponse", "queryContext": {"originalQuery": query}, "webPages": pages}
    images: JsonObject = {"id": None, "readLink": None, "webSearchUrl": None, "value": [], "isFamilyFriendly": None}
    payload = {
        "code": 200,
        "log_id": _log_id(request),
        "msg": None,
        "data": results | {"images": images, "videos": None},
    }
    return build_response(payload)


def _read_search_params(world: World, request: Request, params: JsonObject) -> SearchParams:
    """Return filters and paging. Sites are separated by `|` or commas."""
    count, page = get_number(params, "count", 10, 1, 50), get_number(params, "page", 1, 1, 20)
    after, before = parse_freshness(world, request, get_text(params, "freshness", "noLimit"))
    sites, excluded_sites = (_split_sites(get_text(params, name)) for name in ("include", "exclude"))
    return SearchParams((page - 1) * count, count, after, before, sites, excluded_sites)


def _split_sites(value: str) -> tuple[str, ...]:
    return tuple(site for site in re.split(r"[|,\s]+", value) if site)


def _render_page(world: World, hit: Hit, has_summary: bool) -> JsonObject:
    row: JsonObject = {"id": None, "name": display_title(hit), "url": hit.url, "displayUrl": hit.url}
    row |= {"snippet": hit.snippet} | ({"summary": world.passage_of(hit)} if has_summary else {})
    row |= {"siteName": urls.host_of(hit.url), "siteIcon": urls.resolve(hit.url, "/favicon.ico")}
    dates = {"datePublished": f"{hit.date}T00:00:00+08:00", "dateLastCrawled": f"{hit.date}T00:00:00Z"}
    return row | dates | _ABSENT_MEMBERS


def _log_id(request: Request) -> str:
    return request_digest(request)[:16]


_ERRORS = {
    "bad-key": (401, "Invalid API KEY"),
    "rate-limited": (429, "You have reached the request limit"),
    "out-of-budget": (403, "You do not have enough money"),
}
"""Status and message by reason of the error."""


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"code": "400", "message", "log_id"}`."""
    status, message = _ERRORS.get(error.reason, (error.status, error.message))
    if error.reason == "bad-key" and not _read_key(request):
        status, message = 400, "The API KEY is missing"
    return build_response({"code": str(status), "message": message, "log_id": _log_id(request)}, status)


def _read_key(request: Request) -> str:
    return get_header(request, b"authorization", "Bearer")


DIALECT = Dialect(
    "bocha",
    "Bocha",
    ("api.bochaai.com", "api.bocha.cn"),
    (Route(("POST",), "/v1/web-search", answer_search),),
    _read_key,
    render_error,
    "by name through the proxy; `http://127.0.0.1:8800/bocha/v1/web-search` where a client has an address",
)
