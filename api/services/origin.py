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

from webemu.api.http.coding import accepts_coding, gzip_bytes
from webemu.api.http.head import clean_reason_phrase, is_debug_header
from webemu.api.http.response import Headers, Response
from webemu.emulator.errors import PayloadError
from webemu.emulator.types import Payload

RequestHeaders = Mapping[bytes, bytes]
"""Request headers by lower-case name; the values of a repeated header are joined by commas."""

_MASK_PREFIX = b"x-crawler-"
_MASKED_HEADERS = frozenset((b"content-encoding", b"content-length", b"transfer-encoding"))
"""Headers that Common Crawl renames; any other `X-Crawler-*` header came from the origin."""
_HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding"
    b" upgrade".split()
)
"""Headers that describe the connection, not the response (RFC 9110, section 7.6.1)."""
_HEADERS_OF_304 = frozenset(
    b"cache-control content-location date etag expires last-modified vary set-cookie server".split()
)
"""Headers that a 304 response keeps."""
RENAMED_PREFIX = b"X-Archive-Orig-"
"""Prefix for a recorded header that would have an effect, or be taken for a debug header of ours, under its own name.
"""
_RANGE = re.compile(rb"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*")
_COMPRESSIONS = frozenset((b"gzip", b"br", b"deflate", b"zstd"))


def rebuild_response(
    payload: Payload, method: str, request_headers: RequestHeaders, decode: Callable[[Payload], bytes]
) -> Response:
    """Return the response of the origin to a GET or HEAD. For HEAD the body is that of GET; the caller leaves it out.

    `decode` removes the content coding of a body, or raises PayloadError.

    Raises:
        PayloadError: the recorded status is not one that ends a request (1xx, or above 999).
    """
    if not 200 <= payload.status <= 999:
        raise PayloadError(
            f"the crawl recorded status {payload.status}, which ends no request", reason="payload-undecodable"
        )
    headers, body = _recode_body(payload, request_headers.get(b"accept-encoding", b""), decode)
    reason = clean_reason_phrase(payload.reason)
    if payload.status == 204:
        return Response(204, reason, [one for one in headers if one[0].lower() != b"content-length"], b"")
    if payload.status != 200 or method not in ("GET", "HEAD"):
        return Response(payload.status, reason, _set_length(headers, body), body)
    if _is_not_modified(headers, request_headers):
        headers_of_304 = [(name, value) for name, value in headers if name.lower() in _HEADERS_OF_304]
        return Response(304, b"Not Modified", headers_of_304, b"")
    span = _select_range(headers, request_headers, len(body)) if method == "GET" else None
    if span is None:
        return Response(200, reason, _set_length(headers, body), body)
    start, end = span
    if start >= end:
        content_range = [(b"Content-Range", b"bytes */%d" % len(body))]
        return Response(416, b"Range Not Satisfiable", _set_length([*headers, *content_range], b""), b"")
    content_range = [(b"Content-Range", b"bytes %d-%d/%d" % (start, end - 1, len(body)))]
    return Response(206, b"Partial Content", _set_length([*headers, *content_range], body[start:end]), body[start:end])


class _HeaderKind(Enum):
    """Kinds of recorded headers, by what must happen to them."""

    ORIGIN = 1
    CODING = 2
    LENGTH = 3
    CONNECTION = 4


@lru_cache(4096)
def _classify_header(name: bytes) -> tuple[_HeaderKind, bytes]:
    """Return the kind of a recorded header, and its name in the response."""
    lower = name.lower()
    if lower.startswith(_MASK_PREFIX) and lower[len(_MASK_PREFIX) :] in _MASKED_HEADERS:
        name, lower = name[len(_MASK_PREFIX) :], lower[len(_MASK_PREFIX) :]
    if lower in (b"content-encoding", b"content-length"):
        return (_HeaderKind.CODING if lower == b"content-encoding" else _HeaderKind.LENGTH), name
    if lower in _HOP_BY_HOP:
        return _HeaderKind.CONNECTION, name
    return _HeaderKind.ORIGIN, RENAMED_PREFIX + name if is_debug_header(name) else name


def _recode_body(payload: Payload, accepted: bytes, decode: Callable[[Payload], bytes]) -> tuple[Headers, bytes]:
    """Return the headers of the response, and the body in a coding that the client accepts.

    Headers about the connection are dropped. The first `Content-Length` keeps its place; `_set_length` sets its value
    later.
    """
    headers: Headers = []
    kinds: set[_HeaderKind] = set()
    for recorded, value in payload.headers:
        kind, name = _classify_header(recorded)
        if kind is not _HeaderKind.CONNECTION and not (kind is _HeaderKind.LENGTH and kind in kinds):
            headers.append((name, value))
        kinds.add(kind)
    codings = _content_codings(headers)
    body, coding = payload.body, payload.encoding.encode()
    if coding and not accepts_coding(accepted, coding):
        with suppress(PayloadError):  # a body that cannot be decoded is sent as it was recorded
            body, coding = decode(payload), b""
    # The origin compressed this page, the crawl stored it decoded: compress it again, as the client would have got it.
    if not coding and body and codings and codings[0] in _COMPRESSIONS and accepts_coding(accepted, b"gzip"):
        body, coding = gzip_bytes(body), b"gzip"
    return (headers if b", ".join(codings) == coding else _set_coding(headers, coding)), body


def _content_codings(headers: Headers) -> list[bytes]:
    """Return the content codings that the headers name, in the order in which they were applied."""
    values = [value.lower().split(b",") for name, value in headers if name.lower() == b"content-encoding"]
    names = [part.strip().removeprefix(b"x-") for parts in values for part in parts]
    return [name for name in names if name not in (b"", b"identity")]


def _set_coding(headers: Headers, coding: bytes) -> Headers:
    """Return the headers with this content coding only, in the place and spelling of the first; none if it is empty."""
    recoded: Headers = []
    for name, value in headers:
        if name.lower() != b"content-encoding":
            recoded.append((name, value))
        elif coding:
            recoded.append((name, coding))
            coding = b""
    return [*recoded, (b"Content-Encoding", coding)] if coding else recoded


def _set_length(headers: Headers, body: bytes) -> Headers:
    """Return the headers with the length of the body as `Content-Length`."""
    index = next((index for index, (name, _) in enumerate(headers) if name.lower() == b"content-length"), len(headers))
    name = headers[index][0] if index < len(headers) else b"Content-Length"
    return [*headers[:index], (name, b"%d" % len(body)), *headers[index + 1 :]]


def _first_value(headers: Headers, lower_name: bytes) -> bytes:
    """Return the first value of a header, given its name in lower case; empty if it is absent."""
    return next((value.strip() for name, value in headers if name.lower() == lower_name), b"")


def _is_not_modified(headers: Headers, request_headers: RequestHeaders) -> bool:
    """True if a conditional request is to be answered with 304 (RFC 9110, section 13.1)."""
    if (if_none_match := request_headers.get(b"if-none-match")) is not None:
        tag = _first_value(headers, b"etag").removeprefix(b"W/")  # weak comparison, RFC 9110, section 13.1.2
        return bool(tag) and (
            if_none_match.strip() == b"*"
            or tag in [one.strip().removeprefix(b"W/") for one in if_none_match.split(b",")]
        )
    if_modified_since = request_headers.get(b"if-modified-since")
    return if_modified_since is not None and _is_since(_first_value(headers, b"last-modified"), if_modified_since)


def _is_since(modified: bytes, date: bytes) -> bool:
    """True if a page was not modified after a date; False if either date cannot be parsed."""
    try:
        return parsedate_to_datetime(modified.decode("ascii")) <= parsedate_to_datetime(date.decode("ascii"))
    except (ValueError, TypeError, OverflowError):
        return False


def _select_range(headers: Headers, request_headers: RequestHeaders, size: int) -> tuple[int, int] | None:
    """Return the first byte and the byte after the last of the requested range; None if the whole body is to be sent.

    Several ranges in one request, and a failed `If-Range`, also give None. If the first is not below the second, the
    range cannot be satisfied.
    """
    match = _RANGE.fullmatch(request_headers[b"range"]) if b"range" in request_headers else None
    if match is None or not any(match.groups()):
        return None
    if (if_range := request_headers.get(b"if-range")) is not None:
        tag, modified = _first_value(headers, b"etag"), _first_value(headers, b"last-modified")
        # Only a strong validator counts here, RFC 9110, section 13.1.5.
        if not if_range.strip() or if_range.strip() not in (tag, modified) or if_range.startswith(b"W/"):
            return None
    first, last = match.groups()
    if not first:  # `bytes=-500`: the last 500 bytes
        return max(0, size - int(last)), size
    end = min(int(last) + 1, size) if last else size
    return None if last and int(last) < int(first) else (int(first), end)
