"""Oxylabs' realtime API (`realtime.oxylabs.io`): pages by URL, and results of Google and Bing, parsed or as HTML.

Sources of shops and of other sites are pages by URL too, but none is parsed.
"""

from __future__ import annotations

from base64 import b64decode
from urllib.parse import urlencode

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
from webemu.api.dialects.scraping import fetch_target, read_engine_query
from webemu.api.dialects.search import SearchParams, date_days_ago, estimate_total, search_corrected
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.world import World

_SEARCH_SOURCES = {"google_search": "https://www.google.com/search", "bing_search": "https://www.bing.com/search"}
"""Addresses of result pages by the source that takes a query."""
_UNRESOLVED_STATUS = 613
"""The service's status of a page that could not be fetched."""
PARSED = 12_000
"""The service's code of a page that was parsed."""


def answer_query(world: World, request: Request) -> Response:
    """Answer `/v1/queries` with one result."""
    params = read_params(request)
    source, url, query = (get_text(params, name).strip() for name in ("source", "url", "query"))
    if not source:
        raise BadRequest("Source is required.", reason="bad-source")
    if source in _SEARCH_SOURCES and not query:
        raise BadRequest("Parameter query is required.", reason="bad-query")
    if source not in _SEARCH_SOURCES and not url:
        raise BadRequest("Parameter url is required.", reason="bad-url")
    query = query or read_engine_query(url).get("q", "")
    if query and (get_flag(params, "parse") or source == "bing_search"):
        return _wrap(world, request, _render_serp(world, request, params, query), source)
    address = f"{_SEARCH_SOURCES[source]}?{urlencode({'q': query})}" if source in _SEARCH_SOURCES else url
    target = fetch_target(world, request, address, "markdown" if get_flag(params, "markdown") else "html")
    status = target.status if target.is_reachable else _UNRESOLVED_STATUS
    result: JsonObject = {"content": target.body.decode("utf-8", "replace"), "url": target.url, "status_code": status}
    return _wrap(world, request, result, "")


def _render_serp(world: World, request: Request, params: JsonObject, query: str) -> JsonObject:
    """Return a page of results, parsed."""
    count, page = get_number(params, "limit", 10, 1, 100), get_number(params, "start_page", 1, 1, 100)
    search_params = SearchParams((page - 1) * count, count)
    answer = search_corrected(world, query, search_params, request.session.at_time)
    hits, has_more = answer.hits, answer.has_more
    organic = [
        {
            "pos": rank,
            "url": hit.url,
            "desc": hit.snippet,
            "title": display_title(hit),
            "url_shown": hit.url,
            "pos_overall": rank,
            "favicon_text": urls.split_domain(urls.host_of(hit.url))[0],
        }
        for rank, hit in enumerate(hits, 1)
    ]
    total = estimate_total(search_params, len(hits), has_more)
    shown_text = answer.unquoted_text or answer.corrected_text or query
    information = {"query": query, "showing_results_for": shown_text, "total_results_count": total}
    results = {"paid": [], "organic": organic, "search_information": information, "total_results_count": total}
    url = "https://www.google.com/search?" + urlencode({"q": query})
    content: JsonObject = {"url": url, "page": page, "results": results, "last_visible_page": page + has_more}
    return {"content": content | {"parse_status_code": PARSED}, "url": url, "status_code": 200}


def _wrap(world: World, request: Request, result: JsonObject, parser: str) -> Response:
    """Return the result of a job. Its time is the session's day, so that equal requests get equal bytes."""
    stamp = f"{date_days_ago(world, 0, request.session.at_time)} 00:00:00"
    job_id = str(int(request_digest(request)[:15], 16))
    row: JsonObject = {"content": result["content"], "created_at": stamp, "updated_at": stamp, "page": 1}
    row |= {"url": result["url"], "job_id": job_id, "is_render_forced": False, "status_code": result["status_code"]}
    row |= {"type": "parsed" if parser else "raw", "parser_type": parser, "parser_preset": None}
    return build_response({"results": [row]})


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"message"}`."""
    messages = {"bad-key": "Authorization header not provided or invalid", "rate-limited": "Too many requests"}
    messages["out-of-budget"] = "Trial limit reached"
    return build_response({"message": messages.get(error.reason) or error.message}, error.status)


def _read_key(request: Request) -> str:
    """Return the password of the request, empty if it has none."""
    try:
        return b64decode(get_header(request, b"authorization", "Basic")).decode().partition(":")[2]
    except ValueError:
        return ""


DIALECT = Dialect(
    "oxylabs",
    "Oxylabs",
    ("realtime.oxylabs.io",),
    (Route(("POST",), "/v1/queries", answer_query),),
    _read_key,
    render_error,
    "by name through the proxy; `http://127.0.0.1:8800/oxylabs/v1/queries` where a client has an address",
    ("oxylabs",),
)
