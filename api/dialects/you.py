"""You.com (`ydc-index.io`): search, contents; and the search of older clients, whose results are `hits`."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from webemu.api.dialects.days import fetched
from webemu.api.dialects.dialect import Dialect, Route, fields, header, number, reply, text, texts, uuid
from webemu.api.dialects.search import AGES, Wanted, search, since
from webemu.api.dialects.site import icon, opened
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit, View
from webemu.emulator.world import World

_RANGE = re.compile(r"(\d{4}-\d\d-\d\d)to(\d{4}-\d\d-\d\d)")
_FORMATS: dict[str, View] = {"html": "html", "markdown": "markdown"}
Asked = dict[str, Any]
"""A JSON object: parameters of a request, or a part of a response."""


def find(world: World, request: Request) -> Reply:
    """Answer `/v1/search`; with `livecrawl` results contain their page."""
    asked = fields(request)
    hits, query = _hits(world, request, asked, "count")
    is_live = text(asked, "livecrawl") in ("web", "all")
    wanted = (texts(asked, "livecrawl_formats") or ["html"]) if is_live else []
    found = [_web(world, request, hit, wanted) for hit in hits]
    told = {"search_uuid": uuid(request), "query": query, "latency": 0.0}
    return reply({"results": {"web": found, "news": []}, "metadata": told})


def find_hits(world: World, request: Request) -> Reply:
    """Answer `/search` of older clients."""
    hits, _ = _hits(world, request, fields(request), "num_web_results")
    found = [
        {"url": hit.url, "title": hit.title or hit.url, "description": hit.snippet, "snippets": [world.passage(hit)]}
        for hit in hits
    ]
    return reply({"hits": found, "latency": 0.0})


def _hits(world: World, request: Request, asked: Asked, count_name: str) -> tuple[tuple[Hit, ...], str]:
    """Return results and query; `count_name` is the parameter that holds their number. Raises BadRequest without a
    query.
    """
    if not (query := text(asked, "query")).strip():
        raise BadRequest("query: Field required", reason="bad-query")
    count, page = number(asked, count_name, 10, 1, 100), number(asked, "offset", 0, 0, 9)
    after, before = _dates(world, request, text(asked, "freshness"))
    sites, without = tuple(texts(asked, "include_domains")), tuple(texts(asked, "exclude_domains"))
    wanted = Wanted(page * count, count, after, before, sites, without)
    return search(world, query, wanted, request.session.at)[0], query


def _dates(world: World, request: Request, freshness: str) -> tuple[date | None, date | None]:
    """Return the first and last day of `freshness`: an age, or two days with `to` between them; None for anything
    else.
    """
    if age := AGES.get(freshness):
        return since(world, age, request.session.at), None
    if not (span := _RANGE.fullmatch(freshness)):
        return None, None
    try:
        return date.fromisoformat(span[1]), date.fromisoformat(span[2])
    except ValueError as error:
        raise BadRequest(f"freshness: {error}", reason="bad-freshness") from error


def _web(world: World, request: Request, hit: Hit, wanted: list[str]) -> Asked:
    """Return one result, with its page in the formats asked for."""
    one: Asked = {"url": hit.url, "title": hit.title or hit.url, "description": hit.snippet}
    one |= {"snippets": [world.passage(hit)], "page_age": f"{hit.date}T00:00:00"}
    if wanted:
        one["contents"] = _contents(world, request, hit.url, wanted)
    return one | ({"favicon_url": shown} if (shown := icon(world, hit.url, request.session.at)) else {})


def _contents(world: World, request: Request, url: str, wanted: list[str]) -> Asked:
    """Return a page by format, without the formats in which the crawl cannot show it."""
    pages = {name: opened(world, url, view, request.session.at) for name, view in _FORMATS.items() if name in wanted}
    return {name: page.content for name, page in pages.items() if page}


def contents(world: World, request: Request) -> Reply:
    """Answer `/v1/contents`: pages by URL, without those that are not captured."""
    asked = fields(request)
    if not (wanted := texts(asked, "urls")):
        raise BadRequest("urls: Field required", reason="bad-urls")
    names = texts(asked, "formats") or texts(asked, "format") or ["html"]
    return reply([one for url in wanted[:100] if (one := _page(world, request, url, names))])


def _page(world: World, request: Request, url: str, names: list[str]) -> Asked | None:
    """Return one page of `/v1/contents`, None if it is not captured."""
    at = request.session.at
    if not (page := opened(world, url, "text", at)):
        return None
    one: Asked = {"url": url, "title": page.title} | _contents(world, request, url, names)
    if "metadata" in names:
        shown = icon(world, page.capture.url, at)
        one["metadata"] = {"crawled": fetched(page.capture), **({"favicon_url": shown} if shown else {})}
    return one


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as `{"detail": "..."}`; a bad request is 422."""
    status = 422 if isinstance(error, BadRequest) else 402 if error.reason == "out-of-budget" else error.status
    bad_key = "Invalid or expired API key" if _key(request) else "API key is required"
    told = {"bad-key": bad_key, "rate-limited": "Too Many Requests", "out-of-budget": "Payment Required"}
    return reply({"detail": told.get(error.reason, error.message)}, status)


def _key(request: Request) -> str:
    return header(request, b"x-api-key")


DIALECT = Dialect(
    "you",
    "You.com",
    ("ydc-index.io", "api.ydc-index.io"),
    (
        Route(("GET", "POST"), "/v1/search", find),
        Route(("POST",), "/v1/contents", contents),
        Route(("GET",), "/search", find_hits),
    ),
    _key,
    refuse,
    "by name through the proxy; `http://127.0.0.1:8800/you` where a client has a base URL",
    at_root=lambda request: request.method == "POST" and request.path == "/v1/contents",
)
