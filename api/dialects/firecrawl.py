"""Firecrawl (`api.firecrawl.dev`), versions 1 and 2: scrape, search, map. Crawls are in `firecrawl_crawl`.

Version 2 groups results by kind and gives links with titles; version 1 has flat lists. Its client drops the prefix of
a base URL, so that `/v2/...`, and what no other service has of `/v1/...`, are served at this server's root too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from webemu.api.dialects import firecrawl_crawl
from webemu.api.dialects.dialect import (
    Dialect,
    Route,
    fields,
    fingerprint,
    flag,
    header,
    number,
    reply,
    text,
    texts,
    uuid,
)
from webemu.api.dialects.firecrawl_document import document, formats
from webemu.api.dialects.search import Wanted, search
from webemu.api.dialects.site import is_within, pages
from webemu.api.dialects.site_crawl import Bounds, Walk
from webemu.api.dialects.tbs import dates
from webemu.api.http.errors import is_ours
from webemu.api.http.request import Request
from webemu.api.services.origin import Headers, Reply
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError, NotCaptured, NoView, PayloadError
from webemu.emulator.types import Hit, PageRequest
from webemu.emulator.world import World

MOST_LINKS = 30_000
"""Most links of one map."""
Asked = dict[str, Any]
"""A JSON object: parameters of a request, or a part of a response."""


def _is_old(request: Request) -> bool:
    """True if the request is to version 1."""
    return request.path.startswith("/v1/")


def scrape(world: World, request: Request) -> Reply:
    """Answer `/scrape` with one page in the formats that are asked for."""
    asked = fields(request)
    found = document(world, _url(asked), asked, request.session.at, fingerprint(request)[:24])
    return reply({"success": True, "data": found})


def _url(asked: Asked) -> str:
    """Return the URL in the parameters. Raises BadRequest if it is missing."""
    if not (url := text(asked, "url").strip()):
        raise BadRequest("url is missing", reason="missing-url")
    return url


def find(world: World, request: Request) -> Reply:
    """Answer `/search`; results contain their documents if the request names formats."""
    asked = fields(request)
    if not (query := text(asked, "query")).strip():
        raise BadRequest("query is missing", reason="missing-query")
    wanted = _wanted(world, request, asked)
    hits = search(world, query, wanted, request.session.at)[0] if _is_old(request) or "web" in _sources(asked) else ()
    found = [_web(world, request, asked, hit, place) for place, hit in enumerate(hits, 1)]
    if _is_old(request):
        for one in found:
            del one["position"]  # version 1 has no ranks
        return reply({"success": True, "data": found, **({} if found else {"warning": "No search results found"})})
    shapes: Asked = {"web": found, "images": []}
    if "news" in _sources(asked):
        articles = search(world, query, replace(wanted, published=True), request.session.at)[0]
        shapes["news"] = [_news(hit, place) for place, hit in enumerate(articles, 1)]
    data = {kind: shapes[kind] for kind in _sources(asked) if kind in shapes}
    # Two credits per ten results, rounded up.
    return reply(
        {"success": True, "data": data, "creditsUsed": 2 * -(-sum(map(len, data.values())) // 10), "id": uuid(request)}
    )


def _wanted(world: World, request: Request, asked: Asked) -> Wanted:
    """Return filters from the parameters; the category `github` restricts the sites, `pdf` the file types."""
    after, before = dates(world, request, text(asked, "tbs"))
    kinds = _names(asked, "categories")
    sites = [*texts(asked, "includeDomains"), *(["github.com"] if "github" in kinds else [])]
    without, types = tuple(texts(asked, "excludeDomains")), ("pdf",) if "pdf" in kinds else ()
    count = number(asked, "limit", 5 if _is_old(request) else 10, 1, 100)
    return Wanted(0, count, after, before, tuple(sites), without, types)


def _sources(asked: Asked) -> list[str]:
    """Return the kinds of results that are asked for."""
    return _names(asked, "sources") or ["web"]


def _names(asked: Asked, name: str) -> list[str]:
    """Return names from a list of texts, or of objects with a `type`; empty if the parameter is no list."""
    said = asked.get(name)
    found = said if isinstance(said, list) else []
    return [str(one.get("type", "")) if isinstance(one, dict) else str(one) for one in found]


def _web(world: World, request: Request, asked: Asked, hit: Hit, place: int) -> Asked:
    """Return one result, with its document if formats are asked for and the crawl can show it."""
    one: Asked = {"url": hit.url, "title": hit.title or hit.url, "description": hit.snippet, "position": place}
    options = asked.get("scrapeOptions")
    if not isinstance(options, dict) or not formats({"formats": [], **options}):
        return one
    try:
        return one | document(world, hit.url, options, request.session.at, fingerprint(request)[:24])
    except EmulatorError as error:
        if is_ours(error):
            raise
        return one


def _news(hit: Hit, place: int) -> Asked:
    title = hit.title or hit.url
    return {"title": title, "url": hit.url, "snippet": hit.snippet, "date": hit.date, "position": place}


def chart(world: World, request: Request) -> Reply:
    """Answer `/map` with the pages of a site, those that a search finds first."""
    asked = fields(request)
    url = _url(asked)
    listed = islice(_listed(world, request, asked, url), number(asked, "limit", 5000, 1, MOST_LINKS))
    if _is_old(request):
        return reply({"success": True, "links": list(listed)})
    return reply({"success": True, "links": [_link(world, request, one) for one in listed]})


def _listed(world: World, request: Request, asked: Asked, url: str) -> Iterator[str]:
    """Yield URLs of the site, each once: search results, then links of the page, then all captured pages of the site.

    The last are what a sitemap would list.
    """
    at, site = request.session.at, urls.host(urls.guess(url))
    is_whole, says = flag(asked, "includeSubdomains", True), text(asked, "sitemap")
    drops = flag(asked, "ignoreQueryParameters", not _is_old(request))

    def belongs(one: str) -> bool:
        return is_within(urls.host(one), site, is_whole) and not (drops and "?" in one)

    query = text(asked, "search")
    hits = search(world, query, Wanted(0, 100, sites=(site,)), at)[0] if query else ()
    linked = Walk(world, Bounds(1, MOST_LINKS, MOST_LINKS, belongs), at).run(url) if _reads(asked) else []
    known = () if flag(asked, "ignoreSitemap") or says == "skip" else pages(world, site, is_whole, at)
    seen: set[str] = set()
    for one in chain((hit.url for hit in hits), (page.url for page in chain(linked, known))):
        if one not in seen and belongs(one):
            seen.add(one)
            yield one


def _reads(asked: Asked) -> bool:
    """True if the page's links are to be followed, not only the sitemap."""
    return not flag(asked, "sitemapOnly") and text(asked, "sitemap") != "only"


def _link(world: World, request: Request, url: str) -> Asked:
    """Return a link of version 2, with its title if the page has one."""
    title = world.text_of(world.locate(PageRequest(url, "text", request.session.at)))[0]
    return {"url": url, **({"title": title} if title else {})}


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as `{"success": false, "error", "code"?}`.

    A host name that does not resolve is status 200, as the service has it.
    """
    if error.reason in _KNOWN:
        status, told = _KNOWN[error.reason]
        wait: Headers = [(b"Retry-After", b"1")] if status == 429 else []
        return reply({"success": False, "error": told}, status, wait)
    if isinstance(error, BadRequest):
        details = [{"code": "custom", "message": error.message, "path": []}]
        return reply({"success": False, "code": "BAD_REQUEST", "error": "Bad Request", "details": details}, 400)
    status, code = _said(error)
    return reply({"success": False, **({"code": code} if code else {}), "error": error.message}, status)


_KNOWN = {
    "bad-key": (401, "Unauthorized: Invalid token"),
    "rate-limited": (429, "Rate limit exceeded"),
    "out-of-budget": (402, "Payment Required: Insufficient credits"),
}
"""Status and message by reason of the error."""


def _said(error: EmulatorError) -> tuple[int, str]:
    """Return status and code of an error; the code is empty if the service sends none."""
    if error.reason == "host-not-captured":
        return 200, "SCRAPE_DNS_RESOLUTION_ERROR"
    if isinstance(error, NotCaptured):
        return 404, "SCRAPE_NO_CACHED_DATA"
    if isinstance(error, (NoView, PayloadError)) and not is_ours(error):
        return 500, "SCRAPE_UNSUPPORTED_FILE_ERROR"
    return error.status, "UNKNOWN_ERROR" if error.status >= 500 else ""


def _at_root(request: Request) -> bool:
    """True for the paths of version 2, and for those of version 1 that no other service has."""
    return _ROOT.fullmatch(request.path) is not None


_ROOT = re.compile(r"/v2/.*|/v1/(scrape|map|crawl(/.*)?)")
_CRAWL = "/v[12]/crawl"

DIALECT = Dialect(
    "firecrawl",
    "Firecrawl",
    ("api.firecrawl.dev",),
    (
        Route(("POST",), "/v[12]/scrape", scrape),
        Route(("POST",), "/v[12]/search", find),
        Route(("POST",), "/v[12]/map", chart),
        Route(("POST",), _CRAWL, firecrawl_crawl.start),
        Route(("GET",), f"{_CRAWL}/(active|ongoing)", firecrawl_crawl.active),
        Route(("GET",), f"{_CRAWL}/[^/]+", firecrawl_crawl.status),
        Route(("DELETE",), f"{_CRAWL}/[^/]+", firecrawl_crawl.cancel),
        Route(("GET",), f"{_CRAWL}/[^/]+/errors", firecrawl_crawl.errors),
    ),
    lambda request: header(request, b"authorization", "Bearer"),
    refuse,
    '`Firecrawl(api_key=key, api_url="http://127.0.0.1:8800")`; version 1 with `/firecrawl`, or `FIRECRAWL_API_URL`',
    ("firecrawl-py",),
    _at_root,
)
