"""The fast reader: FastWARC's records, each checked to be exactly one gzip member or one range of a plain file.

FastWARC alone silently reads over the end of a member, joins records with bare line feeds into one, takes a cut block
for a whole one and stops at an empty member. The check costs one `pread` per record: a gzip member ends with the size
of its content (RFC 1952), which head, block and two line ends must add up to.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecord

from webemu.ingest.records import MAX_HEAD, Record

_VERSION_LINE = len(b"WARC/1.0\r\n")
_NO_UTF_8 = "\ufffd"
"""Character that FastWARC puts in place of bytes that are not UTF-8."""


def read_fast(path: Path, fd: int, start: int, size: int, is_gzip: bool, max_block: int) -> Iterator[Record]:
    """Yield records from offset `start` on while everything is regular; end silently at the first that is not."""
    is_whole = _is_member if is_gzip else _is_plain_record
    pending: tuple[Record, int] | None = None
    with path.open("rb") as file:
        file.seek(start)
        try:
            for fast_record in ArchiveIterator(file, parse_http=False, auto_decode="none", max_header_len=MAX_HEAD):
                offset = fast_record.stream_pos
                if pending is not None:
                    # The end of a record is known only once the next one begins.
                    record, inflated = pending
                    if not is_whole(fd, record.offset, offset, inflated):
                        return
                    record.length = offset - record.offset
                    yield record
                elif offset != start:
                    return
                pending = _convert_record(fast_record, offset, max_block)
                if pending is None:
                    return
        except OSError:
            return
    if pending is not None and is_whole(fd, pending[0].offset, size, pending[1]):
        pending[0].length = size - pending[0].offset
        yield pending[0]


def _convert_record(fast_record: WarcRecord, offset: int, max_block: int) -> tuple[Record, int] | None:
    """Return the record and the size it must inflate to; None if it needs the careful reader."""
    headers = list(fast_record.headers.items())
    names = dict(headers)
    record_type, length = names.get("WARC-Type"), names.get("Content-Length", "")
    if record_type is None or not length.isdecimal() or (size := int(length)) > max_block:
        return None
    text = "\0".join(chain.from_iterable(headers))
    # Folded lines, other encodings and repeated lengths are left to the careful reader, which handles them exactly.
    if "\n" in text or "\r" in text or text.lower().count("content-length\0") != 1:
        return None
    if _NO_UTF_8 in text or any(part != part.strip() for part in chain(*headers)):
        return None
    block = fast_record.reader.read()
    if len(block) != size:
        return None
    # Version line, then ": " (half of it in `text`) and a line end per header, an empty line, the block, two line ends.
    inflated = _VERSION_LINE + len(text.encode()) + 1 + 2 * len(headers) + 2 + size + 4
    return Record(offset, 0, record_type.lower(), headers, block, size), inflated


def _is_member(fd: int, start: int, end: int, inflated: int) -> bool:
    """True if the range is one gzip member of this content size, and another member or the end of the file follows."""
    # ISIZE, the last four bytes of a member, is the size of its content modulo 2**32 (RFC 1952).
    ending = inflated.to_bytes(4, "little")
    return end > start and os.pread(fd, 7, end - 4) in (ending + b"\x1f\x8b\x08", ending)


def _is_plain_record(fd: int, start: int, end: int, inflated: int) -> bool:
    """True if the range has this size, and another record or the end of the file follows."""
    return end - start == inflated and os.pread(fd, 9, end - 4) in (b"\r\n\r\nWARC/", b"\r\n\r\n")
