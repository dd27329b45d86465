"""Result pages of other search engines, which metasearch libraries such as `ddgs` read.

Each host answers its search in the markup that those libraries look for. Without results the markup is empty, so that
the library reports what it reports on the live web. If the crawl holds a page of these hosts, that page comes first.
DuckDuckGo's and Bing's own pages are in `duckduckgo` and `bing_pages`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import orjson

from webemu.api.dialects.dialect import Dialect, Route, fields, fingerprint, number, reply, text
from webemu.api.dialects.display import linked, split, title
from webemu.api.dialects.search import Wanted, search, since
from webemu.api.dialects.template import sheet
from webemu.api.http.request import Request
from webemu.api.pages import addresses
from webemu.api.services.origin import Reply
from webemu.emulator import urls
from webemu.emulator.errors import EmulatorError, Refused
from webemu.emulator.types import Hit
from webemu.emulator.world import World

DEEPEST = 1000
"""Last rank that a page of results can begin at."""
_SPANS = {"d": 1, "w": 7, "m": 30, "y": 365, "pd": 1, "pw": 7, "pm": 31, "py": 365}
"""Days of the ages that engines name."""
_TBS = "qdr:"
"""Prefix of an age in Google's `tbs`."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine's parameters for a page of results."""

    name: str
    """Name that selects its markup in `engines.html`."""
    service: str
    """Name that people know it by."""
    query: str = "q"
    """Parameter that holds the query."""
    place: str = ""
    """Parameter that selects the page of results; empty if there is only one."""
    first: int = 0
    """Value of that parameter on the first page."""
    step: int = 1
    """Difference of that parameter between two pages."""
    size: int = 10
    """Results on a page."""
    span: str = ""
    """Parameter that limits the age of results; empty if there is none."""
    is_news: bool = False
    """True if only pages that declare a publication date are results."""


BRAVE = Engine("brave", "Brave Search", place="offset", size=20, span="tf")
"""Brave's result page, which also answers below this server's own prefix."""
STARTPAGE = Engine("startpage", "Startpage", "query", "page", 1, span="with_date")
"""Startpage's result page, which has a dialect of its own because its search is at `/`."""
_BOOKS = Engine("books", "Anna’s Archive")
HOSTS: Mapping[str, Engine] = {
    "search.brave.com": BRAVE,
    "www.google.com": Engine("google", "Google Search", place="start", step=10, span="tbs"),
    "www.mojeek.com": Engine("mojeek", "Mojeek", place="s", first=1, step=10),
    "search.yahoo.com": Engine("yahoo", "Yahoo Search", "p", "b", 1, 7, 7, "btf"),
    "news.search.yahoo.com": Engine("yahoo-news", "Yahoo News", "p", "b", 1, 10, 10, "btf", True),
    "yandex.com": Engine("yandex", "Yandex", "text", "p"),
    **{f"annas-archive.{domain}": _BOOKS for domain in ("gd", "gl", "li", "org", "pk", "se")},
}
"""Engines by host name."""
_REDIRECTS, _TYPEAHEAD, _LETA = "r.search.yahoo.com", "grokipedia.com", "leta.mullvad.net"
"""Hosts that answer something else than a page of results."""


class _Shown(NamedTuple):
    """One result, as the template reads it."""

    url: str
    title: str
    place: str
    """The URL without its scheme."""
    snippet: list[tuple[str, bool]]
    """The snippet in pieces, each with True if it is a word of the query."""
    source: str
    """Registered domain of the page."""
    date: str
    """The date as ISO 8601, at midnight UTC."""
    redirect: str
    """Address at the service that redirects to the page."""


def results(world: World, request: Request) -> Reply:
    """Answer the search of the engine that the host names; below this server's own prefix, Brave's."""
    return _results(world, request, HOSTS.get(request.host, BRAVE))


def startpage(world: World, request: Request) -> Reply:
    """Answer Startpage's form and its results. The form's hidden field is sent along by searches."""
    return _results(world, request, STARTPAGE)


def _results(world: World, request: Request, engine: Engine) -> Reply:
    """Return a page of results in an engine's markup. Anna's Archive never has any: its books are not in the crawl."""
    parameters = fields(request)
    query = text(parameters, engine.query)
    params = _wanted(world, request, engine, parameters)
    is_asked = bool(query.strip()) and engine is not _BOOKS
    hits = search(world, query, params, request.session.at)[0] if is_asked else ()
    results = [_shown(world, hit, query) for hit in linked(hits)]
    named: dict[str, Any] = {
        "engine": engine.name,
        "service": engine.service,
        "parameter": engine.query,
        "path": request.path,
    }
    is_wml = request.path.startswith("/wml/")
    return sheet("engines.html", query=query, results=results, token=fingerprint(request)[:20], is_wml=is_wml, **named)


def _wanted(world: World, request: Request, engine: Engine, parameters: dict[str, Any]) -> Wanted:
    """Return filters and paging from the parameters that the engine names."""
    size = number(parameters, "num", engine.size, 1, 100) if engine.name == "google" else engine.size
    place = number(parameters, engine.place, engine.first, engine.first, DEEPEST * engine.step) if engine.place else 0
    pages = (place - engine.first) / engine.step
    days = _SPANS.get(text(parameters, engine.span).removeprefix(_TBS)) if engine.span else None
    after = since(world, days, request.session.at) if days else None
    return Wanted(min(DEEPEST, int(pages * engine.size)), size, after, published=engine.is_news)


def _shown(world: World, hit: Hit, query: str) -> _Shown:
    redirect = f"https://{_REDIRECTS}/_ylt=A/RV=2/RE=0/RO=10/RU={quote(hit.url, safe='')}/RK=2/RS=A-"
    source, date = urls.domain(urls.host(hit.url))[0], f"{hit.date}T00:00:00+00:00"
    place = hit.url.partition("://")[2]
    return _Shown(hit.url, title(hit), place, split(world, hit.snippet, query), source, date, redirect)


def redirect(world: World, request: Request) -> Reply:
    """Redirect from one of Yahoo's addresses to the page that it names. Raises ServiceRefusal if it names none."""
    match = re.search("/RU=([^/]+)", request.target)
    url = unquote(match[1]) if match else ""
    if not addresses.is_web(url) or not url.isprintable():
        raise Refused("the address names no web page in RU=", reason="no-such-route", status=404)
    return reply(b"", 302, [(b"Location", quote(url, safe="%/:?#[]@!$&'()*+,;=-._~").encode())])


def typeahead(world: World, request: Request) -> Reply:
    """Answer Grokipedia's type-ahead: its articles that match the query and that the crawl holds."""
    parameters = fields(request)
    query, prefix = text(parameters, "query"), f"https://{_TYPEAHEAD}/page/"
    params = Wanted(0, number(parameters, "limit", 5, 1, 20), sites=(_TYPEAHEAD,))
    hits = search(world, query, params, request.session.at)[0] if query.strip() else ()
    articles = [
        {"slug": hit.url.removeprefix(prefix), "title": title(hit), "snippet": hit.snippet}
        for hit in hits
        if hit.url.startswith(prefix)
    ]
    return reply({"results": articles})


def leta(world: World, request: Request) -> Reply:
    """Answer Mullvad Leta's data request: one flat list whose values refer to each other by index (devalue format)."""
    parameters = fields(request)
    query, place = text(parameters, "q"), number(parameters, "page", 1, 1, 100)
    hits = search(world, query, Wanted(10 * (place - 1), 10), request.session.at)[0] if query.strip() else ()
    values: list[Any] = [{"items": 1}, []]
    for hit in linked(hits):
        # A devalue list: objects and lists hold the indexes of their members.
        at = len(values)
        values[1].append(at)
        values += [{"link": at + 1, "title": at + 2, "snippet": at + 3}, hit.url, title(hit), hit.snippet]
    return reply(orjson.dumps({"type": "data", "nodes": [None, None, {"type": "data", "data": values}]}))


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as a page with the error's status."""
    service = HOSTS[request.host].service if request.host in HOSTS else request.host
    return sheet("engines_refused.html", status=error.status, service=service, message=error.message)


DIALECT = Dialect(
    "engines",
    "Brave, Google, Mojeek, Yahoo, Yandex: the pages",
    (*HOSTS, _REDIRECTS, _TYPEAHEAD, _LETA),
    (
        Route(("GET",), "/(wml/)?search", results, True),
        Route(("GET",), "/search;[^/]*", results, True),
        Route(("GET",), "/search/(site/)?", results, True),
        Route(("GET",), "/api/typeahead", typeahead, True),
        Route(("GET",), "/search/__data.json", leta, True),
        Route(("GET",), "/_ylt=.*", redirect, True),
    ),
    None,
    refuse,
    "by name through the proxy",
    ("ddgs",),
)
STARTPAGE_DIALECT = Dialect(
    "startpage",
    "Startpage",
    ("www.startpage.com",),
    (
        Route(("GET", "POST"), "/", startpage, True),
        Route(("GET", "POST"), "/(sp|do)/(dsearch|search)", startpage, True),
    ),
    None,
    refuse,
    "by name through the proxy",
    ("ddgs",),
)
