"""Records of an uncompressed WARC file, one range of bytes each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from webemu.ingest.readers.heads import (
    VERSION_SIZE,
    Unreadable,
    agrees,
    declared_length,
    ends_here,
    is_usable,
    kind,
    marked_cut,
    take_head,
    without_returns,
)
from webemu.ingest.records import MAX_BLOCK, MAX_HEAD, Record, Skip

_BEGIN = re.compile(rb"^WARC/\d+\.\d+[ \t]*\r*\n", re.MULTILINE | re.IGNORECASE)
_WINDOW = 1 << 20
"""Bytes that are searched at a time."""


def read_stretch(fd: int, at: int, size: int, max_block: int) -> Iterator[Record | Skip]:
    """Yield the record at `offset`, or a skip up to the next record.

    Both are yielded for a record that the file's end cuts; that skip has no bytes.
    """
    try:
        record = _record(fd, at, size, max_block)
    except Unreadable as error:
        end = next_record(fd, at + 1, size)
        reason = error.reason
        if reason in ("not-a-record", "empty-member"):
            reason = "junk-between-records"
        elif end < size and reason == "truncated-record":
            # Another record follows, so the file is not cut: the stated length is wrong.
            reason = "content-length-mismatch"
        yield Skip(reason, at, end - at, error.detail)
        return
    yield record
    if record.missing:
        detail = f"{record.missing} of {record.declared_length} bytes are missing"
        yield Skip("truncated-record", size, 0, detail, lost=record.missing)


def _record(fd: int, at: int, size: int, max_block: int) -> Record:
    """Return the record at `offset`. Raises MalformedRecord if none can be handed out."""
    position = at

    def take(count: int) -> bytes:
        nonlocal position
        part = os.pread(fd, count, position)
        position += len(part)
        return part

    if os.pread(fd, 5, at).upper() != b"WARC/":
        raise Unreadable("not-a-record", repr(os.pread(fd, 40, at)))
    headers, beyond = take_head(take)
    declared = declared_length(headers)
    start = position - len(beyond)
    missing = max(0, start + declared - size)
    end = start + declared - missing
    if missing or not ends_here(os.pread(fd, 64, end), lambda: agrees(headers, _block(fd, start, declared, max_block))):
        if record := _mended(fd, at, start, size, headers):
            return record
        if not missing:
            raise Unreadable("content-length-mismatch", f"declared {declared}")
        headers = _cut_headers(fd, at, start, size, headers)
    length = _after_line_ends(fd, end, size) - at
    block = _block(fd, start, end - start, max_block)
    is_oversized = end - start > max_block
    return Record(at, length, kind(headers), headers, block, declared, is_oversized, missing=missing)


def _mended(fd: int, at: int, start: int, size: int, headers: list[tuple[str, str]]) -> Record | None:
    """Return the record if only its CRs are missing (see `restore_without_returns`), else None."""
    end = next_record(fd, at + 1, size)
    found = without_returns(headers, _block(fd, start, end - start, MAX_BLOCK))
    if found is None:
        return None
    return Record(at, end - at, kind(headers), found.headers, found.block, len(found.block), has_other_length=True)


def _cut_headers(fd: int, at: int, start: int, size: int, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers of a record that the file's end cuts.

    Raises MalformedRecord if its stated length is wrong, or nothing usable is left.
    """
    is_last = next_record(fd, at + 1, size) == size
    if not is_last or not is_usable(headers, os.pread(fd, MAX_HEAD, start)):
        raise Unreadable("truncated-record", f"{size - start} bytes are left")
    return marked_cut(headers)


def _block(fd: int, start: int, size: int, max_block: int) -> bytes:
    """Return the bytes of a block, or none if it is oversized."""
    if size > max_block:
        return b""
    parts: list[bytes] = []
    end = start + size
    while start < end:
        parts.append(os.pread(fd, end - start, start))
        start += len(parts[-1])
    return b"".join(parts)


def _after_line_ends(fd: int, at: int, size: int) -> int:
    """Return the offset of the first byte from `offset` on that is not part of a line end."""
    step = 64  # usually there are two line ends; long runs of them are rare
    while at < size:
        window = os.pread(fd, step, at)
        rest = window.lstrip(b"\r\n")
        at += len(window) - len(rest)
        if rest:
            break
        step = _WINDOW
    return at


def next_record(fd: int, at: int, size: int) -> int:
    """Return the offset of the next version line from `offset` on, or the end of the file."""
    at -= 1  # a line begins at the offset only if a line end precedes it
    while at < size:
        window = os.pread(fd, _WINDOW, at)
        # The first byte only shows whether a line begins at the second.
        if found := _BEGIN.search(window, 0 if window[:1] == b"\n" else 1):
            return at + found.start()
        if at + len(window) >= size:
            break
        at += len(window) - VERSION_SIZE  # a version line may straddle two windows
    return size
