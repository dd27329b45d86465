"""OpenResearcher's search service: `/search`, `/get_content`, and its description at `/`."""

from __future__ import annotations

from webemu.api.dialects.dialect import Dialect, Route, members, number, reply
from webemu.api.dialects.retrieval import MOST, asked_of, refuse
from webemu.api.dialects.search import Wanted, search
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.errors import NotCaptured, NoView, Refused
from webemu.emulator.types import PageRequest
from webemu.emulator.world import World

SUMMARY = 180
"""Characters of a summary."""


def about(world: World, request: Request) -> Reply:
    """Answer `/` with the description of the service."""
    told = {"service": "Unified Search Service", "active_searcher": "WebemuSearcher"}
    return reply({**told, "endpoints": ["/search", "/get_content"]})


def find(world: World, request: Request) -> Reply:
    """Answer `/search` with `{"query", "topn"}`."""
    asked = asked_of(request, "query")
    hits = search(world, asked["query"], Wanted(count=number(asked, "topn", 10, 0, MOST)), request.session.at)[0]
    return reply({"results": [{"url": hit.url, "title": hit.title, "summary": hit.snippet[:SUMMARY]} for hit in hits]})


def content(world: World, request: Request) -> Reply:
    """Answer `/get_content` with `{"url"}`.

    Raises: ServiceRefusal with status 404 if the page is not captured or has no text.
    """
    url = asked_of(request, "url")["url"]
    try:
        page = world.fetch(PageRequest(url, "text", request.session.at))
    except (NotCaptured, NoView) as error:
        raise Refused(f"URL not found in corpus: {url}", reason=error.reason, status=404) from error
    return reply({"title": page.title, "content": page.content})


def _is_meant(request: Request) -> bool:
    """True for the path that no other service has, and for searches with a `topn`."""
    return request.path == "/get_content" or (request.path == "/search" and "topn" in members(request))


DIALECT = Dialect(
    "openresearcher",
    "OpenResearcher",
    (),
    (Route(("GET",), "/", about), Route(("POST",), "/search", find, True), Route(("POST",), "/get_content", content)),
    None,
    refuse,
    "`--search_url http://127.0.0.1:8800/openresearcher`",
    at_root=_is_meant,
)
