"""Parses HTTP responses as crawlers recorded them: separates head and body and removes chunked framing.

Bytes are trusted over headers: many crawls store decoded bodies below the old headers, or truncated ones. Nothing here
raises on the content of a record. Content coding is removed in `webemu.index.codings`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from webemu.index.codings import Headers, decode_content, detect_coding, header_tokens

__all__ = ["Headers", "Message", "dechunk", "decode_content", "detect_coding", "parse_response", "split_head"]

MAX_HEAD = 1 << 20
"""Longest HTTP head in bytes; a block whose head does not end within them has none."""
_BLANK_LINE = re.compile(rb"\n\r*\n")
_STATUS = re.compile(rb"(?:HTTP(?:/\d+(?:\.\d+)?)?|ICY)[ \t]+(\d{3})(?!\d)[ \t]*(.*)", re.IGNORECASE)
_HEADER = re.compile(rb"^([!-9;-~]+):[ \t]*([^\r\n\0]*)\r?$", re.MULTILINE)
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]{0,4096})?\r?\n")
_LINE_END = re.compile(rb"\r?\n|\r\Z")
_CUT_SIZE = re.compile(rb"[0-9A-Fa-f]{0,16}\r?")


class Message(NamedTuple):
    """One HTTP response."""

    status: int
    """Status code; 0 if the record has no readable status line."""
    reason: str
    headers: list[tuple[bytes, bytes]]
    """Headers as recorded, in order and spelling; folded lines are joined, repeated headers kept."""
    body: bytes
    """Payload without chunked framing, with its content coding."""


def parse_response(block: bytes) -> Message | None:
    """Return the response in a block; None if the block begins with neither a status line nor a header."""
    while True:
        head, body = split_head(block)
        if head is None:
            return None
        first_line = head.partition(b"\n")[0]
        status, reason = _parse_status_line(first_line)  # 0 without a status line: some crawlers stored headers only
        # Some crawlers record interim (1xx) responses in front of the final one.
        if 100 <= status < 200 and status != 101 and body[:5].upper() == b"HTTP/":
            block = body
            continue
        is_status = first_line[:5].upper() == b"HTTP/" or status > 0
        if not is_status and not _NAME.fullmatch(first_line.partition(b":")[0].rstrip()):
            return None
        headers = _parse_headers(head.partition(b"\n")[2] if is_status else head)
        return Message(status, reason, headers, _read_body(body, headers)) if is_status or headers else None


def split_head(block: bytes) -> tuple[bytes | None, bytes]:
    """Return the head and the rest of a block, split at its first empty line (CRLF or LF) after leading empty lines.

    A short block without an empty line is all head; the head is None if it does not end within `MAX_HEAD` bytes.
    """
    start, end, body = find_head(block)
    return (None, block) if end < 0 else (block[start:end], block[body:])


def find_head(block: bytes) -> tuple[int, int, int]:
    """Return (start of the head, its end, start of the rest) as in `split_head`; the end is -1 without a head."""
    start = 0
    while block[start : start + 1] in (b"\r", b"\n"):
        start += 1
    end = _BLANK_LINE.search(block, start, start + MAX_HEAD)
    if end is not None:
        return start, end.start(), end.end()
    size = len(block)
    return start, -1 if start == size or size - start > MAX_HEAD else size, size


def _parse_status_line(line: bytes) -> tuple[int, str]:
    """Return status code and reason; (0, "") if the line is no status line."""
    match = _STATUS.fullmatch(line.rstrip(b"\r"))
    return (int(match[1]), match[2].strip().decode("latin-1")) if match else (0, "")


def _parse_headers(text: bytes) -> list[tuple[bytes, bytes]]:
    """Return header lines as pairs; lines without a colon are no headers and left out."""
    simple_headers: list[tuple[bytes, bytes]] = _HEADER.findall(text)
    if len(simple_headers) == text.count(b"\n") + bool(text):  # the common case: every line is a header
        return [(name, value.rstrip(b" \t")) for name, value in simple_headers]
    headers: list[tuple[bytes, bytes]] = []
    for line in text.split(b"\n"):
        if line[:1] in (b" ", b"\t"):  # obsolete line folding (RFC 9112 section 5.2)
            if headers and (continuation := _clean_value(line)):
                name, value = headers[-1]
                headers[-1] = (name, value + b" " + continuation if value else continuation)
            continue
        name, colon, value = line.partition(b":")
        if colon and (name := name.strip()):
            headers.append((name, _clean_value(value)))
    return headers


def _clean_value(raw: bytes) -> bytes:
    """Return a header value with lone CR and NUL read as spaces (RFC 9110 section 5.5)."""
    value = raw.strip(b" \t\r")
    return value.replace(b"\r", b" ").replace(b"\0", b" ") if b"\r" in value or b"\0" in value else value


def _read_body(body: bytes, headers: Headers) -> bytes:
    """Return a body without chunked framing."""
    if b"chunked" in header_tokens(headers, b"transfer-encoding"):
        decoded = dechunk(body)
        return body if decoded is None else decoded
    # The writer of CC-MAIN-2018-34 put one empty line too many before the payload.
    if (
        len(body) > 2
        and body.startswith(b"\r\n")
        and header_tokens(headers, b"content-length") == [b"%d" % (len(body) - 2)]
    ):
        return body[2:]
    return body


def dechunk(body: bytes) -> bytes | None:
    """Return a body without chunked framing (RFC 9112 section 7.1); None if it is not chunked to its end.

    A truncated body counts as chunked if at least one chunk is complete: the crawler stopped, not the framing.
    """
    parts: list[bytes] = []
    offset = 0
    while size_line := _CHUNK.match(body, offset):
        start = size_line.end()
        size = int(size_line[1], 16)
        if size == 0:
            return b"".join(parts) if _is_end(body, start) else None
        parts.append(body[start : start + size])
        offset = start + size
        # The body ends inside or right after a chunk: truncated, or chunked in looks only if it is the first one.
        if offset >= len(body):
            return b"".join(parts) if len(parts) > 1 or offset == len(body) else None
        if not (line_end := _LINE_END.match(body, offset)):
            return None
        offset = line_end.end()
    return b"".join(parts) if parts and _CUT_SIZE.fullmatch(body, offset) else None


def _is_end(body: bytes, offset: int) -> bool:
    """True if only trailers and an empty line follow the last chunk."""
    trailers, _, remainder = body[offset : offset + MAX_HEAD].replace(b"\r\n", b"\n").partition(b"\n\n")
    if body.startswith((b"\r\n", b"\n"), offset):
        trailers, remainder = b"", body[offset:]
    is_trailer = all(b":" in line for line in trailers.strip(b"\n").split(b"\n") if line)
    return is_trailer and not remainder.strip(b"\r\n")
