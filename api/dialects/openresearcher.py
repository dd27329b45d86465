"""OpenResearcher's search service: `/search`, `/get_content`, and its description at `/`."""

from __future__ import annotations

from webemu.api.dialects.dialect import Dialect, Route, body_fields, build_response, get_number, read_params
from webemu.api.dialects.retrieval import MAX_RESULTS, render_error, require_text
from webemu.api.dialects.search import SearchParams, search
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import NotCaptured, ServiceRefusal, ViewUnavailable
from webemu.emulator.types import PageRequest
from webemu.emulator.world import World

SUMMARY_CHARS = 180
"""Characters of a summary."""


def answer_about(world: World, request: Request) -> Response:
    """Answer `/` with the description of the service."""
    payload = {"service": "Unified Search Service", "active_searcher": "BM25Searcher"}
    return build_response({**payload, "endpoints": ["/search", "/get_content"]})


def answer_search(world: World, request: Request) -> Response:
    """Answer `/search` with `{"query", "topn"}`."""
    params = read_params(request)
    hits = search(
        world,
        require_text(params, "query"),
        SearchParams(count=get_number(params, "topn", 10, 0, MAX_RESULTS)),
        request.session.at_time,
    )[0]
    return build_response(
        {"results": [{"url": hit.url, "title": hit.title, "summary": hit.snippet[:SUMMARY_CHARS]} for hit in hits]}
    )


def answer_content(world: World, request: Request) -> Response:
    """Answer `/get_content` with `{"url"}`.

    Raises: ServiceRefusal with status 404 if the page is not captured or has no text.
    """
    url = require_text(read_params(request), "url")
    try:
        page = world.fetch(PageRequest(url, "text", request.session.at_time))
    except (NotCaptured, ViewUnavailable) as error:
        raise ServiceRefusal(f"URL not found in corpus: {url}", reason=error.reason, status=404) from error
    return build_response({"title": page.title, "content": page.content})


def _is_meant_at_root(request: Request) -> bool:
    """True for the path that no other service has, and for searches with a `topn`."""
    return request.path == "/get_content" or (request.path == "/search" and "topn" in body_fields(request))


DIALECT = Dialect(
    "openresearcher",
    "OpenResearcher",
    (),
    (
        Route(("GET",), "/", answer_about),
        Route(("POST",), "/search", answer_search, True),
        Route(("POST",), "/get_content", answer_content),
    ),
    None,
    render_error,
    "`--search_url http://127.0.0.1:8800/openresearcher`",
    is_meant_at_root=_is_meant_at_root,
)
