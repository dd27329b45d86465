"""Content coding of responses (RFC 9110, section 12.5.3): gzip for clients that accept it."""

from __future__ import annotations

import re

from isal import isal_zlib

from webemu.api.http.response import Answer, Header


def packed(answer: Answer, headers: list[Header], least: int) -> Answer:
    """Return the response in gzip if it has at least `min_bytes` and the request accepts gzip; else the response
    itself.
    """
    if len(answer.body) < least:
        return answer
    accepted = next((value for name, value in headers if name == b"accept-encoding"), b"")
    # A shared cache must not give the gzip body to a client that did not ask for it, nor the other way round.
    told = (*answer.headers, (b"vary", b"accept-encoding"))
    if not takes(accepted, b"gzip"):
        return Answer(answer.body, answer.snapshot, answer.status, answer.kind, told)
    coded = (*told, (b"content-encoding", b"gzip"))
    return Answer(squeezed(answer.body), answer.snapshot, answer.status, answer.kind, coded)


def squeezed(body: bytes) -> bytes:
    """Compress with gzip. The same input always gives the same bytes: the header holds no time."""
    squeeze = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)  # 31: gzip header, 32 KiB window
    return bytes(squeeze.compress(body) + squeeze.flush())


def takes(accepted: bytes, coding: bytes) -> bool:
    """True if an `Accept-Encoding` value lists the coding (or `*`) with a weight above zero."""
    for part in accepted.lower().split(b","):
        name, _, weight = part.partition(b";")
        if name.strip() in (coding, b"x-" + coding, b"*"):
            return not re.fullmatch(rb"\s*q\s*=\s*0(\.0*)?\s*", weight)
    return False
