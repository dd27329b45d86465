"""Records of a gzip WARC file, one member each (RFC 1952), inflated as a stream of bounded memory."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterator

from webemu.ingest.readers.heads import (
    VERSION_SIZE,
    MalformedRecord,
    begins_record,
    digest_matches,
    is_record_boundary,
    is_usable,
    mark_truncated,
    read_declared_length,
    read_record_type,
    restore_without_returns,
    take_head,
)
from webemu.ingest.records import Record, Skip

_MAGIC = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_ANOTHER_RECORD = re.compile(rb"\n\r*\nWARC/\d+\.\d+[ \t]*\r*\n", re.IGNORECASE)
"""An empty line and the version line of another record."""
SHARED_MEMBER = "records-share-member"
"""Drop reason of a gzip member with several records, or with a part of one."""
_WINDOW_BYTES = 1 << 20
"""Bytes that are searched for a member at a time."""
_STEP_BYTES = 1 << 16
"""Bytes that are inflated at a time."""
_BOMB_BYTES = 256 << 20
"""Unpacked bytes beyond which a member may be a bomb."""
_BOMB_RATIO = 500
"""Ratio of unpacked to packed bytes beyond which a member larger than `_BOMB_BYTES` is not read to its end."""


class Member:
    """Content of one gzip member as a stream."""

    def __init__(self, fd: int, offset: int) -> None:
        self._fd = fd
        self._start = self._offset = offset
        self._inflate = zlib.decompressobj(31)
        self._packed = b""
        self._step = 1 << 13  # most callers look at the head first, which is short
        self._unpacked_bytes = 0
        self.is_cut = False
        """True if the file ended before the member did."""

    @property
    def is_whole(self) -> bool:
        """True if the member was read to its end."""
        return self._inflate.eof

    @property
    def end(self) -> int:
        """Offset of the next member, once this one is read to its end."""
        return self._offset - len(self._inflate.unused_data)

    def read(self, count: int) -> bytes:
        """Return `count` bytes; fewer only at the end or before damage.

        Raises zlib.error at damage and MalformedRecord if the member inflates without end.
        """
        chunks: list[bytes] = []
        while count > 0 and not self._inflate.eof:
            try:
                chunk = self._inflate.decompress(self._packed or self._read_packed(), count)
            except zlib.error:
                if chunks:
                    break
                raise
            # The output limit was reached before all input was used; the rest comes first next time.
            self._packed = self._inflate.unconsumed_tail
            if not chunk and self.is_cut:
                break
            chunks.append(chunk)
            count -= len(chunk)
            self._unpacked_bytes += len(chunk)
        if self._unpacked_bytes > max(_BOMB_BYTES, _BOMB_RATIO * (self._offset - self._start)):
            raise MalformedRecord("oversized-record")
        return b"".join(chunks)

    def _read_packed(self) -> bytes:
        """Return more packed bytes of the file; none at its end."""
        packed = os.pread(self._fd, self._step, self._offset)
        self._offset += len(packed)
        self._step = _STEP_BYTES  # whoever reads on reads the whole member
        self.is_cut = not packed
        return packed

    def drain(self) -> None:
        """Read to the end of the member. Raises as `read` does."""
        while self.read(_STEP_BYTES):
            pass


def read_member(fd: int, offset: int, size: int, max_block: int) -> Iterator[Record | Skip]:
    """Yield the record of the member at `offset`, or a skip up to the next member.

    Both are yielded for a record that the file's end cuts.
    """
    # ID1, ID2 and CM of a gzip member (RFC 1952, section 2.3).
    if os.pread(fd, 3, offset) != b"\x1f\x8b\x08":
        end = find_next_member(fd, offset + 1, size)
        yield Skip("junk-between-records", offset, end - offset)
        return
    member = Member(fd, offset)
    try:
        record, following = _read_record(member, offset, max_block)
    except zlib.error:
        end = find_next_member(fd, offset + 1, size)
        yield Skip("damaged-gzip", offset, end - offset)
    except MalformedRecord as error:
        yield _build_skip(member, error.reason, fd, offset, size)
    else:
        corrected = (
            restore_without_returns(record.headers, record.block) if record.missing_bytes and member.is_whole else None
        )
        if corrected:
            block = corrected.block
            yield Record(
                offset, member.end - offset, record.type, corrected.headers, block, len(block), has_other_length=True
            )
        elif record.missing_bytes or not member.is_whole:
            yield from _yield_cut(member, record, fd, size)
        else:
            yield from _yield_whole(member, record, following)


def _yield_whole(member: Member, record: Record, following: bytes) -> Iterator[Record | Skip]:
    """Yield a complete record, and a skip without bytes if its member holds more than it."""
    record.length = member.end - record.offset
    yield record
    if following:
        reason = SHARED_MEMBER if begins_record(following) else "junk-between-records"
        yield Skip(reason, member.end, 0)


def _yield_cut(member: Member, record: Record, fd: int, size: int) -> Iterator[Record | Skip]:
    """Yield what exists of a record longer than its member, if the file ends here, then a skip without bytes.

    If the file goes on, or nothing usable is left, only a skip is yielded.
    """
    reason = "content-length-mismatch" if member.is_whole else "truncated-record"
    skip = _build_skip(member, reason, fd, record.offset, size)
    is_last = skip.offset + skip.bytes == size and skip.reason != SHARED_MEMBER
    if is_last and (not record.missing_bytes or is_usable(record.headers, record.block)):
        record.length = skip.bytes
        record.headers = mark_truncated(record.headers) if record.missing_bytes else record.headers
        yield record
        skip = Skip("truncated-record", size, 0, lost_bytes=record.missing_bytes)
    yield skip


def _read_record(member: Member, offset: int, max_block: int) -> tuple[Record, bytes]:
    """Return the record, and the beginning of whatever else is in its member."""
    headers, block_start = take_head(member.read)
    declared = read_declared_length(headers)
    block, existing_bytes, following_bytes = _read_block(member, block_start, declared, max_block)
    # 64 bytes show both line ends and whether a version line follows.
    following_bytes += member.read(max(0, 64 - len(following_bytes)))
    is_oversized = existing_bytes > max_block
    if existing_bytes == declared and not is_record_boundary(
        following_bytes, lambda: None if is_oversized else digest_matches(headers, block)
    ):
        raise MalformedRecord("content-length-mismatch")
    following = following_bytes.lstrip(b"\r\n")
    while chunk := member.read(_STEP_BYTES):
        following = following or chunk.lstrip(b"\r\n")[:64]
    missing = declared - existing_bytes
    return Record(
        offset, 0, read_record_type(headers), headers, block, declared, is_oversized, missing_bytes=missing
    ), following


def _read_block(member: Member, block_start: bytes, declared: int, max_block: int) -> tuple[bytes, int, bytes]:
    """Return (block, empty if oversized; number of its bytes that exist; bytes read beyond it)."""
    block_start += member.read(min(declared, max_block) - len(block_start))
    block, following_bytes = block_start[:declared], block_start[declared:]
    existing_bytes = len(block)
    while existing_bytes < declared and (chunk := member.read(min(declared - existing_bytes, _STEP_BYTES))):
        existing_bytes += len(chunk)
        block = b""  # larger than `max_block`: only counted from here on
    return block if existing_bytes <= max_block else b"", existing_bytes, following_bytes


def _build_skip(member: Member, reason: str, fd: int, offset: int, size: int) -> Skip:
    """Return the skip for a member that gives no record: up to its own end if it has one."""
    end = -1
    if reason != "oversized-record":
        try:
            member.drain()
            end = member.end if member.is_whole else -1
        except zlib.error:
            reason = "damaged-gzip"
        except MalformedRecord:
            reason = "oversized-record"
    if end >= 0:
        return Skip(SHARED_MEMBER if _is_shared(fd, offset, end, size) else reason, offset, end - offset)
    end = find_next_member(fd, offset + 1, size)
    if member.is_cut:
        reason = "truncated-record" if end == size else "damaged-gzip"
    return Skip(reason, offset, end - offset)


def _is_shared(fd: int, offset: int, end: int, size: int) -> bool:
    """True if a member without a readable record holds several, or a part of one that the next member continues."""
    member = Member(fd, offset)
    window = member.read(_STEP_BYTES).lstrip(b"\r\n")
    if not begins_record(window):
        return False
    while len(window) > 1:
        if _ANOTHER_RECORD.search(window):
            return True
        chunk = member.read(_STEP_BYTES)
        # Keep enough of the end for a version line that straddles two windows.
        window = window[-VERSION_SIZE:] + chunk if chunk else b""
    is_followed = end < size and os.pread(fd, 3, end) == b"\x1f\x8b\x08"
    return is_followed and find_next_member(fd, end, end + 1) != end


def find_next_member(fd: int, offset: int, size: int, is_start: Callable[[bytes], bool] = begins_record) -> int:
    """Return the offset of the next gzip member whose content `is_start` accepts, or the end of the file.

    By default only members that begin with a record are accepted; `bool` accepts any that is not empty.
    """
    while offset < size:
        window = os.pread(fd, _WINDOW_BYTES, offset)
        for match in _MAGIC.finditer(window):
            if _member_begins(fd, offset + match.start(), is_start):
                return offset + match.start()
        if offset + len(window) >= size:
            break
        offset += len(window) - 3  # a magic number of four bytes may straddle two windows
    return size


def _member_begins(fd: int, offset: int, is_start: Callable[[bytes], bool]) -> bool:
    """True if a member that inflates begins here and `is_start` accepts its content."""
    try:
        return is_start(Member(fd, offset).read(4096).lstrip(b"\r\n"))
    except (zlib.error, MalformedRecord):
        return False
