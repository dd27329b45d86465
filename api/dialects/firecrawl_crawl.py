"""Firecrawl's crawls.

A crawl's id encodes its parameters, and the crawl is computed when its status is asked for. So it is always complete,
and no server has to remember it.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import orjson

from webemu.api.archives.filters import pattern
from webemu.api.dialects.dialect import fields, fingerprint, flag, number, reply, text, texts
from webemu.api.dialects.firecrawl_document import document, formats
from webemu.api.dialects.search import since
from webemu.api.dialects.site import is_within, pages
from webemu.api.dialects.site_crawl import Bounds, Walk
from webemu.api.http.errors import is_ours
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator import json_text, urls
from webemu.emulator.errors import BadRequest, EmulatorError, Refused
from webemu.emulator.types import Capture
from webemu.emulator.world import World

MOST_PAGES = 500
"""Most pages of one crawl."""
DEEPEST = 20
"""Most links between the start and a page."""
PER_REPLY = 100
"""Most documents of one response; `next` leads to the others."""
_KEPT = (
    "url", "limit", "maxDiscoveryDepth", "maxDepth", "includePaths", "excludePaths", "regexOnFullURL", "sitemap",
    "ignoreSitemap", "ignoreQueryParameters", "crawlEntireDomain", "allowBackwardLinks", "allowExternalLinks",
    "allowSubdomains", "scrapeOptions",
)  # fmt: skip
"""Parameters that a crawl's id encodes."""
Asked = dict[str, Any]
"""A JSON object: parameters of a request, or a part of a response."""


def start(world: World, request: Request) -> Reply:
    """Answer `POST /v2/crawl` with the id of a new crawl. Raises BadRequest if a parameter is wrong."""
    asked = fields(request)
    if not text(asked, "url").strip():
        raise BadRequest("url is missing", reason="missing-url")
    if not urls.split(urls.guess(text(asked, "url"))).netloc:
        raise BadRequest("url names no host", reason="bad-url")
    # Both raise BadRequest on wrong parameters: a crawl must be refused when it starts, not when it is read.
    formats(_options(asked))
    _bounds(asked)
    kept = {name: asked[name] for name in _KEPT if asked.get(name) is not None}
    job = urlsafe_b64encode(orjson.dumps(kept)).rstrip(b"=").decode()
    return reply({"success": True, "id": job, "url": f"{request.origin}{_version(request)}/crawl/{job}"})


def status(world: World, request: Request) -> Reply:
    """Answer `GET /v2/crawl/ID` with the documents of a crawl from `skip` on."""
    job = request.path.rpartition("/")[2]
    asked, at, query = _asked(job), request.session.at, dict(request.parameters)
    found = _walked(world, asked, at)
    first = number(query, "skip", 0, 0, MOST_PAGES)
    last = first + number(query, "limit", PER_REPLY, 1, PER_REPLY)
    told: Asked = {"success": True, "status": "completed", "total": len(found), "completed": len(found)}
    # A crawl expires on the day after the session's: the response does not depend on the clock.
    told |= {"creditsUsed": len(found), "expiresAt": f"{since(world, -1, at)}T00:00:00.000Z"}
    if last < len(found):
        told["next"] = f"{request.origin}{_version(request)}/crawl/{job}?skip={last}"
    if len(found) == MOST_PAGES < _limit(asked, 10_000):
        told["warning"] = f"A crawl ends after {MOST_PAGES} pages."
    data = list(_documents(world, found[first:last], _options(asked), at, fingerprint(request)[:24]))
    return reply({**told, "data": data})


def errors(world: World, request: Request) -> Reply:
    """Answer `GET /v2/crawl/ID/errors`, always without any: a page that is not captured is no part of the crawl."""
    _asked(request.path.split("/")[-2])
    return reply({"errors": [], "robotsBlocked": []})


def active(world: World, request: Request) -> Reply:
    """Answer `GET /v2/crawl/active`, always without any."""
    return reply({"success": True, "crawls": []})


def cancel(world: World, request: Request) -> Reply:
    """Answer `DELETE /v2/crawl/ID`. There is nothing to stop."""
    _asked(request.path.rpartition("/")[2])
    return reply({"success": True, "status": "cancelled"})


def _version(request: Request) -> str:
    """Return the path's version, `/v1` or `/v2`."""
    return request.path[:3]


def _asked(job: str) -> Asked:
    """Return the parameters that a crawl's id encodes. Raises ServiceRefusal if it encodes none."""
    try:
        asked = json_text.read(urlsafe_b64decode(job + "=" * (-len(job) % 4)))
    except ValueError:
        asked = None
    if not isinstance(asked, dict) or not isinstance(asked.get("url"), str):
        raise Refused("Job not found", reason="no-such-job", status=404)
    return asked


def _options(asked: Asked) -> Asked:
    """Return the options for scraping each page; empty if there are none."""
    said = asked.get("scrapeOptions")
    return said if isinstance(said, dict) else {}


def _limit(asked: Asked, most: int) -> int:
    """Return the number of pages asked for, `max_pages` at most and by default."""
    return number(asked, "limit", most, 1, most)


def _walked(world: World, asked: Asked, at: datetime | None) -> list[Capture]:
    """Return the captures of a crawl: pages that links lead to, and all captured pages of the site unless excluded."""
    site = urls.host(urls.guess(asked["url"]))
    skips = flag(asked, "ignoreSitemap") or text(asked, "sitemap") == "skip"
    listed = (page.url for page in pages(world, site, flag(asked, "allowSubdomains"), at))
    return Walk(world, _bounds(asked), at).run(asked["url"], () if skips else listed)


def _bounds(asked: Asked) -> Bounds:
    """Return the limits of a crawl. Raises BadRequest if a parameter is wrong."""
    depth = number(asked, "maxDiscoveryDepth", number(asked, "maxDepth", DEEPEST, 0, DEEPEST), 0, DEEPEST)
    site = urls.host(urls.guess(text(asked, "url")))
    breadth = 0 if text(asked, "sitemap") == "only" else MOST_PAGES
    with_subdomains = flag(asked, "allowSubdomains")
    limit, belongs = _limit(asked, MOST_PAGES), _belongs(asked, site)
    return Bounds(depth, breadth, limit, belongs, lambda url: is_within(urls.host(url), site, with_subdomains))


def _belongs(asked: Asked, site: str) -> Callable[[str], bool]:
    """Return the test for URLs of a crawl, by Firecrawl's rules.

    A URL must be below the start's path unless the entire domain is wanted, must match the path patterns, and must be
    on the same host unless external links are allowed.
    """
    first = urls.split(urls.guess(text(asked, "url"))).path
    is_wide = flag(asked, "crawlEntireDomain") or flag(asked, "allowBackwardLinks")
    wanted, unwanted = _patterns(asked, "includePaths"), _patterns(asked, "excludePaths")
    on_whole = flag(asked, "regexOnFullURL")

    def belongs(url: str) -> bool:
        path = urls.split(url).path
        if not is_within(urls.host(url), site, flag(asked, "allowSubdomains")):
            return flag(asked, "allowExternalLinks")
        if flag(asked, "ignoreQueryParameters") and "?" in url:
            return False
        tried = url if on_whole else path
        if any(test(tried) for test in unwanted) or not (is_wide or path.startswith(first)):
            return False
        return not wanted or any(test(tried) for test in wanted)

    return belongs


def _patterns(asked: Asked, name: str) -> list[Callable[[str], bool]]:
    """Return a test per pattern in the parameter; a pattern may match anywhere."""
    return [pattern(f"(?s:.*)(?:{one})", whole=False) for one in texts(asked, name)]


def _documents(
    world: World, found: list[Capture], options: Asked, at: datetime | None, number: str
) -> Iterator[dict[str, Any]]:
    """Yield the documents of captures, leaving out those that the crawl cannot show."""
    for capture in found:
        try:
            yield document(world, capture.url, options, at, number)
        except EmulatorError as error:
            if is_ours(error):
                raise
