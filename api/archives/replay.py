"""Replay, `/web/<time><modifier>/<url>`: the captured response, with links rewritten to stay in the archive.

With `id_`, and for anything that is neither HTML nor CSS, the body is served byte for byte. The origin's headers come
back under `X-Archive-Orig-`. Captured pages may be hostile and are shown under this server's own name here, so a
Content Security Policy keeps them from running scripts, from having an origin, and from loading other hosts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from webemu.api.archives.address import Address, read_address
from webemu.api.archives.memento import link_header, mementos, timemap
from webemu.api.archives.not_archived import calendar, not_archived
from webemu.api.archives.responses import redirect, reply
from webemu.api.archives.timestamps import accepted, http_date, moment, stamp
from webemu.api.http.head import reason_phrase
from webemu.api.http.request import Request
from webemu.api.services.origin import RENAMED, Headers, Reply
from webemu.api.services.origin import replay as as_recorded
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
_OWN = frozenset((b"content-type", b"content-length", b"content-encoding", b"content-range"))
"""Headers that describe the body which is sent, so they keep their own names."""


def answer(world: World, request: Request) -> Reply | None:
    """Answer with a capture, a redirect to one, its TimeMap or calendar, or the 404 page of the archive.

    Return None if the path is not a replay address.
    """
    if (address := read_address(request)) is None:
        return None
    try:
        if address.url.startswith("timemap/link/"):
            url = address.url.removeprefix("timemap/link/")
            return timemap(world, request.origin, replace(address, url=url))
        return _captured(world, request, address)
    except NotCaptured:
        return not_archived(address.url)


def _captured(world: World, request: Request, address: Address) -> Reply:
    """Answer by the timestamp in the address: the calendar, the TimeGate, a redirect to the exact time, or the
    capture.
    """
    if address.digits == "*":
        return _all(world, address)
    if not address.digits:
        return _gate(world, request, address)
    capture = _at(world, address.url, moment(address.digits))
    # Not a memento itself: the redirect carries Link but no Memento-Datetime (RFC 7089).
    if stamp(capture.time) != address.digits:
        return redirect(address.of(stamp(capture.time), capture.url), _memento(world, request, address, capture)[1:])
    return _replay(world, request, address, capture)


def _all(world: World, address: Address) -> Reply:
    if not (captures := world.captures(address.url)):
        raise NotCaptured(f"{address.url} was not captured")
    return calendar(address, captures)


def _at(world: World, url: str, at: datetime | None) -> Capture:
    return world.locate(PageRequest(url, "raw", at=at, follow=False))


def _gate(world: World, request: Request, address: Address) -> Reply:
    """Redirect to the capture nearest to `Accept-Datetime` (RFC 7089, section 4), or to the newest without that
    header.
    """
    date = request.headers.get(b"accept-datetime")
    capture = _at(world, address.url, accepted(date) if date else request.session.at)
    links = _memento(world, request, address, capture)[1:]
    return redirect(address.of(stamp(capture.time), capture.url), [(b"Vary", b"accept-datetime"), *links])


def _memento(world: World, request: Request, address: Address, capture: Capture) -> Headers:
    """Return the `Memento-Datetime` and `Link` headers of a capture."""
    known = mementos(world.captures(capture.url))
    link = link_header(request.origin, address, capture.url, known, (capture.time, capture.url))
    return [(b"Memento-Datetime", http_date(capture.time).encode()), (b"Link", link)]


def _replay(world: World, request: Request, address: Address, capture: Capture) -> Reply:
    """Return the captured response, rewritten unless the modifier is `id_`, with the archive's headers."""
    # The exact time of the capture picks this very one again.
    asked = PageRequest(capture.url, "raw", at=moment(stamp(capture.time)), follow=False)
    capture, payload = world.payload(asked)
    mime = capture.declared or capture.mime
    given = None if address.kind == "id_" else _rewritten(world, address, capture, payload, mime)
    given = given or as_recorded(payload, request.method, request.headers, world.decoded)
    headers = [(name, value) for name, value in given.headers if name.lower() in _OWN]
    headers += [*_originals(payload), *_memento(world, request, address, capture), *_guards(capture)]
    status, reason = given.status, given.reason
    if capture.redirect and 300 <= capture.status < 400:
        status, reason = 302, b"Found"
        headers.append((b"Location", address.of(stamp(capture.time), capture.redirect).encode()))
    headers.append((b"X-Webemu-Snapshot", world.snapshot.encode()))
    return Reply(status, reason, headers, given.body)


def _rewritten(world: World, address: Address, capture: Capture, payload: Payload, mime: str) -> Reply | None:
    """Return the response with its links led into the archive; None if the body is neither HTML nor CSS."""
    is_css = mime == "text/css" or address.kind == "cs_"
    if not (mime in _HTML or is_css):
        return None
    text = _text(world, capture, payload)
    time = stamp(capture.time)

    def link(url: str, kind: str) -> str:
        return address.of(time, url, kind)

    if is_css:
        return _given(payload, world.replayed_css(text, capture.url, link), "text/css; charset=utf-8")
    return _given(payload, world.replayed(text, capture.url, link), "text/html; charset=utf-8")


def _given(payload: Payload, text: str, mime: str) -> Reply:
    """Return the recorded status line with a new text as body."""
    made = reply(200, text, mime)
    return Reply(payload.status, reason_phrase(payload.reason), made.headers, made.body)


def _text(world: World, capture: Capture, payload: Payload) -> str:
    """Return the decoded text of a document; a body that cannot be decoded is read as it was recorded."""
    if (text := world.html_of(capture)) is not None:
        return text
    try:
        return world.decoded(payload).decode("utf-8", "replace")
    except PayloadError:
        return payload.body.decode("utf-8", "replace")


def _originals(payload: Payload) -> Headers:
    """Return the origin's headers under `X-Archive-Orig-`, where browsers and clients ignore them."""
    return [(RENAMED + name, value) for name, value in payload.headers]


def _guards(capture: Capture) -> Headers:
    """Return the security headers of a replayed capture; fonts get CORS, since sandboxed pages have no origin."""
    guards: Headers = [(b"Content-Security-Policy", POLICY), (b"X-Content-Type-Options", b"nosniff")]
    is_font = _FONT.match(capture.mime) or _FONT_FILE.search(capture.url)
    return [*guards, (b"Access-Control-Allow-Origin", b"*")] if is_font else guards
