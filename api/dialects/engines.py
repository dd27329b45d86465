"""Result pages of other search engines, which metasearch libraries (`ddgs`) read beside or after DuckDuckGo's.

Each host answers its search in the markup that those libraries look for; without results the page has none, so that
a search that finds nothing ends as it does on the real web. Pages that the crawl holds of these hosts come first.
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
_SPANS = {"d": 1, "w": 7, "m": 30, "y": 365, "pd": 1, "pw": 7, "pm": 31, "py": 365}
_TBS = "qdr:"


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine's way to ask for a page of results."""

    name: str
    service: str
    query: str = "q"
    """Parameter that holds the query."""
    place: str = ""
    """Parameter that says which page is wanted; empty if there is but one."""
    first: int = 0
    """Value of `place` on the first page."""
    step: int = 1
    """Difference of `place` between two pages."""
    size: int = 10
    """Results on a page."""
    span: str = ""
    """Parameter that names the age of results."""
    is_news: bool = False


BRAVE = Engine("brave", "Brave Search", place="offset", size=20, span="tf")
STARTPAGE = Engine("startpage", "Startpage", "query", "page", 1, span="with_date")
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
_REDIRECTS, _TYPEAHEAD, _LETA = "r.search.yahoo.com", "grokipedia.com", "leta.mullvad.net"


class _Shown(NamedTuple):
    url: str
    title: str
    place: str
    """The URL without its scheme."""
    snippet: list[tuple[str, bool]]
    """Pieces, and whether each is a word of the query."""
    source: str
    date: str
    redirect: str
    """Address at the service that leads to the page."""


def results(world: World, request: Request) -> Reply:
    """Return one page of results of the engine that the host names; Brave's below this server's own prefix."""
    return _results(world, request, HOSTS.get(request.host, BRAVE))


def startpage(world: World, request: Request) -> Reply:
    """Return Startpage's form, whose hidden field its searches send along, with the results of a query."""
    return _results(world, request, STARTPAGE)


def _results(world: World, request: Request, engine: Engine) -> Reply:
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
    return sheet("engines.html", query=query, shown=results, token=fingerprint(request)[:20], is_wml=is_wml, **named)


def _wanted(world: World, request: Request, engine: Engine, parameters: dict[str, Any]) -> Wanted:
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
    """Lead from an address of Yahoo's to the page that it names."""
    match = re.search("/RU=([^/]+)", request.target)
    url = unquote(match[1]) if match else ""
    if not addresses.is_web(url) or not url.isprintable():
        raise Refused("the address names no page", reason="no-such-route", status=404)
    return reply(b"", 302, [(b"Location", quote(url, safe="%/:?#[]@!$&'()*+,;=-._~").encode())])


def typeahead(world: World, request: Request) -> Reply:
    """Return the articles of Grokipedia that fit a query: those of its pages that the crawl holds."""
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
    """Return Mullvad Leta's results as its pages load them: values by their number in one list (devalue)."""
    parameters = fields(request)
    query, place = text(parameters, "q"), number(parameters, "page", 1, 1, 100)
    hits = search(world, query, Wanted(10 * (place - 1), 10), request.session.at)[0] if query.strip() else ()
    values: list[Any] = [{"items": 1}, []]
    for hit in linked(hits):
        at = len(values)
        values[1].append(at)
        values += [{"link": at + 1, "title": at + 2, "snippet": at + 3}, hit.url, title(hit), hit.snippet]
    return reply(orjson.dumps({"type": "data", "nodes": [None, None, {"type": "data", "data": values}]}))


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Return a page with the status."""
    service = HOSTS[request.host].service if request.host in HOSTS else request.host
    return sheet("engines_refused.html", status=error.status, service=service, told=error.message)


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
