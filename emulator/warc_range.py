"""Lists the records in a byte range of a WARC file without an index, by walking from record to record.

Only for deciding access: a range that does not begin with a record, or cannot be walked to its end, lists nothing and
must not be served.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from math import floor

from webemu.emulator.errors import NotCaptured
from webemu.emulator.types import Archive

MAX_HEADER_BYTES = 64 << 10
"""Maximum length of a record's header, in bytes."""
_GZIP = b"\x1f\x8b"
_FIELD_PATTERN = re.compile(rb"^(WARC-Target-URI|WARC-Date|WARC-Type|Content-Length):[ \t]*([^\r\n]*)", re.I | re.M)


class MalformedWarcRange(Exception):
    """The range cannot be walked from record to record."""


def read_record_headers(pieces: Iterable[bytes]) -> Iterator[dict[str, str]]:
    """Yield the header fields of each record (`warc-target-uri`, `warc-type`, …), names in lower case.

    Raises MalformedWarcRange if no record begins where one must.
    """
    stream = _decompress(iter(pieces))
    buffer = bytearray()
    while _skip_line_ends(buffer, stream):
        header_end = _find_header_end(buffer, stream)
        header = _parse_fields(bytes(buffer[:header_end]))
        length = header.get("content-length", "")
        if not (buffer.startswith(b"WARC/") and length.isascii() and length.isdigit()):
            raise MalformedWarcRange("the range does not begin with a WARC record")
        yield header
        _skip_bytes(
            buffer, stream, header_end + int(length[:15])
        )  # 15 digits: no file is longer, and int() of a hostile length is slow


def read_allowed_records(
    archive: Archive,
    read: Callable[[int, int], Iterable[bytes]],
    offset: int,
    length: int,
    is_allowed: Callable[[dict[str, str]], bool],
) -> Iterable[bytes]:
    """Return a range of a WARC file if it consists of whole records, all of which are allowed.

    `read` returns bytes of the file by offset and length. A request for one byte only tells whether the file goes on:
    its value is hidden, and a file that is continued (`Archive.is_continued`) has no end.

    Raises:
        NotCaptured: the range holds something else.
    """
    if length == 1:
        return [bytes(1)] if archive.is_continued else [bytes(len(piece)) for piece in read(offset, 1)]
    try:
        is_whole = all(map(is_allowed, read_record_headers(read(offset, length))))
    except (MalformedWarcRange, NotCaptured):
        is_whole = False
    # A range that ends early would show how long the file has become since.
    if not is_whole or (archive.is_continued and not any(read(offset + length - 1, 1))):
        raise NotCaptured(
            f"this range of {archive.name} is not available", action="request whole records, as the index lists them"
        )
    return read(offset, length)


def is_by(moment: int, record: dict[str, str]) -> bool:
    """True if a record says that it was written by a moment, in seconds since the epoch."""
    written = written_at(record)
    return written is not None and written <= moment


def written_at(record: dict[str, str]) -> int | None:
    """Return the time that a record bears, in whole seconds since the epoch; None if it cannot be read."""
    try:
        written = datetime.fromisoformat(record["warc-date"])
        return floor((written if written.tzinfo else written.replace(tzinfo=UTC)).timestamp())
    except (KeyError, ValueError, OverflowError):
        return None


def _parse_fields(header: bytes) -> dict[str, str]:
    """Return the interesting fields of a record header."""
    pairs = _FIELD_PATTERN.findall(header)
    return {name.decode().lower(): value.decode("utf-8", "replace").strip() for name, value in pairs}


def _skip_line_ends(buffer: bytearray, stream: Iterator[bytes]) -> bool:
    """Skip line ends between records; return False at the end of the range."""
    while True:
        while buffer.startswith((b"\r", b"\n")):
            del buffer[:1]
        if buffer:
            return True
        if (piece := next(stream, None)) is None:
            return False
        buffer += piece


def _find_header_end(buffer: bytearray, stream: Iterator[bytes]) -> int:
    """Return the length of the header at the start of the buffer, reading more as needed."""
    while (offset := buffer.find(b"\r\n\r\n")) < 0:
        piece = next(stream, None)
        if piece is None or len(buffer) > MAX_HEADER_BYTES:
            raise MalformedWarcRange(f"a record header does not end within {MAX_HEADER_BYTES} bytes")
        buffer += piece
    return offset + 4


def _skip_bytes(buffer: bytearray, stream: Iterator[bytes], size: int) -> None:
    """Drop `size` bytes, or as many as there are: the last record may be cut off."""
    while size > len(buffer):
        size -= len(buffer)
        buffer.clear()
        if (piece := next(stream, None)) is None:
            return
        buffer += piece
    del buffer[:size]


def _decompress(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the bytes without gzip; a gzip file consists of one member per record."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= 2:
            break
    if not head.startswith(_GZIP):
        yield from (one for one in (head, *pieces) if one)
        return
    yield from _gunzip(head, pieces)


def _gunzip(head: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of consecutive gzip members, at most 1 MiB at a time."""
    inflate, data = zlib.decompressobj(31), head
    while data or (data := next(pieces, b"")):
        try:
            if plain_bytes := inflate.decompress(data, 1 << 20):
                yield plain_bytes
        except zlib.error as error:
            raise MalformedWarcRange(str(error)) from error
        data = inflate.unconsumed_tail
        if inflate.eof:
            data, inflate = inflate.unused_data, zlib.decompressobj(31)
