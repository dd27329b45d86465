"""DuckDuckGo's pages without scripts, `html.duckduckgo.com` and `lite.duckduckgo.com`, which libraries read; and
the page of `duckduckgo.com`, which bears the token for what `duckduckgo_scripts` serves.

Their markup is what those libraries look for. The first page has ten results and later ones fifteen; a client that asks
too often gets 202.
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


class _Shown(NamedTuple):
    url: str
    title: str
    place: str
    """The URL without its scheme."""
    snippet: list[tuple[str, bool]]
    """Pieces, and whether each is a word of the query."""


def html(world: World, request: Request) -> Reply:
    """`/html/`."""
    return _answer(world, request, "duckduckgo.html")


def lite(world: World, request: Request) -> Reply:
    """`/lite/`."""
    return _answer(world, request, "duckduckgo_lite.html")


def home(world: World, request: Request) -> Reply:
    """Return the page of `duckduckgo.com`, with the token of the query; with `format=json` the Instant Answer API's."""
    if text(fields(request), "format").lower() in ("json", "xml") or text(fields(request), "o") in ("json", "x"):
        return scripts.instant(world, request)
    return _answer(world, request, "duckduckgo.html")


def _answer(world: World, request: Request, template: str) -> Reply:
    asked = fields(request)
    query, offset = text(asked, "q"), number(asked, "s", 0, 0, 1000)
    wanted = Wanted(offset, LATER if offset else FIRST, _since(world, request, asked))
    hits, more = search(world, query, wanted, request.session.at) if query.strip() else ((), False)
    shown = [_shown(world, hit, query) for hit in linked(hits)]
    following = offset + wanted.count if more else 0
    vqd = scripts.token(query) if request.path == "/" and query.strip() else ""
    return sheet(template, query=query, shown=shown, offset=offset, following=following, vqd=vqd)


def _since(world: World, request: Request, asked: dict[str, Any]) -> Any:
    days = scripts.DAYS.get(text(asked, "df"))
    return since(world, days, request.session.at) if days else None


def _shown(world: World, hit: Hit, query: str) -> _Shown:
    return _Shown(hit.url, title(hit), hit.url.partition("://")[2], split(world, hit.snippet, query))


def refuse(error: EmulatorError, request: Request) -> Reply:
    """A page; who asked too often gets one with the status 202."""
    is_often = error.reason in ("rate-limited", "out-of-budget")
    told = "Unfortunately, bots use DuckDuckGo too." if is_often else error.message
    return sheet("duckduckgo_refused.html", status=202 if is_often else error.status, told=told)


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
