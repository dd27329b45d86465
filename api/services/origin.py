"""A recorded answer given again as its origin would: one that keeps its headers and understands the client's.

RFC 9110: conditional requests (section 13), ranges (14), content codings (8.4, 12.5.3). Common Crawl stores bodies
decoded and puts `X-Crawler-` before the headers that spoke of the coding; what they say is true again of what is sent
here, or not said. Pure: no clock, no store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from webemu.api.http.coding import squeezed, takes
from webemu.api.http.head import is_mark, reason_phrase
from webemu.emulator.errors import PayloadError
from webemu.emulator.types import Payload

Headers = list[tuple[bytes, bytes]]
Asked = Mapping[bytes, bytes]
"""Request headers by lower-case name; of repeated ones, all values joined by commas."""

_MASK = b"x-crawler-"
_MASKED = frozenset((b"content-encoding", b"content-length", b"transfer-encoding"))
"""What Common Crawl masks; any other `X-Crawler-*` is the origin's own."""
_HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding"
    b" upgrade".split()
)
"""RFC 9110, section 7.6.1: of the connection, not of the answer."""
_OF_304 = frozenset(b"cache-control content-location date etag expires last-modified vary set-cookie server".split())
RENAMED = b"X-Archive-Orig-"
"""Begins the name of a recorded header that would act, or be taken for a mark of ours, under its own."""
_RANGE = re.compile(rb"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*")
_ENCODED = frozenset((b"gzip", b"br", b"deflate", b"zstd"))


class Reply(NamedTuple):
    """What goes over the wire."""

    status: int
    reason: bytes
    headers: Headers
    """Headers in the order and spelling of the origin, `Content-Length` true. HTTP may forbid some: `api/http/head.py`."""
    body: bytes


def replay(payload: Payload, method: str, asked: Asked, decode: Callable[[Payload], bytes]) -> Reply:
    """The answer to a GET or HEAD for what was recorded; for HEAD the body is that of GET, to be left out.

    `decode` takes the content coding off a body, or raises PayloadError.
    """
    if not 200 <= payload.status <= 999:
        raise PayloadError(f"the crawl recorded {payload.status}, which ends no request", reason="payload-undecodable")
    headers, body = _body(payload, asked.get(b"accept-encoding", b""), decode)
    reason = reason_phrase(payload.reason)
    if payload.status == 204:
        return Reply(204, reason, [one for one in headers if one[0].lower() != b"content-length"], b"")
    if payload.status != 200 or method not in ("GET", "HEAD"):
        return Reply(payload.status, reason, _sized(headers, body), body)
    if _not_modified(headers, asked):
        kept = [(name, value) for name, value in headers if name.lower() in _OF_304]
        return Reply(304, b"Not Modified", kept, b"")
    span = _range(headers, asked, len(body)) if method == "GET" else None
    if span is None:
        return Reply(200, reason, _sized(headers, body), body)
    start, end = span
    if start >= end:
        told = [(b"Content-Range", b"bytes */%d" % len(body))]
        return Reply(416, b"Range Not Satisfiable", _sized([*headers, *told], b""), b"")
    told = [(b"Content-Range", b"bytes %d-%d/%d" % (start, end - 1, len(body)))]
    return Reply(206, b"Partial Content", _sized([*headers, *told], body[start:end]), body[start:end])


class _Role(Enum):
    """What a header is to an answer that is given again."""

    ORIGINS = 1
    CODING = 2
    LENGTH = 3
    CONNECTIONS = 4


@lru_cache(4096)
def _role(name: bytes) -> tuple[_Role, bytes]:
    """Return what a recorded header is, and the name that it has in an answer."""
    lower = name.lower()
    if lower.startswith(_MASK) and lower[len(_MASK) :] in _MASKED:
        name, lower = name[len(_MASK) :], lower[len(_MASK) :]
    if lower in (b"content-encoding", b"content-length"):
        return (_Role.CODING if lower == b"content-encoding" else _Role.LENGTH), name
    if lower in _HOP_BY_HOP:
        return _Role.CONNECTIONS, name
    return _Role.ORIGINS, RENAMED + name if is_mark(name) else name


def _body(payload: Payload, accepted: bytes, decode: Callable[[Payload], bytes]) -> tuple[Headers, bytes]:
    """Return the headers without what they say of the connection, and the body in a coding that the client takes.

    The first `Content-Length` stays where it stood; its value is yet to be filled in.
    """
    headers: Headers = []
    roles: set[_Role] = set()
    for recorded, value in payload.headers:
        role, name = _role(recorded)
        if role is not _Role.CONNECTIONS and not (role is _Role.LENGTH and role in roles):
            headers.append((name, value))
        roles.add(role)
    said = _codings(headers)
    body, coding = payload.body, payload.encoding.encode()
    if coding and not takes(accepted, coding):
        with suppress(PayloadError):  # what cannot be decoded goes out as it came
            body, coding = decode(payload), b""
    if not coding and body and said and said[0] in _ENCODED and takes(accepted, b"gzip"):
        body, coding = squeezed(body), b"gzip"
    return (headers if b", ".join(said) == coding else _coded(headers, coding)), body


def _codings(headers: Headers) -> list[bytes]:
    """Return the content codings that headers speak of, in the order they were applied."""
    values = [value.lower().split(b",") for name, value in headers if name.lower() == b"content-encoding"]
    names = [part.strip().removeprefix(b"x-") for parts in values for part in parts]
    return [name for name in names if name not in (b"", b"identity")]


def _coded(headers: Headers, coding: bytes) -> Headers:
    """Return the headers with this one content coding in the place and spelling of the first; with none if empty."""
    told: Headers = []
    for name, value in headers:
        if name.lower() != b"content-encoding":
            told.append((name, value))
        elif coding:
            told.append((name, coding))
            coding = b""
    return [*told, (b"Content-Encoding", coding)] if coding else told


def _sized(headers: Headers, body: bytes) -> Headers:
    at = next((at for at, (name, _) in enumerate(headers) if name.lower() == b"content-length"), len(headers))
    name = headers[at][0] if at < len(headers) else b"Content-Length"
    return [*headers[:at], (name, b"%d" % len(body)), *headers[at + 1 :]]


def _first(headers: Headers, wanted: bytes) -> bytes:
    return next((value.strip() for name, value in headers if name.lower() == wanted), b"")


def _not_modified(headers: Headers, asked: Asked) -> bool:
    if (wanted := asked.get(b"if-none-match")) is not None:
        tag = _first(headers, b"etag").removeprefix(b"W/")
        return bool(tag) and (
            wanted.strip() == b"*" or tag in [one.strip().removeprefix(b"W/") for one in wanted.split(b",")]
        )
    since = asked.get(b"if-modified-since")
    return since is not None and _is_since(_first(headers, b"last-modified"), since)


def _is_since(modified: bytes, date: bytes) -> bool:
    try:
        return parsedate_to_datetime(modified.decode("ascii")) <= parsedate_to_datetime(date.decode("ascii"))
    except (ValueError, TypeError, OverflowError):
        return False


def _range(headers: Headers, asked: Asked, size: int) -> tuple[int, int] | None:
    """First and past-the-last byte of the one range asked for; None where the whole is to be sent."""
    found = _RANGE.fullmatch(asked[b"range"]) if b"range" in asked else None
    if found is None or not any(found.groups()):
        return None
    if (condition := asked.get(b"if-range")) is not None:
        tag, modified = _first(headers, b"etag"), _first(headers, b"last-modified")
        if not condition.strip() or condition.strip() not in (tag, modified) or condition.startswith(b"W/"):
            return None
    first, last = found.groups()
    if not first:
        return max(0, size - int(last)), size
    end = min(int(last) + 1, size) if last else size
    return None if last and int(last) < int(first) else (int(first), end)
