"""Rebuild the response of the origin server from a recorded one, as that server would answer this client.

It follows RFC 9110: conditional requests (section 13), ranges (14), content codings (8.4, 12.5.3). Common Crawl stores
decoded bodies and prefixes the headers about their coding with `X-Crawler-`; these headers are restored so far as they
are true of the body that is sent, and dropped otherwise. Pure functions: no clock, no storage.
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
"""Response headers in order; names may repeat."""
Asked = Mapping[bytes, bytes]
"""Request headers by lower-case name; the values of a repeated header are joined by commas."""

_MASK = b"x-crawler-"
_MASKED = frozenset((b"content-encoding", b"content-length", b"transfer-encoding"))
"""Headers that Common Crawl renames; any other `X-Crawler-*` header came from the origin."""
_HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding"
    b" upgrade".split()
)
"""Headers that describe the connection, not the response (RFC 9110, section 7.6.1)."""
_OF_304 = frozenset(b"cache-control content-location date etag expires last-modified vary set-cookie server".split())
"""Headers that a 304 response keeps."""
RENAMED = b"X-Archive-Orig-"
"""Prefix for a recorded header that would have an effect, or be taken for a debug header of ours, under its own name.
"""
_RANGE = re.compile(rb"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*")
_ENCODED = frozenset((b"gzip", b"br", b"deflate", b"zstd"))


class Reply(NamedTuple):
    """A complete HTTP response of the emulated web or of an imitated service."""

    status: int
    reason: bytes
    headers: Headers
    """Headers in the order and spelling of the origin, with a correct `Content-Length`. Some may be ones that HTTP
    forbids; `webemu.api.http.head` drops them.
    """
    body: bytes


def replay(payload: Payload, method: str, asked: Asked, decode: Callable[[Payload], bytes]) -> Reply:
    """Return the response of the origin to a GET or HEAD. For HEAD the body is that of GET; the caller leaves it out.

    `decode` removes the content coding of a body, or raises PayloadError.

    Raises:
        PayloadError: the recorded status is not one that ends a request (1xx, or above 999).
    """
    if not 200 <= payload.status <= 999:
        raise PayloadError(
            f"the crawl recorded status {payload.status}, which ends no request", reason="payload-undecodable"
        )
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
    """Kinds of recorded headers, by what must happen to them."""

    ORIGINS = 1
    CODING = 2
    LENGTH = 3
    CONNECTIONS = 4


@lru_cache(4096)
def _role(name: bytes) -> tuple[_Role, bytes]:
    """Return the kind of a recorded header, and its name in the response."""
    lower = name.lower()
    if lower.startswith(_MASK) and lower[len(_MASK) :] in _MASKED:
        name, lower = name[len(_MASK) :], lower[len(_MASK) :]
    if lower in (b"content-encoding", b"content-length"):
        return (_Role.CODING if lower == b"content-encoding" else _Role.LENGTH), name
    if lower in _HOP_BY_HOP:
        return _Role.CONNECTIONS, name
    return _Role.ORIGINS, RENAMED + name if is_mark(name) else name


def _body(payload: Payload, accepted: bytes, decode: Callable[[Payload], bytes]) -> tuple[Headers, bytes]:
    """Return the headers of the response, and the body in a coding that the client accepts.

    Headers about the connection are dropped. The first `Content-Length` keeps its place; `_set_length` sets its value
    later.
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
        with suppress(PayloadError):  # a body that cannot be decoded is sent as it was recorded
            body, coding = decode(payload), b""
    # The origin compressed this page, the crawl stored it decoded: compress it again, as the client would have got it.
    if not coding and body and said and said[0] in _ENCODED and takes(accepted, b"gzip"):
        body, coding = squeezed(body), b"gzip"
    return (headers if b", ".join(said) == coding else _coded(headers, coding)), body


def _codings(headers: Headers) -> list[bytes]:
    """Return the content codings that the headers name, in the order in which they were applied."""
    values = [value.lower().split(b",") for name, value in headers if name.lower() == b"content-encoding"]
    names = [part.strip().removeprefix(b"x-") for parts in values for part in parts]
    return [name for name in names if name not in (b"", b"identity")]


def _coded(headers: Headers, coding: bytes) -> Headers:
    """Return the headers with this content coding only, in the place and spelling of the first; none if it is empty."""
    told: Headers = []
    for name, value in headers:
        if name.lower() != b"content-encoding":
            told.append((name, value))
        elif coding:
            told.append((name, coding))
            coding = b""
    return [*told, (b"Content-Encoding", coding)] if coding else told


def _sized(headers: Headers, body: bytes) -> Headers:
    """Return the headers with the length of the body as `Content-Length`."""
    at = next((at for at, (name, _) in enumerate(headers) if name.lower() == b"content-length"), len(headers))
    name = headers[at][0] if at < len(headers) else b"Content-Length"
    return [*headers[:at], (name, b"%d" % len(body)), *headers[at + 1 :]]


def _first(headers: Headers, wanted: bytes) -> bytes:
    """Return the first value of a header, given its name in lower case; empty if it is absent."""
    return next((value.strip() for name, value in headers if name.lower() == wanted), b"")


def _not_modified(headers: Headers, asked: Asked) -> bool:
    """True if a conditional request is to be answered with 304 (RFC 9110, section 13.1)."""
    if (wanted := asked.get(b"if-none-match")) is not None:
        tag = _first(headers, b"etag").removeprefix(b"W/")  # weak comparison, RFC 9110, section 13.1.2
        return bool(tag) and (
            wanted.strip() == b"*" or tag in [one.strip().removeprefix(b"W/") for one in wanted.split(b",")]
        )
    since = asked.get(b"if-modified-since")
    return since is not None and _is_since(_first(headers, b"last-modified"), since)


def _is_since(modified: bytes, date: bytes) -> bool:
    """True if a page was not modified after a date; False if either date cannot be parsed."""
    try:
        return parsedate_to_datetime(modified.decode("ascii")) <= parsedate_to_datetime(date.decode("ascii"))
    except (ValueError, TypeError, OverflowError):
        return False


def _range(headers: Headers, asked: Asked, size: int) -> tuple[int, int] | None:
    """Return the first byte and the byte after the last of the requested range; None if the whole body is to be sent.

    Several ranges in one request, and a failed `If-Range`, also give None. If the first is not below the second, the
    range cannot be satisfied.
    """
    found = _RANGE.fullmatch(asked[b"range"]) if b"range" in asked else None
    if found is None or not any(found.groups()):
        return None
    if (condition := asked.get(b"if-range")) is not None:
        tag, modified = _first(headers, b"etag"), _first(headers, b"last-modified")
        # Only a strong validator counts here, RFC 9110, section 13.1.5.
        if not condition.strip() or condition.strip() not in (tag, modified) or condition.startswith(b"W/"):
            return None
    first, last = found.groups()
    if not first:  # `bytes=-500`: the last 500 bytes
        return max(0, size - int(last)), size
    end = min(int(last) + 1, size) if last else size
    return None if last and int(last) < int(first) else (int(first), end)
