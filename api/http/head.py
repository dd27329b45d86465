"""Make response headers acceptable to every client: a crawl may have recorded headers that no HTTP client takes.

Names and values that HTTP forbids are dropped, and so is what exceeds the limits of the strictest common clients.
Nothing is dropped silently: each header is counted under a reason (`/metrics`), and the response says how many are
missing. The meaning of headers, and which of them belong to the origin, is decided before: see
`webemu.api.services.origin`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from webemu.api.http.response import Header

BAD_NAME, BAD_VALUE, TOO_LONG, TOO_MANY = REASONS = ("bad-name", "bad-value", "too-long", "too-many")
"""Why a header is left out: RFC 9110, sections 5.1 and 5.5, and the bounds below."""
MAX_LINE_BYTES = 1 << 16
"""Bytes of a header line with its line end; Python's http.client reads no longer one."""
MAX_HEADERS = 90
"""Headers of a response. http.client accepts 99; the difference is left for headers that are added later."""
MAX_HEAD_BYTES = 96 << 10
"""Bytes of all headers together; h11, on which httpx is built, accepts 100 KiB."""
MAX_REASON_CHARS = 1000
"""Characters of a reason phrase; longer ones are cut."""
_DEBUG_PREFIX = b"x-webemu"
"""Beginning of the names of this server's own debug headers."""
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_ALL_VALID = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+\x00[^\x00-\x08\x0a-\x1f\x7f]*\n)*")
"""Matches headers without a flaw, joined as `name NUL value LF`; neither separator may occur in a name or a value."""
_ESSENTIAL = frozenset(b"content-type content-length content-encoding content-range location".split())
"""Headers without which a response cannot be read. They and the debug headers are the last to be dropped."""


def is_debug_header(name: bytes) -> bool:
    """True if a client may mistake the header for one of our debug headers; gateways treat `_` and `-` as the same."""
    return name.strip().lower().replace(b"_", b"-").startswith(_DEBUG_PREFIX)


def clean_reason_phrase(text: str) -> bytes:
    """Return a recorded reason phrase in a form that a status line can carry."""
    return _CONTROL.sub(b" ", text[:MAX_REASON_CHARS].encode("latin-1", "replace"))


def sanitize_headers(headers: Sequence[Header]) -> tuple[list[Header], list[str]]:
    """Return the headers that every client accepts, in their order, and a reason for each of the others.

    If any are dropped, a last header `X-Webemu-Dropped-Headers` with their number is added.
    """
    joined = b"".join([b"%b\x00%b\n" % header for header in headers])
    if len(headers) <= MAX_HEADERS and len(joined) < MAX_LINE_BYTES - 2 and _ALL_VALID.fullmatch(joined):
        return list(headers), []  # nearly all responses; one match costs a fifth of checking each header
    sizes = [len(name) + len(value) + 4 for name, value in headers]
    reasons = [_header_flaw(header, size) for header, size in zip(headers, sizes, strict=True)]
    if len(headers) > MAX_HEADERS or sum(sizes) > MAX_HEAD_BYTES:
        _apply_limits(headers, sizes, reasons)
    dropped = [reason for reason in reasons if reason]
    accepted = [header for header, reason in zip(headers, reasons, strict=True) if not reason]
    return (
        (accepted, []) if not dropped else ([*accepted, (b"X-Webemu-Dropped-Headers", b"%d" % len(dropped))], dropped)
    )


def _header_flaw(header: Header, size: int) -> str:
    """Return why a header must be dropped, whatever the others are; empty if it need not."""
    name, value = header
    if not _TOKEN.fullmatch(name):
        return BAD_NAME
    if _CONTROL.search(value):
        return BAD_VALUE
    return TOO_LONG if size > MAX_LINE_BYTES else ""


def _apply_limits(headers: Sequence[Header], sizes: Sequence[int], reasons: list[str]) -> None:
    """Set a reason for the headers beyond the limits: the last ones first, essential ones only after all others."""
    headers_left, bytes_left = MAX_HEADERS, MAX_HEAD_BYTES
    for index in sorted(range(len(headers)), key=lambda index: not _is_essential(headers[index][0])):
        if reasons[index]:
            continue
        if not headers_left or sizes[index] > bytes_left:
            reasons[index] = TOO_MANY if not headers_left else TOO_LONG
            continue
        headers_left, bytes_left = headers_left - 1, bytes_left - sizes[index]


def _is_essential(name: bytes) -> bool:
    """True if the header is essential or one of our debug headers."""
    return name.lower() in _ESSENTIAL or is_debug_header(name)
