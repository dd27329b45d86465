"""Serper (`google.serper.dev`): Google's results as JSON; and its scraper (`scrape.serper.dev`).

A request is a GET with `api_key`, a POST with a JSON object or an array of them, or a POST with a query string and no
body. Answer boxes and knowledge graphs are absent, because a crawl has none; lists of images, places and products are
empty.
"""

from __future__ import annotations

from typing import Any

from webemu.api.dialects.dialect import Dialect, Route, fields, flag, header, number, reply, text
from webemu.api.dialects.display import day, title
from webemu.api.dialects.search import RELATED, Wanted, search
from webemu.api.dialects.tbs import dates
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator import json_text, urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit, PageRequest
from webemu.emulator.world import World

MOST, MOST_AT_ONCE = 100, 100
"""Most results of a search, and most searches of a batch."""
_LISTS = {
    "search": "organic",
    "news": "news",
    "scholar": "organic",
    "images": "images",
    "videos": "videos",
    "places": "places",
    "maps": "places",
    "shopping": "shopping",
    "patents": "organic",
    "lens": "organic",
    "autocomplete": "suggestions",
}
"""Member that holds the results, by kind of search."""


def results(world: World, request: Request) -> Reply:
    """Answer `/search`, `/news` and the other kinds; a list of requests gets the list of their responses."""
    kind = request.path.strip("/")
    if not request.body.lstrip().startswith(b"["):
        return reply(_one(world, request, kind, fields(request)))
    return reply([_one(world, request, kind, asked) for asked in _several(request)])


def _several(request: Request) -> list[dict[str, Any]]:
    """Return the requests of a batch. Raises BadRequest if one is no object or there are too many."""
    try:
        asked = json_text.read(request.body)
    except ValueError as error:
        raise BadRequest(f"the body is no JSON: {error}") from error
    if not all(isinstance(one, dict) for one in asked):
        raise BadRequest("the body is no list of JSON objects")
    if len(asked) > MOST_AT_ONCE:
        raise BadRequest(f"Batch size exceeds {MOST_AT_ONCE}")
    return list(asked)


def _one(world: World, request: Request, kind: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the response to one search. Raises BadRequest if a parameter is wrong."""
    query, count, page = text(asked, "q"), number(asked, "num", 10, 1, MOST), number(asked, "page", 1, 1, 100)
    if not query.strip():
        raise BadRequest("Missing query parameter", reason="missing-q")
    if (kind := text(asked, "type", kind)) not in _LISTS:
        raise BadRequest("Invalid search type", reason="bad-type")
    after, before = dates(world, request, text(asked, "tbs"))
    wanted = Wanted((page - 1) * count, count, after, before, published=kind == "news")
    said = {"q": query, "gl": text(asked, "gl", "us"), "hl": text(asked, "hl", "en"), "num": count}
    said |= {name: asked[name] for name in ("location", "tbs") if asked.get(name)}
    said |= {"autocorrect": flag(asked, "autocorrect", True), "page": page, "type": kind, "engine": "google"}
    found = _found(world, request, kind, query, wanted)
    return {"searchParameters": said, _LISTS[kind]: [], **found, "credits": 1 if count <= 10 else 2}


def _found(world: World, request: Request, kind: str, query: str, wanted: Wanted) -> dict[str, Any]:
    """Return the members with results and related searches; empty for a kind of which the crawl has none."""
    # Titles have no date, so that a session that sees the web of a past day gets no completions.
    if kind == "autocomplete" and request.session.at is None:
        return {_LISTS[kind]: [{"value": one} for one in world.suggest(query, wanted.count)]}
    if (shape := _SHAPES.get(kind)) is None:
        return {}
    hits, _ = search(world, query, wanted, request.session.at)
    shown = {_LISTS[kind]: [shape(hit, wanted.offset + place) for place, hit in enumerate(hits, 1)]}
    others = world.related(query, hits, RELATED) if kind == "search" else []
    return shown | ({"relatedSearches": [{"query": other} for other in others]} if others else {})


def _organic(hit: Hit, position: int) -> dict[str, Any]:
    one = {"title": title(hit), "link": hit.url, "snippet": hit.snippet, "date": day(hit)}
    return {**one, "position": position}


def _news(hit: Hit, position: int) -> dict[str, Any]:
    one = {"title": title(hit), "link": hit.url, "snippet": hit.snippet, "date": day(hit)}
    return {**one, "source": urls.domain(urls.host(hit.url))[0], "position": position}


def _scholar(hit: Hit, position: int) -> dict[str, Any]:
    one: dict[str, Any] = {"title": title(hit), "link": hit.url, "snippet": hit.snippet, "year": int(hit.date[:4])}
    return one | ({"pdfUrl": hit.url} if hit.url.lower().endswith(".pdf") else {})


_SHAPES = {"search": _organic, "news": _news, "scholar": _scholar}
"""Functions that render a result, by kind of search; the other kinds have no results."""


def scrape(world: World, request: Request) -> Reply:
    """Answer `/scrape` with a page's text, and its markdown if asked for."""
    asked = fields(request)
    if not (url := text(asked, "url")):
        raise BadRequest("Missing url parameter", reason="missing-url")
    page = world.fetch(PageRequest(url, "text", at=request.session.at))
    found: dict[str, Any] = {"text": page.content}
    if flag(asked, "includeMarkdown"):
        found["markdown"] = world.fetch(PageRequest(url, "markdown", at=request.session.at)).content
    return reply({**found, "metadata": {"title": page.title}, "credits": 2})


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as `{"message", "statusCode"}`; a bad key is 403, used-up credits are 400."""
    status = {"bad-key": 403, "out-of-budget": 400}.get(error.reason, error.status)
    told = {"bad-key": "Unauthorized.", "rate-limited": "Rate limit exceeded", "out-of-budget": "Not enough credits"}
    return reply({"message": told.get(error.reason, error.message), "statusCode": status}, status)


def _key(request: Request) -> str:
    """Return the API key of a request, empty if it has none."""
    return header(request, b"x-api-key") or dict(request.parameters).get("api_key", "")


def _is_meant(request: Request) -> bool:
    """True for Serper's paths and header with a `q`. Exa has the same header, but calls its query `query`."""
    is_ours = request.path.strip("/") in _LISTS and b"x-api-key" in request.headers
    return is_ours and (b'"q"' in request.body or "q" in dict(request.parameters))


DIALECT = Dialect(
    "serper",
    "Serper",
    ("google.serper.dev", "scrape.serper.dev"),
    (
        Route(("GET", "POST"), f"/({'|'.join(_LISTS)})", results, True),
        Route(("POST",), "/(scrape)?", scrape),
    ),
    _key,
    refuse,
    "by name through the proxy; `SERPER_BASE_URL=http://127.0.0.1:8800/serper` where a client has one",
    ("smolagents", "http.client", "requests"),
    at_root=_is_meant,
)
