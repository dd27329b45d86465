"""You.com (`ydc-index.io`): search, contents; and the search of older clients, whose results are `hits`."""

from __future__ import annotations

import re
from datetime import date

from webemu.api.dialects.days import format_capture_time
from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_header,
    get_number,
    get_text,
    get_texts,
    read_params,
    request_uuid,
)
from webemu.api.dialects.search import AGE_DAYS, SearchParams, date_days_ago, search
from webemu.api.dialects.site import find_icon, open_page
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit, View
from webemu.emulator.world import World

_DATE_RANGE = re.compile(r"(\d{4}-\d\d-\d\d)to(\d{4}-\d\d-\d\d)")
_VIEWS: dict[str, View] = {"html": "html", "markdown": "markdown"}


def answer_search(world: World, request: Request) -> Response:
    """Answer `/v1/search`; with `livecrawl` results contain their page."""
    params = read_params(request)
    hits, query = _search_hits(world, request, params, "count")
    is_live = get_text(params, "livecrawl") in ("web", "all")
    formats = (get_texts(params, "livecrawl_formats") or ["html"]) if is_live else []
    rows = [_render_result(world, request, hit, formats) for hit in hits]
    metadata = {"search_uuid": request_uuid(request), "query": query, "latency": 0.0}
    return build_response({"results": {"web": rows, "news": []}, "metadata": metadata})


def answer_old_search(world: World, request: Request) -> Response:
    """Answer `/search` of older clients."""
    hits, _ = _search_hits(world, request, read_params(request), "num_web_results")
    rows = [
        {"url": hit.url, "title": hit.title or hit.url, "description": hit.snippet, "snippets": [world.passage_of(hit)]}
        for hit in hits
    ]
    return build_response({"hits": rows, "latency": 0.0})


def _search_hits(world: World, request: Request, params: JsonObject, count_name: str) -> tuple[tuple[Hit, ...], str]:
    """Return results and query; `count_name` is the parameter that holds their number. Raises BadRequest without a
    query.
    """
    if not (query := get_text(params, "query")).strip():
        raise BadRequest("query: Field required", reason="bad-query")
    count, page = get_number(params, count_name, 10, 1, 100), get_number(params, "offset", 0, 0, 9)
    after, before = _read_dates(world, request, get_text(params, "freshness"))
    sites, excluded_sites = tuple(get_texts(params, "include_domains")), tuple(get_texts(params, "exclude_domains"))
    search_params = SearchParams(page * count, count, after, before, sites, excluded_sites)
    return search(world, query, search_params, request.session.at_time)[0], query


def _read_dates(world: World, request: Request, freshness: str) -> tuple[date | None, date | None]:
    """Return the first and last day of `freshness`: an age, or two days with `to` between them; None for anything
    else.
    """
    if age := AGE_DAYS.get(freshness):
        return date_days_ago(world, age, request.session.at_time), None
    if not (span := _DATE_RANGE.fullmatch(freshness)):
        return None, None
    try:
        return date.fromisoformat(span[1]), date.fromisoformat(span[2])
    except ValueError as error:
        raise BadRequest(f"freshness: {error}", reason="bad-freshness") from error


def _render_result(world: World, request: Request, hit: Hit, formats: list[str]) -> JsonObject:
    """Return one result, with its page in the formats asked for."""
    row: JsonObject = {"url": hit.url, "title": hit.title or hit.url, "description": hit.snippet}
    row |= {"snippets": [world.passage_of(hit)], "page_age": f"{hit.date}T00:00:00"}
    if formats:
        row["contents"] = _render_contents(world, request, hit.url, formats)
    return row | ({"favicon_url": icon_url} if (icon_url := find_icon(world, hit.url, request.session.at_time)) else {})


def _render_contents(world: World, request: Request, url: str, formats: list[str]) -> JsonObject:
    """Return a page by format, without the formats in which the crawl cannot show it."""
    pages = {
        name: open_page(world, url, view, request.session.at_time) for name, view in _VIEWS.items() if name in formats
    }
    return {name: page.content for name, page in pages.items() if page}


def answer_contents(world: World, request: Request) -> Response:
    """Answer `/v1/contents`: pages by URL, without those that are not captured."""
    params = read_params(request)
    if not (requested_urls := get_texts(params, "urls")):
        raise BadRequest("urls: Field required", reason="bad-urls")
    formats = get_texts(params, "formats") or get_texts(params, "format") or ["html"]
    return build_response(
        [page for url in requested_urls[:100] if (page := _render_page(world, request, url, formats))]
    )


def _render_page(world: World, request: Request, url: str, formats: list[str]) -> JsonObject | None:
    """Return one page of `/v1/contents`, None if it is not captured."""
    at_time = request.session.at_time
    if not (page := open_page(world, url, "text", at_time)):
        return None
    row: JsonObject = {"url": url, "title": page.title} | _render_contents(world, request, url, formats)
    if "metadata" in formats:
        icon_url = find_icon(world, page.capture.url, at_time)
        row["metadata"] = {
            "crawled": format_capture_time(page.capture),
            **({"favicon_url": icon_url} if icon_url else {}),
        }
    return row


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"detail": "..."}`; a bad request is 422."""
    status = 422 if isinstance(error, BadRequest) else 402 if error.reason == "out-of-budget" else error.status
    bad_key = "Invalid or expired API key" if _read_key(request) else "API key is required"
    messages = {"bad-key": bad_key, "rate-limited": "Too Many Requests", "out-of-budget": "Payment Required"}
    return build_response({"detail": messages.get(error.reason, error.message)}, status)


def _read_key(request: Request) -> str:
    return get_header(request, b"x-api-key")


DIALECT = Dialect(
    "you",
    "You.com",
    ("ydc-index.io", "api.ydc-index.io"),
    (
        Route(("GET", "POST"), "/v1/search", answer_search),
        Route(("POST",), "/v1/contents", answer_contents),
        Route(("GET",), "/search", answer_old_search),
    ),
    _read_key,
    render_error,
    "by name through the proxy; `http://127.0.0.1:8800/you` where a client has a base URL",
    is_meant_at_root=lambda request: request.method == "POST" and request.path == "/v1/contents",
)
