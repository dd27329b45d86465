"""An HTTP answer as a crawler recorded it: head and body told apart, chunked framing removed.

Bytes are trusted over headers: many crawls store decoded bodies below the old headers, or cut ones. Nothing here raises
on what a record holds. Content coding: `webemu.index.codings`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from webemu.index.codings import Headers, content_coding, decode_content, tokens

__all__ = ["Headers", "Message", "content_coding", "dechunk", "decode_content", "parse", "split_head"]

MAX_HEAD = 1 << 20
"""Bytes of an HTTP head; a block without an end of head within them has none."""
_BLANK_LINE = re.compile(rb"\n\r*\n")
_STATUS = re.compile(rb"(?:HTTP(?:/\d+(?:\.\d+)?)?|ICY)[ \t]+(\d{3})(?!\d)[ \t]*(.*)", re.IGNORECASE)
_HEADER = re.compile(rb"^([!-9;-~]+):[ \t]*([^\r\n\0]*)\r?$", re.MULTILINE)
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]{0,4096})?\r?\n")
_LINE_END = re.compile(rb"\r?\n|\r\Z")
_CUT_SIZE = re.compile(rb"[0-9A-Fa-f]{0,16}\r?")


class Message(NamedTuple):
    """One HTTP answer."""

    status: int
    """0 if the record has no status line that can be read."""
    reason: str
    headers: list[tuple[bytes, bytes]]
    """As recorded, in order and spelling, folded lines joined, repeated ones kept."""
    body: bytes
    """The payload without chunked framing; its content coding is kept."""


def parse(block: bytes) -> Message | None:
    """Read a response block; None where it begins with neither a status line nor a header."""
    while True:
        head, body = split_head(block)
        if head is None:
            return None
        first = head.partition(b"\n")[0]
        status, reason = _status_line(first)
        # Interim answers are recorded in front of the final one by some crawlers.
        if 100 <= status < 200 and status != 101 and body[:5].upper() == b"HTTP/":
            block = body
            continue
        is_status = first[:5].upper() == b"HTTP/" or status > 0
        if not is_status and not _NAME.fullmatch(first.partition(b":")[0].rstrip()):
            return None
        headers = _headers(head.partition(b"\n")[2] if is_status else head)
        return Message(status, reason, headers, _payload(body, headers)) if is_status or headers else None


def split_head(block: bytes) -> tuple[bytes | None, bytes]:
    """Head and rest of a block at its first empty line (CRLF or LF); leading empty lines are skipped.

    A short block without an empty line is all head; head is None where there is none within `MAX_HEAD` bytes.
    """
    start, end, body = head_span(block)
    return (None, block) if end < 0 else (block[start:end], block[body:])


def head_span(block: bytes) -> tuple[int, int, int]:
    """Where `split_head` finds the head to begin and end, and the rest to begin; the end is -1 without a head."""
    start = 0
    while block[start : start + 1] in (b"\r", b"\n"):
        start += 1
    end = _BLANK_LINE.search(block, start, start + MAX_HEAD)
    if end is not None:
        return start, end.start(), end.end()
    size = len(block)
    return start, -1 if start == size or size - start > MAX_HEAD else size, size


def _status_line(line: bytes) -> tuple[int, str]:
    found = _STATUS.fullmatch(line.rstrip(b"\r"))
    return (int(found[1]), found[2].strip().decode("latin-1")) if found else (0, "")


def _headers(text: bytes) -> list[tuple[bytes, bytes]]:
    """Header lines as pairs; lines without a colon are no headers and left out."""
    plain: list[tuple[bytes, bytes]] = _HEADER.findall(text)
    if len(plain) == text.count(b"\n") + bool(text):
        return [(name, value.rstrip(b" \t")) for name, value in plain]
    headers: list[tuple[bytes, bytes]] = []
    for line in text.split(b"\n"):
        if line[:1] in (b" ", b"\t"):
            if headers and (more := _value(line)):
                name, value = headers[-1]
                headers[-1] = (name, value + b" " + more if value else more)
            continue
        name, colon, value = line.partition(b":")
        if colon and (name := name.strip()):
            headers.append((name, _value(value)))
    return headers


def _value(raw: bytes) -> bytes:
    """RFC 9110 section 5.5: a lone CR or NUL inside a value is read as a space."""
    value = raw.strip(b" \t\r")
    return value.replace(b"\r", b" ").replace(b"\0", b" ") if b"\r" in value or b"\0" in value else value


def _payload(body: bytes, headers: Headers) -> bytes:
    if b"chunked" in tokens(headers, b"transfer-encoding"):
        plain = dechunk(body)
        return body if plain is None else plain
    # The writer of CC-MAIN-2018-34 put an empty line too many before the payload.
    if len(body) > 2 and body.startswith(b"\r\n") and tokens(headers, b"content-length") == [b"%d" % (len(body) - 2)]:
        return body[2:]
    return body


def dechunk(body: bytes) -> bytes | None:
    """Remove chunked framing (RFC 9112 section 7.1); None if this is no chunked body to its end.

    A body cut short is taken as chunked if at least one chunk is whole: the crawler stopped, not the framing.
    """
    parts: list[bytes] = []
    at = 0
    while size_line := _CHUNK.match(body, at):
        start = size_line.end()
        size = int(size_line[1], 16)
        if size == 0:
            return b"".join(parts) if _ends(body, start) else None
        parts.append(body[start : start + size])
        at = start + size
        if at >= len(body):
            return b"".join(parts) if len(parts) > 1 or at == len(body) else None
        if not (line_end := _LINE_END.match(body, at)):
            return None
        at = line_end.end()
    return b"".join(parts) if parts and _CUT_SIZE.fullmatch(body, at) else None


def _ends(body: bytes, at: int) -> bool:
    """Whether what follows the last chunk is nothing but trailers and an empty line."""
    trailers, _, rest = body[at : at + MAX_HEAD].replace(b"\r\n", b"\n").partition(b"\n\n")
    if body.startswith((b"\r\n", b"\n"), at):
        trailers, rest = b"", body[at:]
    is_trailer = all(b":" in line for line in trailers.strip(b"\n").split(b"\n") if line)
    return is_trailer and not rest.strip(b"\r\n")
