"""Result pages of other search engines, which metasearch libraries such as `ddgs` read.

Each host answers its search in the markup that those libraries look for. Without results the markup is empty, so that
the library reports what it reports on the live web. If the crawl holds a page of these hosts, that page comes first.
DuckDuckGo's and Bing's own pages are in `duckduckgo` and `bing_pages`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote

import orjson

from webemu.api.dialects.dialect import (
    Dialect,
    Route,
    build_response,
    get_number,
    get_text,
    read_params,
    request_digest,
)
from webemu.api.dialects.display import display_title, drop_unlinkable, split_highlights
from webemu.api.dialects.search import SearchParams, date_days_ago, search
from webemu.api.dialects.template import render_template
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.api.pages import addresses
from webemu.emulator import urls
from webemu.emulator.errors import EmulatorError, ServiceRefusal
from webemu.emulator.types import Hit
from webemu.emulator.world import World

MAX_OFFSET = 1000
"""Last rank that a page of results can begin at."""
_AGE_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365, "pd": 1, "pw": 7, "pm": 31, "py": 365}
"""Days of the ages that engines name."""
_TBS_AGE_PREFIX = "qdr:"
"""Prefix of an age in Google's `tbs`."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine's parameters for a page of results."""

    name: str
    """Name that selects its markup in `engines.html`."""
    service: str
    """Name that people know it by."""
    query_param: str = "q"
    """Parameter that holds the query."""
    page_param: str = ""
    """Parameter that selects the page of results; empty if there is only one."""
    first_page_value: int = 0
    """Value of that parameter on the first page."""
    page_step: int = 1
    """Difference of that parameter between two pages."""
    page_size: int = 10
    """Results on a page."""
    age_param: str = ""
    """Parameter that limits the age of results; empty if there is none."""
    is_news: bool = False
    """True if only pages that declare a publication date are results."""


BRAVE = Engine("brave", "Brave Search", page_param="offset", page_size=20, age_param="tf")
"""Brave's result page, which also answers below this server's own prefix."""
STARTPAGE = Engine("startpage", "Startpage", "query", "page", 1, age_param="with_date")
"""Startpage's result page, which has a dialect of its own because its search is at `/`."""
_ANNAS_ARCHIVE = Engine("books", "Anna’s Archive")
ENGINES_BY_HOST: Mapping[str, Engine] = {
    "search.brave.com": BRAVE,
    "www.google.com": Engine("google", "Google Search", page_param="start", page_step=10, age_param="tbs"),
    "www.mojeek.com": Engine("mojeek", "Mojeek", page_param="s", first_page_value=1, page_step=10),
    "search.yahoo.com": Engine("yahoo", "Yahoo Search", "p", "b", 1, 7, 7, "btf"),
    "news.search.yahoo.com": Engine("yahoo-news", "Yahoo News", "p", "b", 1, 10, 10, "btf", True),
    "yandex.com": Engine("yandex", "Yandex", "text", "p"),
    **{f"annas-archive.{domain}": _ANNAS_ARCHIVE for domain in ("gd", "gl", "li", "org", "pk", "se")},
}
"""Engines by host name."""
_YAHOO_REDIRECT_HOST, _GROKIPEDIA_HOST, _LETA_HOST = "r.search.yahoo.com", "grokipedia.com", "leta.mullvad.net"
"""Hosts that answer something else than a page of results."""


class _ResultView(NamedTuple):
    """One result, as the template reads it."""

    url: str
    title: str
    bare_url: str
    """The URL without its scheme."""
    snippet: list[tuple[str, bool]]
    """The snippet in pieces, each with True if it is a word of the query."""
    domain: str
    """Registered domain of the page."""
    iso_time: str
    """The date as ISO 8601, at midnight UTC."""
    redirect_url: str
    """Address at the service that redirects to the page."""


def answer_search(world: World, request: Request) -> Response:
    """Answer the search of the engine that the host names; below this server's own prefix, Brave's."""
    return _answer_search(world, request, ENGINES_BY_HOST.get(request.host, BRAVE))


def answer_startpage(world: World, request: Request) -> Response:
    """Answer Startpage's form and its results. The form's hidden field is sent along by searches."""
    return _answer_search(world, request, STARTPAGE)


def _answer_search(world: World, request: Request, engine: Engine) -> Response:
    """Return a page of results in an engine's markup. Anna's Archive never has any: its books are not in the crawl."""
    query_params = read_params(request)
    query = get_text(query_params, engine.query_param)
    search_params = _read_search_params(world, request, engine, query_params)
    has_results = bool(query.strip()) and engine is not _ANNAS_ARCHIVE
    hits = search(world, query, search_params, request.session.at_time)[0] if has_results else ()
    results = [_build_view(world, hit, query) for hit in drop_unlinkable(hits)]
    return render_template(
        "engines.html",
        query=query,
        results=results,
        token=request_digest(request)[:20],
        is_wml=request.path.startswith("/wml/"),
        engine=engine.name,
        service=engine.service,
        parameter=engine.query_param,
        path=request.path,
    )


def _read_search_params(world: World, request: Request, engine: Engine, params: dict[str, object]) -> SearchParams:
    """Return filters and paging from the parameters that the engine names."""
    page_size = get_number(params, "num", engine.page_size, 1, 100) if engine.name == "google" else engine.page_size
    page_value = (
        get_number(
            params, engine.page_param, engine.first_page_value, engine.first_page_value, MAX_OFFSET * engine.page_step
        )
        if engine.page_param
        else 0
    )
    pages_before = (page_value - engine.first_page_value) / engine.page_step
    days = _AGE_DAYS.get(get_text(params, engine.age_param).removeprefix(_TBS_AGE_PREFIX)) if engine.age_param else None
    after = date_days_ago(world, days, request.session.at_time) if days else None
    return SearchParams(
        min(MAX_OFFSET, int(pages_before * engine.page_size)), page_size, after, published=engine.is_news
    )


def _build_view(world: World, hit: Hit, query: str) -> _ResultView:
    redirect_url = f"https://{_YAHOO_REDIRECT_HOST}/_ylt=A/RV=2/RE=0/RO=10/RU={quote(hit.url, safe='')}/RK=2/RS=A-"
    domain, iso_time = urls.split_domain(urls.host_of(hit.url))[0], f"{hit.date}T00:00:00+00:00"
    bare_url = hit.url.partition("://")[2]
    return _ResultView(
        hit.url,
        display_title(hit),
        bare_url,
        split_highlights(world, hit.snippet, query),
        domain,
        iso_time,
        redirect_url,
    )


def answer_redirect(world: World, request: Request) -> Response:
    """Redirect from one of Yahoo's addresses to the page that it names. Raises ServiceRefusal if it names none."""
    match = re.search("/RU=([^/]+)", request.target)
    url = unquote(match[1]) if match else ""
    if not addresses.is_web_url(url) or not url.isprintable():
        raise ServiceRefusal("the address names no web page in RU=", reason="no-such-route", status=404)
    return build_response(b"", 302, [(b"Location", quote(url, safe="%/:?#[]@!$&'()*+,;=-._~").encode())])


def answer_typeahead(world: World, request: Request) -> Response:
    """Answer Grokipedia's type-ahead: its articles that match the query and that the crawl holds."""
    query_params = read_params(request)
    query, prefix = get_text(query_params, "query"), f"https://{_GROKIPEDIA_HOST}/page/"
    search_params = SearchParams(0, get_number(query_params, "limit", 5, 1, 20), sites=(_GROKIPEDIA_HOST,))
    hits = search(world, query, search_params, request.session.at_time)[0] if query.strip() else ()
    articles = [
        {"slug": hit.url.removeprefix(prefix), "title": display_title(hit), "snippet": hit.snippet}
        for hit in hits
        if hit.url.startswith(prefix)
    ]
    return build_response({"results": articles})


def answer_leta(world: World, request: Request) -> Response:
    """Answer Mullvad Leta's data request: one flat list whose values refer to each other by index (devalue format)."""
    params = read_params(request)
    query, page_number = get_text(params, "q"), get_number(params, "page", 1, 1, 100)
    hits = (
        search(world, query, SearchParams(10 * (page_number - 1), 10), request.session.at_time)[0]
        if query.strip()
        else ()
    )
    result_indexes: list[int] = []
    values: list[object] = [{"items": 1}, result_indexes]
    for hit in drop_unlinkable(hits):
        # A devalue list: objects and lists hold the indexes of their members.
        index = len(values)
        result_indexes.append(index)
        values += [
            {"link": index + 1, "title": index + 2, "snippet": index + 3},
            hit.url,
            display_title(hit),
            hit.snippet,
        ]
    return build_response(orjson.dumps({"type": "data", "nodes": [None, None, {"type": "data", "data": values}]}))


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as a page with the error's status."""
    service = ENGINES_BY_HOST[request.host].service if request.host in ENGINES_BY_HOST else "Search"
    return render_template("engines_refused.html", status=error.status, service=service, message=error.message)


DIALECT = Dialect(
    "engines",
    "Brave, Google, Mojeek, Yahoo, Yandex: the pages",
    (*ENGINES_BY_HOST, _YAHOO_REDIRECT_HOST, _GROKIPEDIA_HOST, _LETA_HOST),
    (
        Route(("GET",), "/(wml/)?search", answer_search, True),
        Route(("GET",), "/search;[^/]*", answer_search, True),
        Route(("GET",), "/search/(site/)?", answer_search, True),
        Route(("GET",), "/api/typeahead", answer_typeahead, True),
        Route(("GET",), "/search/__data.json", answer_leta, True),
        Route(("GET",), "/_ylt=.*", answer_redirect, True),
    ),
    None,
    render_error,
    "by name through the proxy",
    ("ddgs",),
)
STARTPAGE_DIALECT = Dialect(
    "startpage",
    "Startpage",
    ("www.startpage.com",),
    (
        Route(("GET", "POST"), "/", answer_startpage, True),
        Route(("GET", "POST"), "/(sp|do)/(dsearch|search)", answer_startpage, True),
    ),
    None,
    render_error,
    "by name through the proxy",
    ("ddgs",),
)
