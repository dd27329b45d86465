"""Bing's result page (`www.bing.com/search`) and its RSS form (`format=rss`), which libraries parse.

The pages of news and images are here too; the latter are always empty, because a crawl of pages has no images.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import NamedTuple

from webemu.api.dialects.days import format_mail_date
from webemu.api.dialects.dialect import Dialect, Route, get_number, get_text, read_params
from webemu.api.dialects.display import display_title, drop_unlinkable, format_breadcrumbs, split_highlights
from webemu.api.dialects.search import SearchParams, date_days_ago, search
from webemu.api.dialects.template import HTML_TYPE, RSS_TYPE, render_template
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

_FILTER = re.compile(r'ex1:"ez(?:([123])|5_(\d{1,6})_(\d{1,6}))"')
"""Date filter: `ez1` is the last day, `ez2` the last week, `ez3` the last month; `ez5_FIRST_LAST` counts days since
1970.
"""
_FILTER_DAYS = {"1": 1, "2": 7, "3": 30}
_INTERVAL = re.compile(r'interval="([4789])"')
_INTERVAL_DAYS = {"4": 1, "7": 1, "8": 7, "9": 30}
"""Days of the ages of news. `4` is an hour, but dates have no time of day."""
_EPOCH = date(1970, 1, 1)


class _ResultView(NamedTuple):
    """One result, as the templates read it."""

    url: str
    title: str
    breadcrumbs: str
    """The URL as breadcrumbs."""
    mail_date: str
    """The date as RFC 5322 writes it, for RSS."""
    plain_snippet: str
    """The snippet as plain text, for RSS."""
    snippet: list[tuple[str, bool]]
    """The snippet in pieces, each with True if it is a word of the query."""
    domain: str
    """Registered domain of the page."""
    day: str
    """The date as `1/31/2024`."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/search` as HTML or RSS; the parameter `first` counts from 1."""
    params = read_params(request)
    query, first, count = (
        get_text(params, "q"),
        get_number(params, "first", 1, 1, 1000),
        get_number(params, "count", 10, 1, 50),
    )
    after, before = _read_dates(world, request, get_text(params, "filters"))
    search_params = SearchParams(first - 1, count, after, before)
    hits, has_more = search(world, query, search_params, request.session.at_time) if query.strip() else ((), False)
    views = [_build_view(world, hit, query) for hit in drop_unlinkable(hits)]
    next_first = first + count if has_more else 0
    is_rss = get_text(params, "format").lower() == "rss"
    template, content_type = ("bing.rss", RSS_TYPE) if is_rss else ("bing.html", HTML_TYPE)
    return render_template(template, content_type, query=query, results=views, next_first=next_first)


def answer_news(world: World, request: Request) -> Response:
    """Answer `/news/search` with pages that declare a publication date.

    The part that a browser loads while the reader scrolls (`infinitescrollajax`) begins at result 11.
    """
    params = read_params(request)
    first_rank = 11 if request.path.endswith("ajax") else 1
    query, offset = get_text(params, "q"), get_number(params, "first", first_rank, first_rank, 1000) - first_rank
    age = _INTERVAL.search(get_text(params, "qft"))
    after = date_days_ago(world, _INTERVAL_DAYS[age[1]], request.session.at_time) if age else None
    search_params = SearchParams(offset, 10, after, published=True)
    hits = search(world, query, search_params, request.session.at_time)[0] if query.strip() else ()
    return render_template(
        "bing_news.html", query=query, results=[_build_view(world, hit, query) for hit in drop_unlinkable(hits)]
    )


def answer_images(world: World, request: Request) -> Response:
    """Answer `/images/search`, always without results."""
    return render_template("bing_news.html", query=get_text(read_params(request), "q"), results=[])


def _read_dates(world: World, request: Request, filters: str) -> tuple[date | None, date | None]:
    """Return the first and last day of the date filter; None for no limit."""
    if not (match := _FILTER.search(filters)):
        return None, None
    if match[1]:
        return date_days_ago(world, _FILTER_DAYS[match[1]], request.session.at_time), None
    return _EPOCH + timedelta(days=int(match[2])), _EPOCH + timedelta(days=int(match[3]))


def _build_view(world: World, hit: Hit, query: str) -> _ResultView:
    common_fields = (hit.url, display_title(hit), format_breadcrumbs(hit.url), format_mail_date(hit.date), hit.snippet)
    published = date.fromisoformat(hit.date)
    source, day_text = (
        urls.split_domain(urls.host_of(hit.url))[0],
        f"{published.month}/{published.day}/{published.year}",
    )
    return _ResultView(*common_fields, split_highlights(world, hit.snippet, query), source, day_text)


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as a page with the error's status."""
    return render_template("bing_refused.html", status=error.status, message=error.message)


DIALECT = Dialect(
    "bing-pages",
    "Bing, the page and RSS",
    ("www.bing.com",),
    (
        Route(("GET",), "/search", answer_search, True),
        Route(("GET",), "/news/(search|infinitescrollajax)", answer_news, True),
        Route(("GET",), "/images/(search|async)", answer_images, True),
    ),
    None,
    render_error,
    "by name through the proxy",
    ("ddgs", "smolagents"),
)
