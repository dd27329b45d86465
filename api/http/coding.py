"""Content coding of answers (RFC 9110, section 12.5.3): gzip for those who say that they take it."""

from __future__ import annotations

import re

from isal import isal_zlib

from webemu.api.http.response import Answer, Header


def packed(answer: Answer, headers: list[Header], least: int) -> Answer:
    """An answer of at least so many bytes in gzip, where the request takes that."""
    if len(answer.body) < least:
        return answer
    accepted = next((value for name, value in headers if name == b"accept-encoding"), b"")
    told = (*answer.headers, (b"vary", b"accept-encoding"))
    if not takes(accepted, b"gzip"):
        return Answer(answer.body, answer.snapshot, answer.status, answer.kind, told)
    coded = (*told, (b"content-encoding", b"gzip"))
    return Answer(squeezed(answer.body), answer.snapshot, answer.status, answer.kind, coded)


def squeezed(body: bytes) -> bytes:
    """In gzip, the same bytes each time."""
    squeeze = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)
    return bytes(squeeze.compress(body) + squeeze.flush())


def takes(accepted: bytes, coding: bytes) -> bool:
    """Whether `Accept-Encoding` lists the coding with a weight over nought."""
    for part in accepted.lower().split(b","):
        name, _, weight = part.partition(b";")
        if name.strip() in (coding, b"x-" + coding, b"*"):
            return not re.fullmatch(rb"\s*q\s*=\s*0(\.0*)?\s*", weight)
    return False
