"""Bright Data (`api.brightdata.com/request`): pages by URL, as HTML or markdown, and results of engines as JSON.

Zones are accepted under any name. Datasets, collectors and browsers are not served.
"""

from __future__ import annotations

from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_header,
    get_text,
    read_params,
)
from webemu.api.dialects.display import display_title, format_breadcrumbs
from webemu.api.dialects.scraping import Target, fetch_target, read_engine_query
from webemu.api.dialects.search import MAX_RELATED, SearchParams, estimate_total, search
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

ZONES = {"sdk_unlocker": "unblocker", "sdk_serp": "serp", "mcp_unlocker": "unblocker", "web_unlocker1": "unblocker"}
"""Kinds of the zones that clients of the service use unless they are told another name."""
MAX_RESULTS = 100
"""Most results of a page of an engine."""


def answer_request(world: World, request: Request) -> Response:
    """Answer `/request`."""
    params = read_params(request)
    zone, url = get_text(params, "zone"), get_text(params, "url").strip()
    if not zone or not url:
        name = "zone" if not zone else "url"
        raise BadRequest(f'"{name}" is required', reason=f"bad-{name}")
    is_wrapped = get_text(params, "format", "raw") == "json"
    engine_params = read_engine_query(url)
    data_format = get_text(params, "data_format")
    if engine_params.get("q") and ("brd_json" in engine_params or data_format.startswith("parsed")):
        payload = _render_serp(world, request, url, engine_params, is_light=data_format == "parsed_light")
        response = build_response(payload)
        target = Target(url, 200, "application/json", response.body)
        return _wrap(target) if is_wrapped else response
    target = fetch_target(world, request, url, "markdown" if data_format == "markdown" else "html")
    if is_wrapped:
        return _wrap(target)
    return build_response(
        target.body, target.status, _error_headers(target), content_type=target.content_type.encode("latin-1")
    )


def _error_headers(target: Target) -> Headers:
    """Return the service's own headers about a page that could not be reached."""
    return [] if target.is_reachable else [(b"x-brd-error", b"Could not resolve host")]


def _wrap(target: Target) -> Response:
    """Return a page as JSON; its status is inside."""
    headers = {"content-type": target.content_type}
    headers |= {name.decode(): value.decode() for name, value in _error_headers(target)}
    body = target.body.decode("utf-8", "replace")
    return build_response({"status_code": target.status, "headers": headers, "body": body})


def _render_serp(world: World, request: Request, url: str, params: dict[str, str], is_light: bool) -> JsonObject:
    """Return a page of an engine's results, parsed; a light one has nothing but them."""
    query, start, count = params["q"], _read_number(params, "start", 0), _read_number(params, "num", 10)
    search_params = SearchParams(start, max(count, 1), published=params.get("tbm") == "nws")
    hits, has_more = search(world, query, search_params, request.session.at_time)
    rows = [_render_result(hit, rank, start) for rank, hit in enumerate(hits, 1)]
    if is_light:
        light = ("link", "title", "description", "global_rank")
        return {"organic": [{name: row[name] for name in light} for row in rows]}
    engine = "bing" if urls.host_of(url).startswith("www.bing.") else "google"
    general: JsonObject = {"search_engine": engine, "query": query, "language": params.get("hl", "en")}
    general |= {"results_cnt": estimate_total(search_params, len(hits), has_more), "search_time": 0.0, "mobile": False}
    related = world.related_queries(query, hits, MAX_RELATED)
    payload: JsonObject = {"general": general, "input": {"original_url": url}, "organic": rows}
    payload["related"] = [{"text": entry, "rank": rank} for rank, entry in enumerate(related, 1)]
    return payload | {"pagination": {"current_page": start // max(count, 1) + 1}}


def _read_number(params: dict[str, str], name: str, default: int) -> int:
    value = params.get(name, "")
    return min(int(value), MAX_RESULTS if name == "num" else 1000) if value.isdecimal() and len(value) < 10 else default


def _render_result(hit: Hit, rank: int, start: int) -> JsonObject:
    row: JsonObject = {"link": hit.url, "display_link": format_breadcrumbs(hit.url), "title": display_title(hit)}
    row |= {"source": urls.split_domain(urls.host_of(hit.url))[0], "description": hit.snippet}
    return row | {"rank": rank, "global_rank": start + rank}


def answer_zones(world: World, request: Request) -> Response:
    """Answer `/zone/get_active_zones`."""
    return build_response([{"name": name, "type": kind} for name, kind in ZONES.items()])


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as text, or as `{"error"}` if a parameter is wrong."""
    if isinstance(error, BadRequest):
        return build_response({"error": error.message}, 400)
    messages = {"bad-key": "Invalid token", "rate-limited": "Too many requests", "out-of-budget": "Insufficient funds"}
    message = messages.get(error.reason) or error.message
    return build_response(message.encode(), error.status, content_type=b"text/html; charset=utf-8")


DIALECT = Dialect(
    "brightdata",
    "Bright Data",
    ("api.brightdata.com",),
    (Route(("POST",), "/request", answer_request), Route(("GET",), "/zone/get_active_zones", answer_zones)),
    lambda request: get_header(request, b"authorization", "Bearer"),
    render_error,
    "by name through the proxy; `http://127.0.0.1:8800/brightdata/request` where a client has an address",
    ("brightdata-sdk",),
)
