"""Pages as scraping services fetch them, status and all, and the result pages of engines that they are asked for."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl

from webemu.api.dialects import engines
from webemu.api.dialects.refusals import UNKNOWN_HOST_REASON
from webemu.api.http.errors import is_server_fault
from webemu.api.http.request import Request
from webemu.emulator import urls
from webemu.emulator.errors import EmulatorError
from webemu.emulator.types import PageRequest, View
from webemu.emulator.world import World

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_UNREACHABLE_STATUS = 502
"""Status of a page whose host does not resolve: no server of the emulated web has answered."""


class Target(NamedTuple):
    """Response that a scraping service got from the page that it was asked for."""

    url: str
    """Address after all redirects."""
    status: int
    content_type: str
    body: bytes
    is_reachable: bool = True
    """False if the host does not resolve."""


def fetch_target(world: World, request: Request, url: str, view: View = "html") -> Target:
    """Return the page at a URL in a view; a page that the emulated web does not have is an empty one of status 404.

    A payload that has no such view is returned as it was recorded. Raises EmulatorError if this server failed.
    """
    if _is_engine_search(url):
        return _search_engine(world, request, url)
    page_request = PageRequest(url, view, request.session.at_time)
    try:
        capture = world.locate(page_request)
        if capture.mime in _HTML_TYPES or view != "html":
            page = world.fetch(page_request)
            content_type = "text/html; charset=utf-8" if view == "html" else "text/plain; charset=utf-8"
            return Target(page.capture.url, page.capture.status, content_type, page.content.encode())
        capture, payload = world.payload(page_request)
        return Target(capture.url, payload.status, capture.declared or capture.mime, world.decode_body(payload))
    except EmulatorError as error:
        if is_server_fault(error):
            raise
        is_reachable = error.reason != UNKNOWN_HOST_REASON
        return Target(url, 404 if is_reachable else _UNREACHABLE_STATUS, "text/html", b"", is_reachable)


def _is_engine_search(url: str) -> bool:
    """True if a URL is a search of an engine whose result page this server makes."""
    return urls.host_of(url) in engines.ENGINES_BY_HOST and urls.split_url(url).path == "/search"


def _search_engine(world: World, request: Request, url: str) -> Target:
    parts = urls.split_url(url)
    inner = request._replace(
        method="GET", scheme="https", authority=parts.netloc, host=parts.netloc, path=parts.path, query=parts.query
    )
    response = engines.answer_search(world, inner._replace(headers={}, body=b""))
    return Target(url, response.status, "text/html; charset=utf-8", response.body)


def read_engine_query(url: str) -> dict[str, str]:
    """Return the parameters of a Google or Bing search; empty if the URL is of another page."""
    parts = urls.split_url(url)
    is_engine = (parts.hostname or "").startswith(("www.google.", "www.bing."))
    return dict(parse_qsl(parts.query)) if is_engine and parts.path == "/search" else {}
