"""SearXNG, which people run themselves: JSON, CSV and RSS in its formats, HTML as this server's own pages."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import orjson

from webemu.api.dialects.dialect import Dialect, Route, fields, header, reply, text, texts
from webemu.api.dialects.display import title
from webemu.api.dialects.search import RELATED, Wanted, search, since
from webemu.api.dialects.template import RSS, sheet
from webemu.api.http.request import Request
from webemu.api.pages import results as page
from webemu.api.services.origin import Reply
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

SIZE = 10
"""Results on a page."""
ENGINE = "duckduckgo"
"""Engine that results claim to come from, unless the request names one."""
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
"""Days of the values of `time_range`."""
_PAGES = {"general", "news"}
"""Categories of which a crawl of pages has results."""
_OTHERS = {"images", "videos", "music", "files", "maps", "map"}
"""Categories of which it has none."""
NOWHERE = 1000
"""Page number beyond every search: shows the page without results for other categories."""
_COLUMNS = ("title", "url", "content", "host", "engine", "score", "type")
"""Columns of the CSV format."""
_PLAIN, _CSV, _SUGGESTIONS = b"text/plain; charset=utf-8", b"application/csv", b"application/x-suggestions+json"


@dataclass(frozen=True, slots=True)
class _Asked:
    """Parameters of a search, checked."""

    query: str
    page: int
    """Number of the page, from 1."""
    time_range: str
    """Age of results: a key of `_AGE_DAYS`, or empty."""
    categories: list[str]
    engine: str
    """Engine that results claim to come from."""


def results(world: World, request: Request) -> Reply:
    """Answer `/search` and `/` in the format asked for, HTML by default."""
    asked = fields(request)
    shape = _FORMATS.get(text(asked, "format"))
    if shape is None:
        return _page(world, request, asked)
    read = _read(asked)
    after = since(world, _DAYS[read.time_range], request.session.at) if read.time_range else None
    kinds = {*_kinds(asked)}
    wanted = Wanted((read.page - 1) * SIZE, SIZE, after, published=kinds == {"news"})
    hits = search(world, read.query, wanted, request.session.at)[0] if kinds & _PAGES else ()
    found = [_result(hit, wanted.offset + at, read) for at, hit in enumerate(hits, 1)]
    return shape(request, read, found, world.related(read.query, hits, RELATED) if shape is _json else [])


def _read(asked: dict[str, Any]) -> _Asked:
    """Return the parameters, checked. Raises BadRequest in the service's words if one is wrong."""
    if not (query := text(asked, "q")).strip():
        raise BadRequest("No query", reason="missing-q")
    number = text(asked, "pageno", "1")
    # Only the first digits are converted, so that a very long number costs nothing.
    if not (number.isascii() and number.isdigit() and 0 < int(number[:9]) < 10_000):
        raise _invalid(number, "pageno")
    if (span := text(asked, "time_range")) and span not in _DAYS:
        raise _invalid(span, "time_range")
    if (level := text(asked, "safesearch", "0")) not in ("0", "1", "2"):
        raise _invalid(level, "safesearch")
    engines = texts(asked, "engines")
    return _Asked(query, int(number), span, _categories(asked), engines[0] if engines else ENGINE)


def _categories(asked: dict[str, Any]) -> list[str]:
    """Return the categories asked for: from the list, and from the check boxes of a form."""
    boxes = [name.removeprefix("category_") for name in asked if name.startswith("category_")]
    ticked = [name for name in boxes if text(asked, f"category_{name}", "on").lower() != "off"]
    return [name.lower() for name in (*texts(asked, "categories"), *ticked)]


def _kinds(asked: dict[str, Any]) -> list[str]:
    """Return the kinds of results asked for: categories, and those that names of engines (`bing images`) imply."""
    words = [engine.lower().rpartition(" ")[2] for engine in texts(asked, "engines")]
    named = [word if word in _OTHERS or word == "news" else "general" for word in words]
    return [*_categories(asked), *named] or ["general"]


def _invalid(value: str, name: str) -> BadRequest:
    """Return the service's error for a wrong parameter."""
    return BadRequest(f'Invalid value "{value[:100]}" for parameter {name}', reason=f"bad-{name}")


def _page(world: World, request: Request, asked: dict[str, Any]) -> Reply:
    """Return this server's own result page, whose links lead to its other pages."""
    number = text(asked, "pageno", "1") if {*_kinds(asked)} & _PAGES else str(NOWHERE)
    query = {"q": text(asked, "q"), "page": number}
    # A POST becomes the GET that the page expects.
    return page.answer(world, request._replace(method="GET", query=urlencode(query), body=b""))


def _result(hit: Hit, position: int, asked: _Asked) -> dict[str, Any]:
    parts = urls.split(hit.url)
    where = [parts.scheme, parts.netloc, parts.path, "", parts.query, parts.fragment]
    one: dict[str, Any] = {"url": hit.url, "title": title(hit), "content": hit.snippet, "thumbnail": ""}
    one |= {"engine": asked.engine, "template": "default.html", "parsed_url": where}
    one |= dict.fromkeys(("img_src", "iframe_src", "audio_src"), "")
    one |= {"publishedDate": f"{hit.date}T00:00:00", "pubdate": f"{hit.date} 00:00:00", "length": None}
    one |= dict.fromkeys(("views", "author", "metadata", "priority"), "")
    one |= {"engines": [asked.engine], "positions": [position], "score": 1 / position}
    return {**one, "category": asked.categories[0] if asked.categories else "general"}


def _json(request: Request, asked: _Asked, found: list[dict[str, Any]], others: list[str]) -> Reply:
    """Return the results and suggestions as JSON. The number of results is 0, as most engines report it."""
    none: dict[str, Any] = {name: [] for name in ("answers", "corrections", "infoboxes")}
    told = {"query": asked.query, "number_of_results": 0, "results": found, **none, "suggestions": others}
    return reply({**told, "unresponsive_engines": []})


def _csv(request: Request, asked: _Asked, found: list[dict[str, Any]], others: list[str]) -> Reply:
    """Return the results as CSV; suggestions have no column."""
    rows = ({**one, "host": one["parsed_url"][1], "type": "result"} for one in found)
    return _table([[row[name] for name in _COLUMNS] for row in rows])


def _table(rows: list[list[Any]]) -> Reply:
    file = io.StringIO()
    csv.writer(file).writerows([_COLUMNS, *rows])
    named = (b"Content-Disposition", b"attachment;Filename=searx.csv")
    return reply(file.getvalue().encode("utf-8", "replace"), headers=[named], kind=_CSV)


def _rss(request: Request, asked: _Asked, found: list[dict[str, Any]], others: list[str]) -> Reply:
    return sheet("searxng.rss", RSS, origin=request.origin, query=asked.query, results=found, problem="")


_FORMATS: dict[str, Callable[[Request, _Asked, list[dict[str, Any]], list[str]], Reply]] = {
    "json": _json,
    "csv": _csv,
    "rss": _rss,
}
"""Functions that write a response, by format; the remaining format is HTML."""


def autocompleter(world: World, request: Request) -> Reply:
    """Answer `/autocompleter` with titles that complete the query.

    Titles have no date, so that a session that sees the web of a past day gets none.
    """
    begun = text(fields(request), "q")[:200]
    titles = world.suggest(begun, 10) if begun and request.session.at is None else []
    if header(request, b"x-requested-with") == "XMLHttpRequest":
        return reply(titles)
    ranks = [600 - place for place in range(len(titles))]
    return reply(orjson.dumps([begun, titles, [], [], {"google:suggestrelevance": ranks}]), kind=_SUGGESTIONS)


def config(world: World, request: Request) -> Reply:
    """Answer `/config` with the abilities of this instance."""
    engine = {"name": ENGINE, "categories": ["general"], "shortcut": "ddg", "enabled": True, "paging": True}
    engine |= {"language_support": True, "languages": ["en"], "regions": [], "safesearch": True}
    engine |= {"time_range_support": True, "timeout": 3.0}
    told: dict[str, Any] = {"categories": ["general"], "engines": [engine], "plugins": [], "instance_name": "SearXNG"}
    told |= {"locales": {"en": "English"}, "default_locale": "", "autocomplete": "", "safe_search": 0}
    told |= {"default_theme": "simple", "version": "", "brand": {}, "doi_resolvers": [], "default_doi_resolver": ""}
    return reply(told)


def healthz(world: World, request: Request) -> Reply:
    """Answer `/healthz`: the server is up."""
    return reply(b"OK", kind=_PLAIN)


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error in the format asked for; as plain text if that has no place for errors."""
    told = "Too Many Requests" if error.status == 429 else error.message
    asked = dict(request.parameters)
    if asked.get("format") == "json":
        return reply({"error": told}, error.status)
    if asked.get("format") == "rss":
        query = asked.get("q", "")
        return sheet("searxng.rss", RSS, error.status, origin=request.origin, query=query, results=[], problem=told)
    return reply(told.encode(), error.status, kind=_PLAIN)


def _is_meant(request: Request) -> bool:
    """True for searches in another format than HTML, posted forms, and paths that only SearXNG has.

    Other searches at the root are for this server's own pages.
    """
    if request.path in ("/", "/search"):
        asked = dict(request.parameters)
        is_form = request.method == "POST" and b"x-api-key" not in request.headers
        return "q" in asked and (is_form or asked.get("format") in _FORMATS)
    return request.path in ("/autocompleter", "/healthz")


DIALECT = Dialect(
    "searxng",
    "SearXNG",
    (),
    (
        Route(("GET", "POST"), "/(search)?", results, True),
        Route(("GET", "POST"), "/autocompleter", autocompleter),
        Route(("GET",), "/config", config),
        Route(("GET",), "/healthz", healthz),
    ),
    None,
    refuse,
    "its URL is `http://127.0.0.1:8800/searxng`; the server's root does as well where a format is named",
    ("httpx",),
    _is_meant,
)
