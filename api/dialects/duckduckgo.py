"""DuckDuckGo's pages without scripts (`html.duckduckgo.com`, `lite.duckduckgo.com`) and its front page.

Their markup is what libraries look for. The front page carries the token for the addresses in `duckduckgo_scripts`.
The first page has ten results and later ones fifteen. A client that asks too often gets status 202.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from webemu.api.dialects import duckduckgo_scripts as scripts
from webemu.api.dialects.dialect import Dialect, Route, fields, number, text
from webemu.api.dialects.display import linked, split, title
from webemu.api.dialects.search import Wanted, search, since
from webemu.api.dialects.template import sheet
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.errors import EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

FIRST, LATER = 10, 15
"""Results on the first page and on later ones."""


class _Shown(NamedTuple):
    """One result, as the templates read it."""

    url: str
    title: str
    place: str
    """The URL without its scheme."""
    snippet: list[tuple[str, bool]]
    """The snippet in pieces, each with True if it is a word of the query."""


def html(world: World, request: Request) -> Reply:
    """Answer `/html/`."""
    return _answer(world, request, "duckduckgo.html")


def lite(world: World, request: Request) -> Reply:
    """Answer `/lite/`."""
    return _answer(world, request, "duckduckgo_lite.html")


def home(world: World, request: Request) -> Reply:
    """Answer `/`: the page with the query's token, or the Instant Answer API if `format` is JSON or XML."""
    if text(fields(request), "format").lower() in ("json", "xml") or text(fields(request), "o") in ("json", "x"):
        return scripts.instant(world, request)
    return _answer(world, request, "duckduckgo.html")


def _answer(world: World, request: Request, template: str) -> Reply:
    """Return a page of results; only the front page has the query's token."""
    asked = fields(request)
    query, offset = text(asked, "q"), number(asked, "s", 0, 0, 1000)
    wanted = Wanted(offset, LATER if offset else FIRST, _since(world, request, asked))
    hits, more = search(world, query, wanted, request.session.at) if query.strip() else ((), False)
    shown = [_shown(world, hit, query) for hit in linked(hits)]
    following = offset + wanted.count if more else 0
    vqd = scripts.token(query) if request.path == "/" and query.strip() else ""
    return sheet(template, query=query, results=shown, offset=offset, next_offset=following, vqd=vqd)


def _since(world: World, request: Request, asked: dict[str, Any]) -> Any:
    """Return the first day of the age in `df`, None for no limit."""
    days = scripts.DAYS.get(text(asked, "df"))
    return since(world, days, request.session.at) if days else None


def _shown(world: World, hit: Hit, query: str) -> _Shown:
    return _Shown(hit.url, title(hit), hit.url.partition("://")[2], split(world, hit.snippet, query))


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as a page; for too many requests it has status 202."""
    is_often = error.reason in ("rate-limited", "out-of-budget")
    told = "Unfortunately, bots use DuckDuckGo too." if is_often else error.message
    return sheet("duckduckgo_refused.html", status=202 if is_often else error.status, message=told)


DIALECT = Dialect(
    "duckduckgo",
    "DuckDuckGo",
    tuple(f"{name}duckduckgo.com" for name in ("html.", "lite.", "", "www.", "api.", "links.", "start.")),
    (
        Route(("GET", "POST"), "/html/?", html, True),
        Route(("GET", "POST"), "/lite/?", lite, True),
        Route(("GET", "POST"), "/", home, True),
        Route(("GET",), r"/d\.js", scripts.deep, True),
        Route(("GET",), r"/news\.js", scripts.news, True),
        Route(("GET",), r"/(i|v)\.js", scripts.pictures, True),
        Route(("GET",), "/ac/?", scripts.complete),
    ),
    None,
    refuse,
    "by name through the proxy: `webemu env` sets `DDGS_PROXY`",
    ("ddgs", "duckduckgo_search", "duck-duck-scrape", "smolagents"),
)
