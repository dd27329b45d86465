"""DuckDuckGo's pages without scripts (`html.duckduckgo.com`, `lite.duckduckgo.com`) and its front page.

Their markup is what libraries look for. The front page carries the token for the addresses in `duckduckgo_scripts`.
The first page has ten results and later ones fifteen. A client that asks too often gets status 202.
"""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from webemu.api.dialects import duckduckgo_scripts as scripts
from webemu.api.dialects.dialect import Dialect, Route, get_number, get_text, read_params
from webemu.api.dialects.display import display_title, drop_unlinkable, split_highlights
from webemu.api.dialects.search import NO_ANSWER, SearchParams, date_days_ago, search_corrected
from webemu.api.dialects.template import render_template
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

FIRST_PAGE_SIZE, LATER_PAGE_SIZE = 10, 15
"""Results on the first page and on later ones."""


class _ResultView(NamedTuple):
    """One result, as the templates read it."""

    url: str
    title: str
    bare_url: str
    """The URL without its scheme."""
    snippet: list[tuple[str, bool]]
    """The snippet in pieces, each with True if it is a word of the query."""


def answer_html(world: World, request: Request) -> Response:
    """Answer `/html/`."""
    return _answer_search(world, request, "duckduckgo.html")


def answer_lite(world: World, request: Request) -> Response:
    """Answer `/lite/`."""
    return _answer_search(world, request, "duckduckgo_lite.html")


def answer_home(world: World, request: Request) -> Response:
    """Answer `/`: the page with the query's token, or the Instant Answer API if `format` is JSON or XML."""
    if get_text(read_params(request), "format").lower() in ("json", "xml") or get_text(read_params(request), "o") in (
        "json",
        "x",
    ):
        return scripts.answer_instant(world, request)
    return _answer_search(world, request, "duckduckgo.html")


def _answer_search(world: World, request: Request, template: str) -> Response:
    """Return a page of results; only the front page has the query's token."""
    params = read_params(request)
    query, offset = get_text(params, "q"), get_number(params, "s", 0, 0, 1000)
    search_params = SearchParams(
        offset, LATER_PAGE_SIZE if offset else FIRST_PAGE_SIZE, _read_first_day(world, request, params)
    )
    at_time = request.session.at_time
    answer = search_corrected(world, query, search_params, at_time) if query.strip() else NO_ANSWER
    results = [_build_view(world, hit, query) for hit in drop_unlinkable(answer.hits)]
    next_offset = offset + search_params.count if answer.has_more else 0
    vqd = scripts.make_token(query) if request.path == "/" and query.strip() else ""
    return render_template(
        template,
        query=query,
        corrected_text=answer.corrected_text,
        results=results,
        offset=offset,
        next_offset=next_offset,
        vqd=vqd,
    )


def _read_first_day(world: World, request: Request, params: dict[str, object]) -> date | None:
    """Return the first day of the age in `df`, None for no limit."""
    days = scripts.AGE_DAYS.get(get_text(params, "df"))
    return date_days_ago(world, days, request.session.at_time) if days else None


def _build_view(world: World, hit: Hit, query: str) -> _ResultView:
    return _ResultView(
        hit.url, display_title(hit), hit.url.partition("://")[2], split_highlights(world, hit.snippet, query)
    )


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as a page; for too many requests it has status 202."""
    is_over_limit = error.reason in ("rate-limited", "out-of-budget")
    message = "Unfortunately, bots use DuckDuckGo too." if is_over_limit else error.message
    return render_template("duckduckgo_refused.html", status=202 if is_over_limit else error.status, message=message)


DIALECT = Dialect(
    "duckduckgo",
    "DuckDuckGo",
    tuple(f"{name}duckduckgo.com" for name in ("html.", "lite.", "", "www.", "api.", "links.", "start.")),
    (
        Route(("GET", "POST"), "/html/?", answer_html, True),
        Route(("GET", "POST"), "/lite/?", answer_lite, True),
        Route(("GET", "POST"), "/", answer_home, True),
        Route(("GET",), r"/d\.js", scripts.answer_deep, True),
        Route(("GET",), r"/news\.js", scripts.answer_news, True),
        Route(("GET",), r"/(i|v)\.js", scripts.answer_media, True),
        Route(("GET",), "/ac/?", scripts.answer_completions),
    ),
    None,
    render_error,
    "by name through the proxy: `webemu env` sets `DDGS_PROXY`",
    ("ddgs", "duckduckgo_search", "duck-duck-scrape", "smolagents"),
)
