"""Routes of the archives: on their public hosts, and at the same paths under this server's own name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from webemu.api.archives import available, collinfo, crawl_data, crawl_index, replay, wayback_cdx
from webemu.api.archives.not_archived import not_found_page
from webemu.api.archives.wayback_fields import TIMEMAP_FIELDS
from webemu.api.http.request import Handler, Request
from webemu.api.http.response import Response
from webemu.emulator.world import World

_TIMEMAP = re.compile(r"/web/timemap/(json|cdx)(?:/(.+))?")


def answer_wayback(world: World, request: Request) -> Response | None:
    """Answer a request to the Wayback Machine.

    Return None for a path that the archive does not have if the host was crawled: its captured page is served then.
    """
    if request.path in ("/cdx/search/cdx", "/cdx/search"):
        return wayback_cdx.answer(world, request)
    if request.path == "/wayback/available":
        return available.answer(world, request)
    if match := _TIMEMAP.fullmatch(request.path):
        return _answer_timemap(world, request, match[1], match[2] or "")
    return replay.answer(world, request) or _not_found(world, request)


def _answer_timemap(world: World, request: Request, output: str, url: str) -> Response:
    """Answer `/web/timemap/{json|cdx}`: the CDX server's answer with more fields.

    The URL is in the path or in the `url` parameter.
    """
    extra_pairs = [("output", "json")] if output == "json" else []
    if url:
        extra_pairs.append(("url", request.target.partition(f"/web/timemap/{output}/")[2]))
        request = request._replace(query="")
    return wayback_cdx.answer(world, request, extra_pairs, TIMEMAP_FIELDS)


def answer_index(world: World, request: Request) -> Response | None:
    """Answer a request to index.commoncrawl.org.

    Serves the list of crawls, the index of each, and replay at `/<crawl>/<time>/<url>`, which finds captures of any
    crawl. Return None as `answer_wayback` does.
    """
    if request.path == "/collinfo.json":
        return collinfo.answer(world, request)
    return crawl_index.answer(world, request) or replay.answer(world, request) or _not_found(world, request)


def _not_found(world: World, request: Request) -> Response | None:
    """Return the archive's 404, or None if pages of the host were captured and should be served instead."""
    return None if world.knows_host(request.host) else not_found_page()


HOSTS: Mapping[str, Handler] = {
    "archive.org": answer_wayback,
    "www.archive.org": answer_wayback,
    "web.archive.org": answer_wayback,
    "index.commoncrawl.org": answer_index,
    "data.commoncrawl.org": crawl_data.answer,
    "commoncrawl.s3.amazonaws.com": crawl_data.answer,
}
"""Handlers by public host name."""
PATHS: Sequence[tuple[re.Pattern[str], Handler]] = (
    (re.compile(r"(?s)/cdx/search(?:/cdx)?|/wayback/available|/web/.+"), answer_wayback),
    (re.compile(r"(?s)/collinfo\.json|/CC-MAIN-[\d-]+(?:-index|/.+)"), answer_index),
    (re.compile(r"(?s)/crawl-data/.+"), crawl_data.answer),
)
"""Handlers by path, for requests to this server's own name."""
