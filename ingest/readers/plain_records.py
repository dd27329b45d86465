"""Records of an uncompressed WARC file, one range of bytes each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from webemu.ingest.readers.heads import (
    VERSION_SIZE,
    MalformedRecord,
    digest_matches,
    is_record_boundary,
    is_usable,
    mark_truncated,
    read_declared_length,
    read_record_type,
    restore_without_returns,
    take_head,
)
from webemu.ingest.records import MAX_BLOCK, MAX_HEAD, Record, Skip

_VERSION_LINE = re.compile(rb"^WARC/\d+\.\d+[ \t]*\r*\n", re.MULTILINE | re.IGNORECASE)
_WINDOW_BYTES = 1 << 20
"""Bytes that are searched at a time."""


def read_plain_record(fd: int, offset: int, size: int, max_block: int) -> Iterator[Record | Skip]:
    """Yield the record at `offset`, or a skip up to the next record.

    Both are yielded for a record that the file's end cuts; that skip has no bytes.
    """
    try:
        record = _read_record(fd, offset, size, max_block)
    except MalformedRecord as error:
        end = find_next_record(fd, offset + 1, size)
        reason = error.reason
        if reason in ("not-a-record", "empty-member"):
            reason = "junk-between-records"
        elif end < size and reason == "truncated-record":
            # Another record follows, so the file is not cut: the stated length is wrong.
            reason = "content-length-mismatch"
        yield Skip(reason, offset, end - offset)
        return
    yield record
    if record.missing_bytes:
        yield Skip("truncated-record", size, 0, lost_bytes=record.missing_bytes)


def _read_record(fd: int, offset: int, size: int, max_block: int) -> Record:
    """Return the record at `offset`. Raises MalformedRecord if none can be handed out."""
    position = offset

    def take(count: int) -> bytes:
        nonlocal position
        chunk = os.pread(fd, count, position)
        position += len(chunk)
        return chunk

    if os.pread(fd, 5, offset).upper() != b"WARC/":
        raise MalformedRecord("not-a-record")
    headers, extra_bytes = take_head(take)
    declared = read_declared_length(headers)
    start = position - len(extra_bytes)
    missing = max(0, start + declared - size)
    end = start + declared - missing
    if missing or not is_record_boundary(
        os.pread(fd, 64, end), lambda: digest_matches(headers, _read_block(fd, start, declared, max_block))
    ):
        if record := _correct_record(fd, offset, start, size, headers):
            return record
        if not missing:
            raise MalformedRecord("content-length-mismatch")
        headers = _headers_of_cut_record(fd, offset, start, size, headers)
    length = skip_line_ends(fd, end, size) - offset
    block = _read_block(fd, start, end - start, max_block)
    is_oversized = end - start > max_block
    return Record(
        offset, length, read_record_type(headers), headers, block, declared, is_oversized, missing_bytes=missing
    )


def _correct_record(fd: int, offset: int, start: int, size: int, headers: list[tuple[str, str]]) -> Record | None:
    """Return the record if only its CRs are missing (see `restore_without_returns`), else None."""
    end = find_next_record(fd, offset + 1, size)
    corrected = restore_without_returns(headers, _read_block(fd, start, end - start, MAX_BLOCK))
    if corrected is None:
        return None
    return Record(
        offset,
        end - offset,
        read_record_type(headers),
        corrected.headers,
        corrected.block,
        len(corrected.block),
        has_other_length=True,
    )


def _headers_of_cut_record(
    fd: int, offset: int, start: int, size: int, headers: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the headers of a record that the file's end cuts.

    Raises MalformedRecord if its stated length is wrong, or nothing usable is left.
    """
    is_last = find_next_record(fd, offset + 1, size) == size
    if not is_last or not is_usable(headers, os.pread(fd, MAX_HEAD, start)):
        raise MalformedRecord("truncated-record")
    return mark_truncated(headers)


def _read_block(fd: int, start: int, size: int, max_block: int) -> bytes:
    """Return the bytes of a block, or none if it is oversized."""
    if size > max_block:
        return b""
    chunks: list[bytes] = []
    end = start + size
    while start < end:
        chunks.append(os.pread(fd, end - start, start))
        start += len(chunks[-1])
    return b"".join(chunks)


def skip_line_ends(fd: int, offset: int, size: int) -> int:
    """Return the offset of the first byte from `offset` on that is not part of a line end."""
    step = 64  # usually there are two line ends; long runs of them are rare
    while offset < size:
        window = os.pread(fd, step, offset)
        remaining_bytes = window.lstrip(b"\r\n")
        offset += len(window) - len(remaining_bytes)
        if remaining_bytes:
            break
        step = _WINDOW_BYTES
    return offset


def find_next_record(fd: int, offset: int, size: int) -> int:
    """Return the offset of the next version line from `offset` on, or the end of the file."""
    offset -= 1  # a line begins at the offset only if a line end precedes it
    while offset < size:
        window = os.pread(fd, _WINDOW_BYTES, offset)
        # The first byte only shows whether a line begins at the second.
        if match := _VERSION_LINE.search(window, 0 if window[:1] == b"\n" else 1):
            return offset + match.start()
        if offset + len(window) >= size:
            break
        offset += len(window) - VERSION_SIZE  # a version line may straddle two windows
    return size
