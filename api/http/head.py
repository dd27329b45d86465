"""The head of an answer as every client can take it: what a crawl recorded may be none of that.

Names and values that HTTP forbids are left out, and so is what goes beyond the bounds of the strictest common clients.
Nothing is left out in silence: each header counts under a reason (`/metrics`), and the answer says how many there were.
What a header means, and whether it is of the origin, is decided before: `api/services/origin.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from webemu.api.http.response import Header

BAD_NAME, BAD_VALUE, TOO_LONG, TOO_MANY = REASONS = ("bad-name", "bad-value", "too-long", "too-many")
"""Why a header is left out: RFC 9110, sections 5.1 and 5.5, and the bounds below."""
MAX_LINE = 1 << 16
"""Bytes of a header with its line end: Python's http.client takes no longer line."""
MAX_LINES = 90
"""Headers of an answer: http.client takes 99, of which some are left for what is added to an answer later."""
MAX_HEAD = 96 << 10
"""Bytes of all headers together: h11, on which httpx stands, takes 100 KiB."""
MAX_REASON = 1000
_MARK = b"x-webemu"
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_ALL_PLAIN = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+\x00[^\x00-\x08\x0a-\x1f\x7f]*\n)*")
"""Headers without a flaw, as `name NUL value LF`: neither sign may stand in a name or a value."""
_NEEDED = frozenset(b"content-type content-length content-encoding content-range location".split())
"""Headers without which an answer cannot be read; they and our marks are the last to be left out."""


def is_mark(name: bytes) -> bool:
    """True if a client may take the header for a mark of ours: gateways make `_` and `-` the same."""
    return name.strip().lower().replace(b"_", b"-").startswith(_MARK)


def reason_phrase(text: str) -> bytes:
    """Return a recorded reason phrase as a status line can have it."""
    return _CONTROL.sub(b" ", text[:MAX_REASON].encode("latin-1", "replace"))


def fitted(headers: Sequence[Header]) -> tuple[list[Header], list[str]]:
    """Return the headers that every client can take, in their order, and a reason for each of the others.

    If any are left out, the last of the headers says how many.
    """
    together = b"".join([b"%b\x00%b\n" % header for header in headers])
    if len(headers) <= MAX_LINES and len(together) < MAX_LINE - 2 and _ALL_PLAIN.fullmatch(together):
        return list(headers), []  # nearly all answers; one look costs a fifth of a look at each header
    sizes = [len(name) + len(value) + 4 for name, value in headers]
    reasons = [_flaw(header, size) for header, size in zip(headers, sizes, strict=True)]
    if len(headers) > MAX_LINES or sum(sizes) > MAX_HEAD:
        _bound(headers, sizes, reasons)
    dropped = [reason for reason in reasons if reason]
    kept = [header for header, reason in zip(headers, reasons, strict=True) if not reason]
    return (kept, []) if not dropped else ([*kept, (b"X-Webemu-Dropped-Headers", b"%d" % len(dropped))], dropped)


def _flaw(header: Header, size: int) -> str:
    name, value = header
    if not _TOKEN.fullmatch(name):
        return BAD_NAME
    if _CONTROL.search(value):
        return BAD_VALUE
    return TOO_LONG if size > MAX_LINE else ""


def _bound(headers: Sequence[Header], sizes: Sequence[int], reasons: list[str]) -> None:
    """Give a reason to the headers that go beyond the bounds: the last ones, but those that are needed stay longest."""
    lines, room = MAX_LINES, MAX_HEAD
    for at in sorted(range(len(headers)), key=lambda at: not _is_needed(headers[at][0])):
        if reasons[at]:
            continue
        if not lines or sizes[at] > room:
            reasons[at] = TOO_MANY if not lines else TOO_LONG
            continue
        lines, room = lines - 1, room - sizes[at]


def _is_needed(name: bytes) -> bool:
    return name.lower() in _NEEDED or is_mark(name)
