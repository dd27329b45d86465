"""Bing's result page (`www.bing.com/search`) and its RSS form (`format=rss`), which libraries parse.

The pages of news and images are here too; the latter are always empty, because a crawl of pages has no images.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import NamedTuple

from webemu.api.dialects.days import mail_date
from webemu.api.dialects.dialect import Dialect, Route, fields, number, text
from webemu.api.dialects.display import crumbs, linked, split, title
from webemu.api.dialects.search import Wanted, search, since
from webemu.api.dialects.template import HTML, RSS, sheet
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator import urls
from webemu.emulator.errors import EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

_FILTER = re.compile(r'ex1:"ez(?:([123])|5_(\d{1,6})_(\d{1,6}))"')
"""Date filter: `ez1` is the last day, `ez2` the last week, `ez3` the last month; `ez5_FIRST_LAST` counts days since
1970.
"""
_DAYS = {"1": 1, "2": 7, "3": 30}
_INTERVAL = re.compile(r'interval="([4789])"')
_INTERVALS = {"4": 1, "7": 1, "8": 7, "9": 30}
"""Days of the ages of news. `4` is an hour, but dates have no time of day."""
_EPOCH = date(1970, 1, 1)


class _Shown(NamedTuple):
    """One result, as the templates read it."""

    url: str
    title: str
    place: str
    """The URL as breadcrumbs."""
    date: str
    """The date as RFC 5322 writes it, for RSS."""
    text: str
    """The snippet as plain text, for RSS."""
    snippet: list[tuple[str, bool]]
    """The snippet in pieces, each with True if it is a word of the query."""
    source: str
    """Registered domain of the page."""
    day: str
    """The date as `1/31/2024`."""


def results(world: World, request: Request) -> Reply:
    """Answer `/search` as HTML or RSS; the parameter `first` counts from 1."""
    asked = fields(request)
    query, first, count = text(asked, "q"), number(asked, "first", 1, 1, 1000), number(asked, "count", 10, 1, 50)
    after, before = _dates(world, request, text(asked, "filters"))
    wanted = Wanted(first - 1, count, after, before)
    hits, more = search(world, query, wanted, request.session.at) if query.strip() else ((), False)
    shown = [_shown(world, hit, query) for hit in linked(hits)]
    following = first + count if more else 0
    is_rss = text(asked, "format").lower() == "rss"
    template, kind = ("bing.rss", RSS) if is_rss else ("bing.html", HTML)
    return sheet(template, kind, query=query, results=shown, next_first=following)


def news(world: World, request: Request) -> Reply:
    """Answer `/news/search` with pages that declare a publication date.

    The part that a browser loads while the reader scrolls (`infinitescrollajax`) begins at result 11.
    """
    asked = fields(request)
    before = 11 if request.path.endswith("ajax") else 1
    query, offset = text(asked, "q"), number(asked, "first", before, before, 1000) - before
    age = _INTERVAL.search(text(asked, "qft"))
    after = since(world, _INTERVALS[age[1]], request.session.at) if age else None
    wanted = Wanted(offset, 10, after, published=True)
    hits = search(world, query, wanted, request.session.at)[0] if query.strip() else ()
    return sheet("bing_news.html", query=query, results=[_shown(world, hit, query) for hit in linked(hits)])


def pictures(world: World, request: Request) -> Reply:
    """Answer `/images/search`, always without results."""
    return sheet("bing_news.html", query=text(fields(request), "q"), results=[])


def _dates(world: World, request: Request, filters: str) -> tuple[date | None, date | None]:
    """Return the first and last day of the date filter; None for no limit."""
    if not (found := _FILTER.search(filters)):
        return None, None
    if found[1]:
        return since(world, _DAYS[found[1]], request.session.at), None
    return _EPOCH + timedelta(days=int(found[2])), _EPOCH + timedelta(days=int(found[3]))


def _shown(world: World, hit: Hit, query: str) -> _Shown:
    told = (hit.url, title(hit), crumbs(hit.url), mail_date(hit.date), hit.snippet)
    when = date.fromisoformat(hit.date)
    source, shown = urls.domain(urls.host(hit.url))[0], f"{when.month}/{when.day}/{when.year}"
    return _Shown(*told, split(world, hit.snippet, query), source, shown)


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as a page with the error's status."""
    return sheet("bing_refused.html", status=error.status, message=error.message)


DIALECT = Dialect(
    "bing-pages",
    "Bing, the page and RSS",
    ("www.bing.com",),
    (
        Route(("GET",), "/search", results, True),
        Route(("GET",), "/news/(search|infinitescrollajax)", news, True),
        Route(("GET",), "/images/(search|async)", pictures, True),
    ),
    None,
    refuse,
    "by name through the proxy",
    ("ddgs", "smolagents"),
)
