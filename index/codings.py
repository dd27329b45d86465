"""Removes the content coding of recorded bodies where it is really there, within bounds.

Headers are not trusted: many crawls store decoded bodies below the headers of coded ones.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence

import brotli  # type: ignore[import-untyped]
import zstandard

from webemu.emulator.errors import PayloadError

Headers = Sequence[tuple[bytes, bytes]]
"""(name, value) pairs as recorded."""

_WINDOW = 8 << 20
"""Largest window of a zstd body, in bytes (RFC 9659)."""
_GLANCE = 1 << 14
"""Decoded bytes from which a coding is recognised."""


def tokens(headers: Headers, wanted: bytes) -> list[bytes]:
    """Return the comma-separated values of all headers of a name (given in lower case), in lower case."""
    size = len(wanted)
    values = [value for name, value in headers if len(name) == size and name.lower() == wanted]
    return [token for part in b",".join(values).lower().split(b",") if (token := part.strip())] if values else []


def decode_content(body: bytes, headers: Headers, limit: int) -> tuple[bytes, str]:
    """Remove content coding; return the decoded body and the codings it really had, in the order they were applied.

    A body that is not coded as its headers say is returned unchanged; a truncated one as far as it can be decoded.
    Raises PayloadError (`payload-too-large`) if the decoded body is larger than `limit` bytes.
    """
    plain, applied, is_over = _decode(body, headers, limit)
    if is_over:
        raise PayloadError(f"a body decodes to more than {limit} bytes", reason="payload-too-large")
    return plain, applied


def content_coding(body: bytes, headers: Headers) -> str:
    """Return the codings that `decode_content` would remove, judged by the beginning of the body."""
    return _decode(body, headers, _GLANCE)[1]


def _decode(body: bytes, headers: Headers, limit: int) -> tuple[bytes, str, bool]:
    """Return the decoded body (at most a little over `limit` bytes), the codings removed, and True if it is over the
    limit.
    """
    applied: list[str] = []
    is_over = False
    # The last coding that was applied is removed first. Some crawlers list content codings under transfer-encoding.
    for token in reversed(tokens(headers, b"content-encoding") + tokens(headers, b"transfer-encoding")):
        for name, decode in _decoders(token):
            plain = decode(body, limit)
            if plain is not None:  # the first coding that fits; None of them fits a body that was stored decoded
                is_over = is_over or len(plain) > limit
                body = plain
                applied.insert(0, name)
                break
    return body, ", ".join(applied), is_over


Decoder = Callable[[bytes, int], bytes | None]
"""Decodes at most a little more than `limit` bytes; None if the body is not in this coding."""


def _decoders(token: bytes) -> Iterator[tuple[str, Decoder]]:
    """Yield the codings that a body with this token may really have. gzip is always tried: it is often mislabelled."""
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
    """Return all members of a gzip body decoded; bytes after the last one are ignored. None if it is not gzip."""
    parts: list[bytes] = []
    size, at, is_whole = 0, 0, True
    # A gzip file may be several members one after another (RFC 1952, section 2.2).
    while is_whole and size <= limit and body.startswith(b"\x1f\x8b\x08", at):
        part, at, is_whole = _inflate(body, at, 31, limit + 1 - size)
        if not parts and not part and not is_whole:
            return None
        parts.append(part)
        size += len(part)
    return b"".join(parts) if parts else None


def _inflate(body: bytes, at: int, wbits: int, limit: int) -> tuple[bytes, int, bool]:
    """Return up to `limit` bytes of the stream at an offset, its end offset, and True if it is complete.

    A damaged stream is decoded as far as possible.
    """
    inflate = zlib.decompressobj(wbits)
    view = memoryview(body)
    parts: list[bytes] = []
    size, step = 0, 1 << 10
    # Steps keep what was decoded before damage, and bound the memory of a compression bomb.
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
    """Decode both readings of `deflate`: with the zlib wrapper (RFC 9110) and, as many servers sent it, without."""
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
    # A truncated stream raises nothing; nor does some plain text, but that decodes to almost nothing.
    return b"".join(parts) if decoder.is_finished() or size > min(limit, len(body)) else None


def _zstd(body: bytes, limit: int) -> bytes | None:
    if not body.startswith(b"\x28\xb5\x2f\xfd"):
        return None
    parts: list[bytes] = []
    size = 0
    # One per call: a decompressor that threads share corrupts its output.
    reader = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(body, read_across_frames=True)
    try:
        while size <= limit and (part := reader.read(min(1 << 20, limit + 1 - size))):
            parts.append(part)
            size += len(part)
    except zstandard.ZstdError:
        pass
    return b"".join(parts) if parts else None
