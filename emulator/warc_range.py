"""Lists the records in a byte range of a WARC file without an index, by walking from record to record.

Only for deciding access: a range that does not begin with a record, or cannot be walked to its end, lists nothing and
must not be served.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator

MAX_HEAD = 64 << 10
"""Maximum length of a record's header, in bytes."""
_GZIP = b"\x1f\x8b"
_FIELD = re.compile(rb"^(WARC-Target-URI|WARC-Date|WARC-Type|Content-Length):[ \t]*([^\r\n]*)", re.I | re.M)


class Unreadable(Exception):
    """The range cannot be walked from record to record."""


def records(pieces: Iterable[bytes]) -> Iterator[dict[str, str]]:
    """Yield the header fields of each record (`warc-target-uri`, `warc-type`, …), names in lower case.

    Raises MalformedWarcRange if no record begins where one must.
    """
    stream = _plain(iter(pieces))
    held = bytearray()
    while _fill(held, stream):
        end = _head_end(held, stream)
        head = _fields(bytes(held[:end]))
        length = head.get("content-length", "")
        if not (held.startswith(b"WARC/") and length.isascii() and length.isdigit()):
            raise Unreadable("the range does not begin with a WARC record")
        yield head
        _skip(
            held, stream, end + int(length[:15])
        )  # 15 digits: no file is longer, and int() of a hostile length is slow


def _fields(head: bytes) -> dict[str, str]:
    """Return the interesting fields of a record header."""
    found = _FIELD.findall(head)
    return {name.decode().lower(): value.decode("utf-8", "replace").strip() for name, value in found}


def _fill(held: bytearray, stream: Iterator[bytes]) -> bool:
    """Skip line ends between records; return False at the end of the range."""
    while True:
        while held.startswith((b"\r", b"\n")):
            del held[:1]
        if held:
            return True
        if (piece := next(stream, None)) is None:
            return False
        held += piece


def _head_end(held: bytearray, stream: Iterator[bytes]) -> int:
    """Return the length of the header at the start of the buffer, reading more as needed."""
    while (at := held.find(b"\r\n\r\n")) < 0:
        piece = next(stream, None)
        if piece is None or len(held) > MAX_HEAD:
            raise Unreadable(f"a record header does not end within {MAX_HEAD} bytes")
        held += piece
    return at + 4


def _skip(held: bytearray, stream: Iterator[bytes], size: int) -> None:
    """Drop `size` bytes, or as many as there are: the last record may be cut off."""
    while size > len(held):
        size -= len(held)
        held.clear()
        if (piece := next(stream, None)) is None:
            return
        held += piece
    del held[:size]


def _plain(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the bytes without gzip; a gzip file consists of one member per record."""
    first = b""
    for piece in pieces:
        first += piece
        if len(first) >= 2:
            break
    if not first.startswith(_GZIP):
        yield from (one for one in (first, *pieces) if one)
        return
    yield from _gunzipped(first, pieces)


def _gunzipped(first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of consecutive gzip members, at most 1 MiB at a time."""
    inflate, data = zlib.decompressobj(31), first
    while data or (data := next(pieces, b"")):
        try:
            if out := inflate.decompress(data, 1 << 20):
                yield out
        except zlib.error as error:
            raise Unreadable(str(error)) from error
        data = inflate.unconsumed_tail
        if inflate.eof:
            data, inflate = inflate.unused_data, zlib.decompressobj(31)
