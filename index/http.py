"""An HTTP answer as a crawler recorded it: head and body told apart, transfer and content coding removed.

Bytes are trusted over headers: many crawls store decoded bodies below the old headers, or cut ones. Nothing here raises
on what a record holds, except that a decoded body over its bound is refused.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import brotli  # type: ignore[import-untyped]
import zstandard

from emulator.errors import PayloadError

Headers = Sequence[tuple[bytes, bytes]]

MAX_HEAD = 1 << 20
"""Bytes of an HTTP head; a block without an end of head within them has none."""
_WINDOW = 8 << 20
"""Most a zstd body may ask us to remember (RFC 9659)."""
_BLANK_LINE = re.compile(rb"\n\r?\n")
_STATUS = re.compile(rb"(?:HTTP(?:/\d+(?:\.\d+)?)?|ICY)[ \t]+(\d{3})(?!\d)[ \t]*(.*)", re.IGNORECASE)
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]{0,4096})?\r?\n")
_LINE_END = re.compile(rb"\r?\n|\r\Z")
_CUT_SIZE = re.compile(rb"[0-9A-Fa-f]{0,16}\r?")
_MASK = b"x-crawler-"
_MASKED = frozenset({b"content-encoding", b"transfer-encoding", b"content-length"})


@dataclass(frozen=True, slots=True)
class Message:
    """One HTTP answer."""

    status: int
    """0 if the record has no status line that can be read."""
    reason: str
    headers: list[tuple[bytes, bytes]]
    """As recorded, in order and spelling, folded lines joined, repeated ones kept."""
    body: bytes
    """The payload without chunked framing; its content coding is kept."""

    def origin_headers(self) -> list[tuple[bytes, bytes]]:
        """What the origin said: Common Crawl masks three headers with `X-Crawler-` and adds a length of its own."""
        if not any(_masked(name) for name, _ in self.headers):
            return self.headers
        return [
            (name[len(_MASK) :] if _masked(name) else name, value)
            for name, value in self.headers
            if name.lower() != b"content-length"
        ]


def _masked(name: bytes) -> bool:
    lower = name.lower()
    return lower.startswith(_MASK) and lower[len(_MASK) :] in _MASKED


def parse(block: bytes) -> Message | None:
    """Read a response block; None where it begins with neither a status line nor a header."""
    while True:
        head, body = split_head(block)
        if head is None:
            return None
        lines = head.split(b"\n")
        status, reason = _status_line(lines[0])
        # Interim answers are recorded in front of the final one by some crawlers.
        if 100 <= status < 200 and status != 101 and body[:5].upper() == b"HTTP/":
            block = body
            continue
        is_status = lines[0][:5].upper() == b"HTTP/" or status > 0
        if not is_status and not _NAME.fullmatch(lines[0].partition(b":")[0].rstrip()):
            return None
        headers = _headers(lines[1:] if is_status else lines)
        return Message(status, reason, headers, _payload(body, headers)) if is_status or headers else None


def split_head(block: bytes) -> tuple[bytes | None, bytes]:
    """Head and rest of a block at its first empty line (CRLF or LF); leading empty lines are skipped.

    A short block without an empty line is all head; head is None where there is none within `MAX_HEAD` bytes.
    """
    start = 0
    while block[start : start + 1] in (b"\r", b"\n"):
        start += 1
    end = _BLANK_LINE.search(block, start, start + MAX_HEAD)
    if end is not None:
        return block[start : end.start()], block[end.end() :]
    if start == len(block) or len(block) - start > MAX_HEAD:
        return None, block
    return block[start:], b""


def _status_line(line: bytes) -> tuple[int, str]:
    found = _STATUS.fullmatch(line.rstrip(b"\r"))
    return (int(found[1]), found[2].strip().decode("latin-1")) if found else (0, "")


def _headers(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Header lines as pairs; lines without a colon are no headers and left out."""
    headers: list[tuple[bytes, bytes]] = []
    for line in lines:
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


def _tokens(headers: Headers, wanted: bytes) -> list[bytes]:
    values = b",".join(value for name, value in headers if name.lower() == wanted)
    return [token for part in values.lower().split(b",") if (token := part.strip())]


def _payload(body: bytes, headers: Headers) -> bytes:
    if b"chunked" in _tokens(headers, b"transfer-encoding"):
        plain = dechunk(body)
        return body if plain is None else plain
    # The writer of CC-MAIN-2018-34 put an empty line too many before the payload.
    if body.startswith(b"\r\n") and _tokens(headers, b"content-length") == [b"%d" % (len(body) - 2)]:
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


def decode_content(body: bytes, headers: Headers, limit: int) -> tuple[bytes, str]:
    """Remove content coding; answers the decoded body and the codings it really had, in the order they were applied.

    A body that is not coded as its headers say is answered as it is. A cut body gives what can be decoded. Raises
    PayloadError (`payload-too-large`) when the decoded body is larger than `limit` bytes.
    """
    applied: list[str] = []
    tokens = _tokens(headers, b"content-encoding") + _tokens(headers, b"transfer-encoding")
    for token in reversed(tokens):
        for name, decode in _decoders(token):
            plain = decode(body, limit)
            if plain is not None:
                if len(plain) > limit:
                    raise PayloadError(f"a body decodes to more than {limit} bytes", reason="payload-too-large")
                body = plain
                applied.insert(0, name)
                break
    return body, ", ".join(applied)


Decoder = Callable[[bytes, int], bytes | None]
"""Decodes at most a little more than so many bytes; None if the body is not in this coding."""


def _decoders(token: bytes) -> Iterator[tuple[str, Decoder]]:
    """What a body under this coding may really be; gzip is so often mislabelled that its magic is always tried."""
    token = token.removeprefix(b"x-")
    if token == b"br":
        yield "br", _br
    if token == b"zstd":
        yield "zstd", _zstd
    if token in (b"gzip", b"deflate", b"br", b"zstd"):
        yield "gzip", _gzip
    if token == b"deflate":
        yield "deflate", _deflate


def _gzip(body: bytes, limit: int) -> bytes | None:
    """All members of a gzip body; what follows them is no part of it."""
    parts: list[bytes] = []
    size, at, is_whole = 0, 0, True
    while is_whole and size <= limit and body.startswith(b"\x1f\x8b\x08", at):
        part, at, is_whole = _inflate(body, at, 31, limit + 1 - size)
        if not parts and not part and not is_whole:
            return None
        parts.append(part)
        size += len(part)
    return b"".join(parts) if parts else None


def _inflate(body: bytes, at: int, wbits: int, limit: int) -> tuple[bytes, int, bool]:
    """At most `limit` bytes of the stream at `at`, where it ends, whether it is whole; damage keeps what it can."""
    inflate = zlib.decompressobj(wbits)
    view = memoryview(body)
    parts: list[bytes] = []
    size, step = 0, 1 << 10
    while at < len(body) and size < limit:
        try:
            parts.append(inflate.decompress(view[at : at + step], limit - size))
        except zlib.error:
            break
        size += len(parts[-1])
        at = min(at + step, len(body)) - len(inflate.unused_data)
        if inflate.eof:
            break
        step = min(4 * step, 1 << 16)
    return b"".join(parts), at, inflate.eof


def _deflate(body: bytes, limit: int) -> bytes | None:
    """Both readings of `deflate`: with the zlib wrapper (RFC 9110) and, as many servers sent it, bare."""
    if body[:1] and body[0] & 0x0F == 8 and int.from_bytes(body[:2]) % 31 == 0:
        plain, _, is_whole = _inflate(body, 0, 15, limit + 1)
        if plain or is_whole:
            return plain
    plain, _, is_whole = _inflate(body, 0, -15, limit + 1)
    return plain if is_whole or len(plain) > limit else None


def _br(body: bytes, limit: int) -> bytes | None:
    decoder = brotli.Decompressor()
    parts: list[bytes] = []
    size = 0
    feed = body
    try:
        while size <= limit and not decoder.is_finished():
            part = decoder.process(feed, output_buffer_limit=limit + 1 - size)
            feed = b""
            if not part:
                break
            parts.append(part)
            size += len(part)
    except brotli.error:
        return None
    # A cut stream raises nothing; plain text that happens to raise nothing gives next to nothing.
    return b"".join(parts) if decoder.is_finished() or size > max(len(body), 1) else None


def _zstd(body: bytes, limit: int) -> bytes | None:
    if not body.startswith(b"\x28\xb5\x2f\xfd"):
        return None
    parts: list[bytes] = []
    size = 0
    # One per call: a decompressor shared by threads corrupts what it decodes.
    reader = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(body, read_across_frames=True)
    try:
        while size <= limit and (part := reader.read(min(1 << 20, limit + 1 - size))):
            parts.append(part)
            size += len(part)
    except zstandard.ZstdError:
        pass
    return b"".join(parts) if parts else None
