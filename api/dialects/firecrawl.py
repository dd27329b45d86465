"""Firecrawl (`api.firecrawl.dev`), versions 1 and 2: scrape, search, map. Crawls are in `firecrawl_crawl`.

Version 2 groups results by kind and gives links with titles; version 1 has flat lists. Its client drops the prefix of
a base URL, so that `/v2/...`, and what no other service has of `/v1/...`, are served at this server's root too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from webemu.api.dialects import firecrawl_batch, firecrawl_crawl
from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_flag,
    get_header,
    get_number,
    get_text,
    get_texts,
    read_params,
    request_digest,
    request_uuid,
)
from webemu.api.dialects.firecrawl_document import read_formats, render_document
from webemu.api.dialects.search import SearchParams, search
from webemu.api.dialects.site import is_within, list_pages
from webemu.api.dialects.site_crawl import CrawlLimits, SiteCrawl
from webemu.api.dialects.tbs import parse_dates
from webemu.api.http.errors import is_server_fault
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.emulator import urls
from webemu.emulator.errors import (
    BadRequest,
    EmulatorError,
    NotCaptured,
    PayloadError,
    ServiceRefusal,
    ViewUnavailable,
)
from webemu.emulator.types import Hit, PageRequest
from webemu.emulator.world import World

MAX_LINKS = 30_000
"""Most links of one map."""


def _is_version_1(request: Request) -> bool:
    """True if the request is to version 1."""
    return request.path.startswith("/v1/")


def answer_scrape(world: World, request: Request) -> Response:
    """Answer `/scrape` with one page in the formats that are asked for."""
    params = read_params(request)
    page_document = render_document(
        world, _require_url(params), params, request.session.at_time, request_digest(request)[:24]
    )
    return build_response({"success": True, "data": page_document})


def _require_url(params: JsonObject) -> str:
    """Return the URL in the parameters. Raises BadRequest if it is missing."""
    if not (url := get_text(params, "url").strip()):
        raise BadRequest("url is missing", reason="missing-url")
    return url


def answer_search(world: World, request: Request) -> Response:
    """Answer `/search`; results contain their documents if the request names formats."""
    params = read_params(request)
    if not (query := get_text(params, "query")).strip():
        raise BadRequest("query is missing", reason="missing-query")
    search_params = _read_search_params(world, request, params)
    hits = (
        search(world, query, search_params, request.session.at_time)[0]
        if _is_version_1(request) or "web" in _read_sources(params)
        else ()
    )
    rows = [_render_result(world, request, params, hit, rank) for rank, hit in enumerate(hits, 1)]
    if _is_version_1(request):
        for row in rows:
            del row["position"]  # version 1 has no ranks
        return build_response(
            {"success": True, "data": rows, **({} if rows else {"warning": "No search results found"})}
        )
    rows_by_kind: dict[str, list[JsonObject]] = {"web": rows, "images": []}
    if "news" in _read_sources(params):
        articles = search(world, query, replace(search_params, published=True), request.session.at_time)[0]
        rows_by_kind["news"] = [_render_article(hit, rank) for rank, hit in enumerate(articles, 1)]
    data = {kind: rows_by_kind[kind] for kind in _read_sources(params) if kind in rows_by_kind}
    # Two credits per ten results, rounded up.
    return build_response(
        {
            "success": True,
            "data": data,
            "creditsUsed": 2 * -(-sum(map(len, data.values())) // 10),
            "id": request_uuid(request),
        }
    )


def _read_search_params(world: World, request: Request, params: JsonObject) -> SearchParams:
    """Return filters from the parameters; the category `github` restricts the sites, `pdf` the file types."""
    after, before = parse_dates(world, request, get_text(params, "tbs"))
    categories = _read_names(params, "categories")
    sites = [*get_texts(params, "includeDomains"), *(["github.com"] if "github" in categories else [])]
    excluded_sites, file_types = tuple(get_texts(params, "excludeDomains")), ("pdf",) if "pdf" in categories else ()
    count = get_number(params, "limit", 5 if _is_version_1(request) else 10, 1, 100)
    return SearchParams(0, count, after, before, tuple(sites), excluded_sites, file_types)


def _read_sources(params: JsonObject) -> list[str]:
    """Return the kinds of results that are asked for."""
    return _read_names(params, "sources") or ["web"]


def _read_names(params: JsonObject, name: str) -> list[str]:
    """Return names from a list of texts, or of objects with a `type`; empty if the parameter is no list."""
    names_value = params.get(name)
    entries = names_value if isinstance(names_value, list) else []
    return [str(one.get("type", "")) if isinstance(one, dict) else str(one) for one in entries]


def _render_result(world: World, request: Request, params: JsonObject, hit: Hit, rank: int) -> JsonObject:
    """Return one result, with its document if formats are asked for and the crawl can show it."""
    row: JsonObject = {"url": hit.url, "title": hit.title or hit.url, "description": hit.snippet, "position": rank}
    options = params.get("scrapeOptions")
    if not isinstance(options, dict) or not read_formats({"formats": [], **options}):
        return row
    try:
        return row | render_document(world, hit.url, options, request.session.at_time, request_digest(request)[:24])
    except EmulatorError as error:
        if is_server_fault(error):
            raise
        return row


def _render_article(hit: Hit, rank: int) -> JsonObject:
    display_title = hit.title or hit.url
    return {"title": display_title, "url": hit.url, "snippet": hit.snippet, "date": hit.date, "position": rank}


def answer_map(world: World, request: Request) -> Response:
    """Answer `/map` with the pages of a site, those that a search finds first."""
    params = read_params(request)
    url = _require_url(params)
    site_urls = islice(_list_urls(world, request, params, url), get_number(params, "limit", 5000, 1, MAX_LINKS))
    if _is_version_1(request):
        return build_response({"success": True, "links": list(site_urls)})
    return build_response({"success": True, "links": [_render_link(world, request, one) for one in site_urls]})


def _list_urls(world: World, request: Request, params: JsonObject, url: str) -> Iterator[str]:
    """Yield URLs of the site, each once: search results, then links of the page, then all captured pages of the site.

    The last are what a sitemap would list.
    """
    at_time, site = request.session.at_time, urls.host_of(urls.parse_user_url(url))
    with_subdomains, sitemap_mode = get_flag(params, "includeSubdomains", True), get_text(params, "sitemap")
    drops_queries = get_flag(params, "ignoreQueryParameters", not _is_version_1(request))

    def belongs(candidate: str) -> bool:
        return is_within(urls.host_of(candidate), site, with_subdomains) and not (drops_queries and "?" in candidate)

    query = get_text(params, "search")
    hits = search(world, query, SearchParams(0, 100, sites=(site,)), at_time)[0] if query else ()
    linked_pages = (
        SiteCrawl(world, CrawlLimits(1, MAX_LINKS, MAX_LINKS, belongs), at_time).crawl(url)
        if _follows_links(params)
        else []
    )
    site_pages = (
        ()
        if get_flag(params, "ignoreSitemap") or sitemap_mode == "skip"
        else list_pages(world, site, with_subdomains, at_time)
    )
    visited: set[str] = set()
    for site_url in chain((hit.url for hit in hits), (page.url for page in chain(linked_pages, site_pages))):
        if site_url not in visited and belongs(site_url):
            visited.add(site_url)
            yield site_url


def _follows_links(params: JsonObject) -> bool:
    """True if the page's links are to be followed, not only the sitemap."""
    return not get_flag(params, "sitemapOnly") and get_text(params, "sitemap") != "only"


def _render_link(world: World, request: Request, url: str) -> JsonObject:
    """Return a link of version 2, with its title if the page has one."""
    title = world.text_of(world.locate(PageRequest(url, "text", request.session.at_time)))[0]
    return {"url": url, **({"title": title} if title else {})}


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"success": false, "error", "code"?}`.

    A host name that does not resolve is status 200, as the service has it.
    """
    if error.reason in _ERRORS:
        status, message = _ERRORS[error.reason]
        retry_headers: Headers = [(b"Retry-After", b"1")] if status == 429 else []
        return build_response({"success": False, "error": message}, status, retry_headers)
    if isinstance(error, BadRequest):
        details = [{"code": "custom", "message": error.message, "path": []}]
        return build_response(
            {"success": False, "code": "BAD_REQUEST", "error": "Bad Request", "details": details}, 400
        )
    status, code = _classify_error(error)
    return build_response({"success": False, **({"code": code} if code else {}), "error": error.message}, status)


_ERRORS = {
    "bad-key": (401, "Unauthorized: Invalid token"),
    "rate-limited": (429, "Rate limit exceeded"),
    "out-of-budget": (402, "Payment Required: Insufficient credits"),
}
"""Status and message by reason of the error."""


def _classify_error(error: EmulatorError) -> tuple[int, str]:
    """Return status and code of an error; the code is empty if the service sends none."""
    if error.reason == "host-not-captured":
        return 200, "SCRAPE_DNS_RESOLUTION_ERROR"
    if isinstance(error, NotCaptured):
        return 404, "SCRAPE_NO_CACHED_DATA"
    if isinstance(error, (ViewUnavailable, PayloadError)) and not is_server_fault(error):
        return 500, "SCRAPE_UNSUPPORTED_FILE_ERROR"
    return error.status, "UNKNOWN_ERROR" if error.status >= 500 else ""


def _is_meant_at_root(request: Request) -> bool:
    """True for the paths of version 2, and for those of version 1 that no other service has."""
    return _ROOT_PATHS.fullmatch(request.path) is not None


_ROOT_PATHS = re.compile(r"/v2/.*|/v1/(scrape|map|crawl(/.*)?|batch/scrape(/.*)?)")
_CRAWL_PATH, _BATCH_PATH = "/v[12]/crawl", "/v[12]/batch/scrape"


def _refuse_extract(world: World, request: Request) -> Response:
    """Refuse what a language model would write."""
    raise ServiceRefusal("This feature is not enabled for your team", reason="no-extract", status=403)


DIALECT = Dialect(
    "firecrawl",
    "Firecrawl",
    ("api.firecrawl.dev",),
    (
        Route(("POST",), "/v[12]/scrape", answer_scrape),
        Route(("POST",), "/v[12]/search", answer_search),
        Route(("POST",), "/v[12]/map", answer_map),
        Route(("POST",), _CRAWL_PATH, firecrawl_crawl.answer_start),
        Route(("GET",), f"{_CRAWL_PATH}/(active|ongoing)", firecrawl_crawl.answer_active),
        Route(("GET",), f"{_CRAWL_PATH}/[^/]+", firecrawl_crawl.answer_status),
        Route(("DELETE",), f"{_CRAWL_PATH}/[^/]+", firecrawl_crawl.answer_cancel),
        Route(("GET",), f"{_CRAWL_PATH}/[^/]+/errors", firecrawl_crawl.answer_errors),
        Route(("POST",), _BATCH_PATH, firecrawl_batch.answer_start),
        Route(("GET",), f"{_BATCH_PATH}/[^/]+", firecrawl_batch.answer_status),
        Route(("DELETE",), f"{_BATCH_PATH}/[^/]+", firecrawl_batch.answer_cancel),
        Route(("GET",), f"{_BATCH_PATH}/[^/]+/errors", firecrawl_batch.answer_errors),
        Route(("POST", "GET"), "/v[12]/(extract|agent|deep-research)(/.*)?", _refuse_extract),
    ),
    lambda request: get_header(request, b"authorization", "Bearer"),
    render_error,
    '`Firecrawl(api_key=key, api_url="http://127.0.0.1:8800")`; version 1 with `/firecrawl`, or `FIRECRAWL_API_URL`',
    ("firecrawl-py",),
    _is_meant_at_root,
)
