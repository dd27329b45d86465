"""Removes the content coding of recorded bodies where it is really there, within bounds.

Headers are not trusted: many crawls store decoded bodies below the headers of coded ones.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from threading import local

import brotli  # type: ignore[import-untyped]
import zstandard

from webemu.emulator.errors import PayloadError

Headers = Sequence[tuple[bytes, bytes]]
"""(name, value) pairs as recorded."""

_MAX_WINDOW = 8 << 20
"""Largest window of a zstd body, in bytes (RFC 9659)."""
_PROBE_BYTES = 1 << 14
"""Decoded bytes from which a coding is recognised."""
_per_thread = local()


def thread_decompressor() -> zstandard.ZstdDecompressor:
    """Return this thread's zstd decompressor. One shared by threads corrupts data; a new one costs as much as a page
    read.
    """
    try:
        return _per_thread.decompressor  # type: ignore[no-any-return]
    except AttributeError:
        _per_thread.decompressor = zstandard.ZstdDecompressor()
        return _per_thread.decompressor  # type: ignore[no-any-return]


def header_tokens(headers: Headers, header_name: bytes) -> list[bytes]:
    """Return the comma-separated values of all headers of a name (given in lower case), in lower case."""
    size = len(header_name)
    values = [value for name, value in headers if len(name) == size and name.lower() == header_name]
    return [token for part in b",".join(values).lower().split(b",") if (token := part.strip())] if values else []


def decode_content(body: bytes, headers: Headers, limit: int) -> tuple[bytes, str]:
    """Remove content coding; return the decoded body and the codings it really had, in the order they were applied.

    A body that is not coded as its headers say is returned unchanged; a truncated one as far as it can be decoded.
    Raises PayloadError (`payload-too-large`) if the decoded body is larger than `limit` bytes.
    """
    decoded, applied, is_over = _decode(body, headers, limit)
    if is_over:
        raise PayloadError(f"a body decodes to more than {limit} bytes", reason="payload-too-large")
    return decoded, applied


def detect_coding(body: bytes, headers: Headers) -> str:
    """Return the codings that `decode_content` would remove, judged by the beginning of the body."""
    return _decode(body, headers, _PROBE_BYTES)[1]


def _decode(body: bytes, headers: Headers, limit: int) -> tuple[bytes, str, bool]:
    """Return the decoded body (at most a little over `limit` bytes), the codings removed, and True if it is over the
    limit.
    """
    applied: list[str] = []
    is_over = False
    # The last coding that was applied is removed first. Some crawlers list content codings under transfer-encoding.
    for token in reversed(header_tokens(headers, b"content-encoding") + header_tokens(headers, b"transfer-encoding")):
        for name, decode in _candidate_decoders(token):
            decoded = decode(body, limit)
            if decoded is not None:  # the first coding that fits; None of them fits a body that was stored decoded
                is_over = is_over or len(decoded) > limit
                body = decoded
                applied.insert(0, name)
                break
    return body, ", ".join(applied), is_over


Decoder = Callable[[bytes, int], bytes | None]
"""Decodes at most a little more than `limit` bytes; None if the body is not in this coding."""


def _candidate_decoders(token: bytes) -> Iterator[tuple[str, Decoder]]:
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
    size, offset, is_whole = 0, 0, True
    # A gzip file may be several members one after another (RFC 1952, section 2.2).
    while is_whole and size <= limit and body.startswith(b"\x1f\x8b\x08", offset):
        member, offset, is_whole = _inflate(body, offset, 31, limit + 1 - size)
        if not parts and not member and not is_whole:
            return None
        parts.append(member)
        size += len(member)
    return b"".join(parts) if parts else None


def _inflate(body: bytes, offset: int, wbits: int, limit: int) -> tuple[bytes, int, bool]:
    """Return up to `limit` bytes of the stream at an offset, its end offset, and True if it is complete.

    A damaged stream is decoded as far as possible.
    """
    inflate = zlib.decompressobj(wbits)
    view = memoryview(body)
    parts: list[bytes] = []
    size, step = 0, 1 << 10
    # Steps keep what was decoded before damage, and bound the memory of a compression bomb.
    while offset < len(body) and size < limit:
        try:
            parts.append(inflate.decompress(view[offset : offset + step], limit - size))
        except zlib.error:
            break
        size += len(parts[-1])
        offset = min(offset + step, len(body)) - len(inflate.unused_data)
        if inflate.eof:
            break
        step = min(4 * step, 1 << 16)
    return b"".join(parts), offset, inflate.eof


def _deflate(body: bytes, limit: int) -> bytes | None:
    """Decode both readings of `deflate`: with the zlib wrapper (RFC 9110) and, as many servers sent it, without."""
    if body[:1] and body[0] & 0x0F == 8 and int.from_bytes(body[:2]) % 31 == 0:
        decoded, _, is_whole = _inflate(body, 0, 15, limit + 1)
        if decoded or is_whole:
            return decoded
    decoded, _, is_whole = _inflate(body, 0, -15, limit + 1)
    return decoded if is_whole or len(decoded) > limit else None


def _br(body: bytes, limit: int) -> bytes | None:
    decoder = brotli.Decompressor()
    parts: list[bytes] = []
    size = 0
    pending = body
    try:
        while size <= limit and not decoder.is_finished():
            piece = decoder.process(pending, output_buffer_limit=limit + 1 - size)
            pending = b""
            if not piece:
                break
            parts.append(piece)
            size += len(piece)
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
    reader = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(body, read_across_frames=True)
    try:
        while size <= limit and (piece := reader.read(min(1 << 20, limit + 1 - size))):
            parts.append(piece)
            size += len(piece)
    except zstandard.ZstdError:
        pass
    return b"".join(parts) if parts else None
