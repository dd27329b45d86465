"""Content coding of responses (RFC 9110, section 12.5.3): gzip for clients that accept it."""

from __future__ import annotations

import re

from isal import isal_zlib

from webemu.api.http.response import ApiResponse, Header


def compress_response(answer: ApiResponse, headers: list[Header], min_bytes: int) -> ApiResponse:
    """Return the response in gzip if it has at least `min_bytes` and the request accepts gzip; else the response
    itself.
    """
    if len(answer.body) < min_bytes:
        return answer
    accepted = next((value for name, value in headers if name == b"accept-encoding"), b"")
    # A shared cache must not give the gzip body to a client that did not ask for it, nor the other way round.
    response_headers = (*answer.headers, (b"vary", b"accept-encoding"))
    if not accepts_coding(accepted, b"gzip"):
        return ApiResponse(answer.body, answer.snapshot, answer.status, answer.content_type, response_headers)
    coded_headers = (*response_headers, (b"content-encoding", b"gzip"))
    return ApiResponse(gzip_bytes(answer.body), answer.snapshot, answer.status, answer.content_type, coded_headers)


def gzip_bytes(body: bytes) -> bytes:
    """Compress with gzip. The same input always gives the same bytes: the header holds no time."""
    compressor = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)  # 31: gzip header, 32 KiB window
    return bytes(compressor.compress(body) + compressor.flush())


def accepts_coding(accepted: bytes, coding: bytes) -> bool:
    """True if an `Accept-Encoding` value lists the coding (or `*`) with a weight above zero."""
    for part in accepted.lower().split(b","):
        name, _, weight = part.partition(b";")
        if name.strip() in (coding, b"x-" + coding, b"*"):
            return not re.fullmatch(rb"\s*q\s*=\s*0(\.0*)?\s*", weight)
    return False
