"""Firecrawl's crawls.

A crawl's id encodes its parameters, and the crawl is computed when its status is asked for. So it is always complete,
and no server has to remember it.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from datetime import datetime

import orjson

from webemu.api.archives.filters import compile_pattern
from webemu.api.dialects.dialect import (
    JsonObject,
    build_response,
    get_flag,
    get_number,
    get_text,
    get_texts,
    read_params,
    request_digest,
)
from webemu.api.dialects.firecrawl_document import read_formats, render_document
from webemu.api.dialects.search import date_days_ago
from webemu.api.dialects.site import is_within, list_pages
from webemu.api.dialects.site_crawl import CrawlLimits, SiteCrawl
from webemu.api.http.errors import is_server_fault
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import json_text, urls
from webemu.emulator.errors import BadRequest, EmulatorError, ServiceRefusal
from webemu.emulator.types import Capture
from webemu.emulator.world import World

MAX_PAGES = 500
"""Most pages of one crawl."""
MAX_DEPTH = 20
"""Most links between the start and a page."""
DOCUMENTS_PER_RESPONSE = 100
"""Most documents of one response; `next` leads to the others."""
_ENCODED_PARAMS = (
    "url", "limit", "maxDiscoveryDepth", "maxDepth", "includePaths", "excludePaths", "regexOnFullURL", "sitemap",
    "ignoreSitemap", "ignoreQueryParameters", "crawlEntireDomain", "allowBackwardLinks", "allowExternalLinks",
    "allowSubdomains", "scrapeOptions",
)  # fmt: skip
"""Parameters that a crawl's id encodes."""


def answer_start(world: World, request: Request) -> Response:
    """Answer `POST /v2/crawl` with the id of a new crawl. Raises BadRequest if a parameter is wrong."""
    params = read_params(request)
    if not get_text(params, "url").strip():
        raise BadRequest("url is missing", reason="missing-url")
    if not urls.split_url(urls.parse_user_url(get_text(params, "url"))).netloc:
        raise BadRequest("url names no host", reason="bad-url")
    # Both raise BadRequest on wrong parameters: a crawl must be refused when it starts, not when it is read.
    read_formats(_read_scrape_options(params))
    _read_limits(params)
    encoded_params = {name: params[name] for name in _ENCODED_PARAMS if params.get(name) is not None}
    job = urlsafe_b64encode(orjson.dumps(encoded_params)).rstrip(b"=").decode()
    return build_response({"success": True, "id": job, "url": f"{request.origin}{_path_version(request)}/crawl/{job}"})


def answer_status(world: World, request: Request) -> Response:
    """Answer `GET /v2/crawl/ID` with the documents of a crawl from `skip` on."""
    job = request.path.rpartition("/")[2]
    params, at_time, paging = _decode_job(job), request.session.at_time, dict(request.parameters)
    captures = _run_crawl(world, params, at_time)
    first_index = get_number(paging, "skip", 0, 0, MAX_PAGES)
    end_index = first_index + get_number(paging, "limit", DOCUMENTS_PER_RESPONSE, 1, DOCUMENTS_PER_RESPONSE)
    payload: JsonObject = {"success": True, "status": "completed", "total": len(captures), "completed": len(captures)}
    # A crawl expires on the day after the session's: the response does not depend on the clock.
    payload |= {"creditsUsed": len(captures), "expiresAt": f"{date_days_ago(world, -1, at_time)}T00:00:00.000Z"}
    if end_index < len(captures):
        payload["next"] = f"{request.origin}{_path_version(request)}/crawl/{job}?skip={end_index}"
    if len(captures) == MAX_PAGES < _read_limit(params, 10_000):
        payload["warning"] = f"A crawl ends after {MAX_PAGES} pages."
    data = list(
        _render_documents(
            world, captures[first_index:end_index], _read_scrape_options(params), at_time, request_digest(request)[:24]
        )
    )
    return build_response({**payload, "data": data})


def answer_errors(world: World, request: Request) -> Response:
    """Answer `GET /v2/crawl/ID/errors`, always without any: a page that is not captured is no part of the crawl."""
    _decode_job(request.path.split("/")[-2])
    return build_response({"errors": [], "robotsBlocked": []})


def answer_active(world: World, request: Request) -> Response:
    """Answer `GET /v2/crawl/active`, always without any."""
    return build_response({"success": True, "crawls": []})


def answer_cancel(world: World, request: Request) -> Response:
    """Answer `DELETE /v2/crawl/ID`. There is nothing to stop."""
    _decode_job(request.path.rpartition("/")[2])
    return build_response({"success": True, "status": "cancelled"})


def _path_version(request: Request) -> str:
    """Return the path's version, `/v1` or `/v2`."""
    return request.path[:3]


def _decode_job(job: str) -> JsonObject:
    """Return the parameters that a crawl's id encodes. Raises ServiceRefusal if it encodes none."""
    try:
        params = json_text.parse_json(urlsafe_b64decode(job + "=" * (-len(job) % 4)))
    except ValueError:
        params = None
    if not isinstance(params, dict) or not isinstance(params.get("url"), str):
        raise ServiceRefusal("Job not found", reason="no-such-job", status=404)
    return params


def _read_scrape_options(params: JsonObject) -> JsonObject:
    """Return the options for scraping each page; empty if there are none."""
    scrape_options = params.get("scrapeOptions")
    return scrape_options if isinstance(scrape_options, dict) else {}


def _read_limit(params: JsonObject, max_pages: int) -> int:
    """Return the number of pages asked for, `max_pages` at most and by default."""
    return get_number(params, "limit", max_pages, 1, max_pages)


def _run_crawl(world: World, params: JsonObject, at_time: datetime | None) -> list[Capture]:
    """Return the captures of a crawl: pages that links lead to, and all captured pages of the site unless excluded."""
    start_url = get_text(params, "url")
    site = urls.host_of(urls.parse_user_url(start_url))
    skips_sitemap = get_flag(params, "ignoreSitemap") or get_text(params, "sitemap") == "skip"
    sitemap_urls = (page.url for page in list_pages(world, site, get_flag(params, "allowSubdomains"), at_time))
    return SiteCrawl(world, _read_limits(params), at_time).crawl(start_url, () if skips_sitemap else sitemap_urls)


def _read_limits(params: JsonObject) -> CrawlLimits:
    """Return the limits of a crawl. Raises BadRequest if a parameter is wrong."""
    depth = get_number(
        params, "maxDiscoveryDepth", get_number(params, "maxDepth", MAX_DEPTH, 0, MAX_DEPTH), 0, MAX_DEPTH
    )
    site = urls.host_of(urls.parse_user_url(get_text(params, "url")))
    breadth = 0 if get_text(params, "sitemap") == "only" else MAX_PAGES
    with_subdomains = get_flag(params, "allowSubdomains")
    limit, accepts = _read_limit(params, MAX_PAGES), _build_url_test(params, site)
    return CrawlLimits(depth, breadth, limit, accepts, lambda url: is_within(urls.host_of(url), site, with_subdomains))


def _build_url_test(params: JsonObject, site: str) -> Callable[[str], bool]:
    """Return the test for URLs of a crawl, by Firecrawl's rules.

    A URL must be below the start's path unless the entire domain is wanted, must match the path patterns, and must be
    on the same host unless external links are allowed.
    """
    start_path = urls.split_url(urls.parse_user_url(get_text(params, "url"))).path
    allows_whole_domain = get_flag(params, "crawlEntireDomain") or get_flag(params, "allowBackwardLinks")
    included_paths, excluded_paths = (
        _compile_patterns(params, "includePaths"),
        _compile_patterns(params, "excludePaths"),
    )
    matches_full_url = get_flag(params, "regexOnFullURL")

    def belongs(url: str) -> bool:
        path = urls.split_url(url).path
        if not is_within(urls.host_of(url), site, get_flag(params, "allowSubdomains")):
            return get_flag(params, "allowExternalLinks")
        if get_flag(params, "ignoreQueryParameters") and "?" in url:
            return False
        subject = url if matches_full_url else path
        if any(test(subject) for test in excluded_paths) or not (allows_whole_domain or path.startswith(start_path)):
            return False
        return not included_paths or any(test(subject) for test in included_paths)

    return belongs


def _compile_patterns(params: JsonObject, name: str) -> list[Callable[[str], bool]]:
    """Return a test per pattern in the parameter; a pattern may match anywhere."""
    return [compile_pattern(f"(?s:.*)(?:{one})", full_match=False) for one in get_texts(params, name)]


def _render_documents(
    world: World, captures: list[Capture], options: JsonObject, at_time: datetime | None, scrape_id: str
) -> Iterator[dict[str, object]]:
    """Yield the documents of captures, leaving out those that the crawl cannot show."""
    for capture in captures:
        try:
            yield render_document(world, capture.url, options, at_time, scrape_id)
        except EmulatorError as error:
            if is_server_fault(error):
                raise
