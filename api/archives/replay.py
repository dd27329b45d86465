"""Replay: `/web/<time><modifier>/<url>` answers what was captured, with links that stay in the archive.

`id_` and what is neither HTML nor CSS is given byte for byte. The origin's headers are under `X-Archive-Orig-`. What a
crawl met may be hostile, and may be seen here under this server's own name: a policy keeps it from running scripts,
from being of any origin, and from asking other hosts.
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
"""`'self'` is the origin of the address, though the document's own is none; fonts need CORS for that reason."""
_HTML = ("text/html", "application/xhtml+xml")
_FONT = re.compile(r"font/|application/(?:x-)?font|application/vnd\.ms-fontobject")
_FONT_FILE = re.compile(r"\.(?:woff2?|ttf|otf|eot)(?:\?|\Z)", re.IGNORECASE)
"""Most servers send fonts as `application/octet-stream`."""
_OWN = frozenset((b"content-type", b"content-length", b"content-encoding", b"content-range"))
"""What an answer says of itself, whoever gives it."""


def answer(world: World, request: Request) -> Reply | None:
    """A capture, the way to one, or the page that says there is none; None for what is no such address."""
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
    if address.digits == "*":
        return _all(world, address)
    if not address.digits:
        return _gate(world, request, address)
    capture = _at(world, address.url, moment(address.digits))
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
    """RFC 7089, section 4: to the capture nearest to `Accept-Datetime`, the latest one without it."""
    date = request.headers.get(b"accept-datetime")
    capture = _at(world, address.url, accepted(date) if date else request.session.at)
    links = _memento(world, request, address, capture)[1:]
    return redirect(address.of(stamp(capture.time), capture.url), [(b"Vary", b"accept-datetime"), *links])


def _memento(world: World, request: Request, address: Address, capture: Capture) -> Headers:
    known = mementos(world.captures(capture.url))
    link = link_header(request.origin, address, capture.url, known, (capture.time, capture.url))
    return [(b"Memento-Datetime", http_date(capture.time).encode()), (b"Link", link)]


def _replay(world: World, request: Request, address: Address, capture: Capture) -> Reply:
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
    """The answer with its links into the archive; None for what has none."""
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
    made = reply(200, text, mime)
    return Reply(payload.status, reason_phrase(payload.reason), made.headers, made.body)


def _text(world: World, capture: Capture, payload: Payload) -> str:
    if (text := world.html_of(capture)) is not None:
        return text
    try:
        return world.decoded(payload).decode("utf-8", "replace")
    except PayloadError:
        return payload.body.decode("utf-8", "replace")


def _originals(payload: Payload) -> Headers:
    """The origin's headers under another name, where none of them acts."""
    return [(RENAMED + name, value) for name, value in payload.headers]


def _guards(capture: Capture) -> Headers:
    guards: Headers = [(b"Content-Security-Policy", POLICY), (b"X-Content-Type-Options", b"nosniff")]
    is_font = _FONT.match(capture.mime) or _FONT_FILE.search(capture.url)
    return [*guards, (b"Access-Control-Allow-Origin", b"*")] if is_font else guards
