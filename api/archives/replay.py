"""Replay, `/web/<time><modifier>/<url>`: the captured response, with links rewritten to stay in the archive.

With `id_`, and for anything that is neither HTML nor CSS, the body is served byte for byte. The origin's headers come
back under `X-Archive-Orig-`. Captured pages may be hostile and are shown under this server's own name here, so a
Content Security Policy keeps them from running scripts, from having an origin, and from loading other hosts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from webemu.api.archives.address import ReplayAddress, parse_address
from webemu.api.archives.memento import format_link_header, list_mementos, timemap_response
from webemu.api.archives.not_archived import calendar_page, not_archived_page
from webemu.api.archives.responses import make_response, redirect_response
from webemu.api.archives.timestamps import format_http_date, format_timestamp, parse_accept_datetime, parse_timestamp
from webemu.api.http.head import clean_reason_phrase
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.api.services.origin import RENAMED_PREFIX
from webemu.api.services.origin import rebuild_response as as_recorded
from webemu.emulator.errors import NotCaptured, PayloadError
from webemu.emulator.types import Capture, PageRequest, Payload
from webemu.emulator.world import World

POLICY = (
    b"sandbox allow-forms allow-popups allow-top-navigation-by-user-activation; "
    b"default-src 'self' data: 'unsafe-inline'; script-src 'none'; object-src 'none'; base-uri 'self'; "
    b"form-action 'self'"
)
"""Content Security Policy of replayed pages.

`'self'` is the origin of the address. The sandboxed document itself has an opaque origin, which is why fonts need
CORS.
"""
_HTML = ("text/html", "application/xhtml+xml")
_FONT = re.compile(r"font/|application/(?:x-)?font|application/vnd\.ms-fontobject")
_FONT_FILE = re.compile(r"\.(?:woff2?|ttf|otf|eot)(?:\?|\Z)", re.IGNORECASE)
"""File names of fonts: most servers send them as `application/octet-stream`."""
_CONTENT_HEADERS = frozenset((b"content-type", b"content-length", b"content-encoding", b"content-range"))
"""Headers that describe the body which is sent, so they keep their own names."""


def answer(world: World, request: Request) -> Response | None:
    """Answer with a capture, a redirect to one, its TimeMap or calendar, or the 404 page of the archive.

    Return None if the path is not a replay address.
    """
    if (address := parse_address(request)) is None:
        return None
    try:
        if address.url.startswith("timemap/link/"):
            url = address.url.removeprefix("timemap/link/")
            return timemap_response(world, request.origin, replace(address, url=url))
        return _answer_address(world, request, address)
    except NotCaptured:
        return not_archived_page(address.url)


def _answer_address(world: World, request: Request, address: ReplayAddress) -> Response:
    """Answer by the timestamp in the address: the calendar, the TimeGate, a redirect to the exact time, or the
    capture.
    """
    if address.timestamp == "*":
        return _calendar_response(world, address)
    if not address.timestamp:
        return _answer_timegate(world, request, address)
    capture = _locate(world, address.url, parse_timestamp(address.timestamp))
    # Not a memento itself: the redirect carries Link but no Memento-Datetime (RFC 7089).
    if format_timestamp(capture.time) != address.timestamp:
        return redirect_response(
            address.capture_path(format_timestamp(capture.time), capture.url),
            _memento_headers(world, request, address, capture)[1:],
        )
    return _replay_capture(world, request, address, capture)


def _calendar_response(world: World, address: ReplayAddress) -> Response:
    if not (captures := world.captures(address.url)):
        raise NotCaptured(f"{address.url} was not captured")
    return calendar_page(address, captures)


def _locate(world: World, url: str, at_time: datetime | None) -> Capture:
    return world.locate(PageRequest(url, "raw", at_time=at_time, follow=False))


def _answer_timegate(world: World, request: Request, address: ReplayAddress) -> Response:
    """Redirect to the capture nearest to `Accept-Datetime` (RFC 7089, section 4), or to the newest without that
    header.
    """
    accept_datetime = request.headers.get(b"accept-datetime")
    capture = _locate(
        world, address.url, parse_accept_datetime(accept_datetime) if accept_datetime else request.session.at_time
    )
    memento_headers = _memento_headers(world, request, address, capture)[1:]
    return redirect_response(
        address.capture_path(format_timestamp(capture.time), capture.url),
        [(b"Vary", b"accept-datetime"), *memento_headers],
    )


def _memento_headers(world: World, request: Request, address: ReplayAddress, capture: Capture) -> Headers:
    """Return the `Memento-Datetime` and `LinkRewriter` headers of a capture."""
    all_mementos = list_mementos(world.captures(capture.url))
    link = format_link_header(request.origin, address, capture.url, all_mementos, (capture.time, capture.url))
    return [(b"Memento-Datetime", format_http_date(capture.time).encode()), (b"Link", link)]


def _replay_capture(world: World, request: Request, address: ReplayAddress, capture: Capture) -> Response:
    """Return the captured response, rewritten unless the modifier is `id_`, with the archive's headers."""
    # The exact time of the capture picks this very one again.
    page_request = PageRequest(
        capture.url, "raw", at_time=parse_timestamp(format_timestamp(capture.time)), follow=False
    )
    capture, payload = world.payload(page_request)
    mime = capture.declared or capture.mime
    response = None if address.modifier == "id_" else _rewrite_links(world, address, capture, payload, mime)
    response = response or as_recorded(payload, request.method, request.headers, world.decode_body)
    headers = [(name, value) for name, value in response.headers if name.lower() in _CONTENT_HEADERS]
    headers += [
        *_renamed_headers(payload),
        *_memento_headers(world, request, address, capture),
        *_security_headers(capture),
    ]
    status, reason = response.status, response.reason
    if capture.redirect and 300 <= capture.status < 400:
        status, reason = 302, b"Found"
        headers.append((b"Location", address.capture_path(format_timestamp(capture.time), capture.redirect).encode()))
    headers.append((b"X-Webemu-Snapshot", world.snapshot.encode()))
    return Response(status, reason, headers, response.body)


def _rewrite_links(
    world: World, address: ReplayAddress, capture: Capture, payload: Payload, mime: str
) -> Response | None:
    """Return the response with its links led into the archive; None if the body is neither HTML nor CSS."""
    is_css = mime == "text/css" or address.modifier == "cs_"
    if not (mime in _HTML or is_css):
        return None
    text = _document_text(world, capture, payload)
    timestamp = format_timestamp(capture.time)

    def link(url: str, modifier: str) -> str:
        return address.capture_path(timestamp, url, modifier)

    if is_css:
        return _with_text(payload, world.rewrite_css_links(text, capture.url, link), "text/css; charset=utf-8")
    return _with_text(payload, world.rewrite_links(text, capture.url, link), "text/html; charset=utf-8")


def _with_text(payload: Payload, text: str, mime: str) -> Response:
    """Return the recorded status line with a new text as body."""
    text_response = make_response(200, text, mime)
    return Response(payload.status, clean_reason_phrase(payload.reason), text_response.headers, text_response.body)


def _document_text(world: World, capture: Capture, payload: Payload) -> str:
    """Return the decoded text of a document; a body that cannot be decoded is read as it was recorded."""
    if (text := world.html_of(capture)) is not None:
        return text
    try:
        return world.decode_body(payload).decode("utf-8", "replace")
    except PayloadError:
        return payload.body.decode("utf-8", "replace")


def _renamed_headers(payload: Payload) -> Headers:
    """Return the origin's headers under `X-Archive-Orig-`, where browsers and clients ignore them."""
    return [(RENAMED_PREFIX + name, value) for name, value in payload.headers]


def _security_headers(capture: Capture) -> Headers:
    """Return the security headers of a replayed capture; fonts get CORS, since sandboxed pages have no origin."""
    headers: Headers = [(b"Content-Security-Policy", POLICY), (b"X-Content-Type-Options", b"nosniff")]
    is_font = _FONT.match(capture.mime) or _FONT_FILE.search(capture.url)
    return [*headers, (b"Access-Control-Allow-Origin", b"*")] if is_font else headers
