"""Records of a gzip WARC file, one member each (RFC 1952), inflated as a stream of bounded memory."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterator

from webemu.ingest.readers.heads import (
    VERSION_SIZE,
    Unreadable,
    agrees,
    begins_record,
    declared_length,
    ends_here,
    is_usable,
    kind,
    marked_cut,
    take_head,
    without_returns,
)
from webemu.ingest.records import Record, Skip

_MAGIC = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_ANOTHER = re.compile(rb"\n\r*\nWARC/\d+\.\d+[ \t]*\r*\n", re.IGNORECASE)
"""An empty line and the version line of another record."""
SHARED = "records-share-member"
"""Drop reason of a gzip member with several records, or with a part of one."""
_WINDOW = 1 << 20
"""Bytes that are searched for a member at a time."""
_STEP = 1 << 16
"""Bytes that are inflated at a time."""
_BOMB_BYTES = 256 << 20
"""Unpacked bytes beyond which a member may be a bomb."""
_BOMB_RATIO = 500
"""Ratio of unpacked to packed bytes beyond which a member larger than `_BOMB_BYTES` is not read to its end."""


class Member:
    """Content of one gzip member as a stream."""

    def __init__(self, fd: int, at: int) -> None:
        self._fd = fd
        self._start = self._at = at
        self._inflate = zlib.decompressobj(31)
        self._packed = b""
        self._step = 1 << 13  # most callers look at the head first, which is short
        self._given = 0
        self.is_cut = False
        """True if the file ended before the member did."""

    @property
    def is_whole(self) -> bool:
        """True if the member was read to its end."""
        return self._inflate.eof

    @property
    def end(self) -> int:
        """Offset of the next member, once this one is read to its end."""
        return self._at - len(self._inflate.unused_data)

    def read(self, count: int) -> bytes:
        """Return `count` bytes; fewer only at the end or before damage.

        Raises zlib.error at damage and MalformedRecord if the member inflates without end.
        """
        parts: list[bytes] = []
        while count > 0 and not self._inflate.eof:
            try:
                part = self._inflate.decompress(self._packed or self._more(), count)
            except zlib.error:
                if parts:
                    break
                raise
            # The output limit was reached before all input was used; the rest comes first next time.
            self._packed = self._inflate.unconsumed_tail
            if not part and self.is_cut:
                break
            parts.append(part)
            count -= len(part)
            self._given += len(part)
        if self._given > max(_BOMB_BYTES, _BOMB_RATIO * (self._at - self._start)):
            raise Unreadable("oversized-record", f"more than {self._given} bytes")
        return b"".join(parts)

    def _more(self) -> bytes:
        """Return more packed bytes of the file; none at its end."""
        packed = os.pread(self._fd, self._step, self._at)
        self._at += len(packed)
        self._step = _STEP  # whoever reads on reads the whole member
        self.is_cut = not packed
        return packed

    def drain(self) -> None:
        """Read to the end of the member. Raises as `read` does."""
        while self.read(_STEP):
            pass


def read_member(fd: int, at: int, size: int, max_block: int) -> Iterator[Record | Skip]:
    """Yield the record of the member at `offset`, or a skip up to the next member.

    Both are yielded for a record that the file's end cuts.
    """
    # ID1, ID2 and CM of a gzip member (RFC 1952, section 2.3).
    if os.pread(fd, 3, at) != b"\x1f\x8b\x08":
        end = next_member(fd, at + 1, size)
        yield Skip("junk-between-records", at, end - at, repr(os.pread(fd, 40, at)))
        return
    member = Member(fd, at)
    try:
        record, following = _record(member, at, max_block)
    except zlib.error as error:
        end = next_member(fd, at + 1, size)
        yield Skip("damaged-gzip", at, end - at, str(error))
    except Unreadable as error:
        yield _skip(member, error, fd, at, size)
    else:
        mended = without_returns(record.headers, record.block) if record.missing and member.is_whole else None
        if mended:
            block = mended.block
            yield Record(at, member.end - at, record.type, mended.headers, block, len(block), has_other_length=True)
        elif record.missing or not member.is_whole:
            yield from _cut(member, record, fd, size)
        else:
            yield from _whole(member, record, following)


def _whole(member: Member, record: Record, following: bytes) -> Iterator[Record | Skip]:
    """Yield a complete record, and a skip without bytes if its member holds more than it."""
    record.length = member.end - record.offset
    yield record
    if following:
        reason = SHARED if begins_record(following) else "junk-between-records"
        yield Skip(reason, member.end, 0, repr(following[:40]))


def _cut(member: Member, record: Record, fd: int, size: int) -> Iterator[Record | Skip]:
    """Yield what exists of a record longer than its member, if the file ends here, then a skip without bytes.

    If the file goes on, or nothing usable is left, only a skip is yielded.
    """
    there = record.declared_length - record.missing
    error = Unreadable(
        "content-length-mismatch" if member.is_whole else "truncated-record",
        f"{there} of {record.declared_length} bytes",
    )
    skip = _skip(member, error, fd, record.offset, size)
    is_last = skip.offset + skip.bytes == size and skip.reason != SHARED
    if is_last and (not record.missing or is_usable(record.headers, record.block)):
        record.length = skip.bytes
        record.headers = marked_cut(record.headers) if record.missing else record.headers
        yield record
        skip = Skip("truncated-record", size, 0, error.detail, lost=record.missing)
    yield skip


def _record(member: Member, at: int, max_block: int) -> tuple[Record, bytes]:
    """Return the record, and the beginning of whatever else is in its member."""
    headers, begun = take_head(member.read)
    declared = declared_length(headers)
    block, there, after = _block(member, begun, declared, max_block)
    # 64 bytes show both line ends and whether a version line follows.
    after += member.read(max(0, 64 - len(after)))
    is_oversized = there > max_block
    if there == declared and not ends_here(after, lambda: None if is_oversized else agrees(headers, block)):
        raise Unreadable("content-length-mismatch", f"more than {declared} bytes")
    following = after.lstrip(b"\r\n")
    while more := member.read(_STEP):
        following = following or more.lstrip(b"\r\n")[:64]
    missing = declared - there
    return Record(at, 0, kind(headers), headers, block, declared, is_oversized, missing=missing), following


def _block(member: Member, begun: bytes, declared: int, max_block: int) -> tuple[bytes, int, bytes]:
    """Return (block, empty if oversized; number of its bytes that exist; bytes read beyond it)."""
    begun += member.read(min(declared, max_block) - len(begun))
    block, after = begun[:declared], begun[declared:]
    there = len(block)
    while there < declared and (part := member.read(min(declared - there, _STEP))):
        there += len(part)
        block = b""  # larger than `max_block`: only counted from here on
    return block if there <= max_block else b"", there, after


def _skip(member: Member, error: Unreadable, fd: int, at: int, size: int) -> Skip:
    """Return the skip for a member that gives no record: up to its own end if it has one."""
    reason, end = error.reason, -1
    if reason != "oversized-record":
        try:
            member.drain()
            end = member.end if member.is_whole else -1
        except zlib.error:
            reason = "damaged-gzip"
        except Unreadable:
            reason = "oversized-record"
    if end >= 0:
        return Skip(SHARED if _is_shared(fd, at, end, size) else reason, at, end - at, error.detail)
    end = next_member(fd, at + 1, size)
    if member.is_cut:
        reason = "truncated-record" if end == size else "damaged-gzip"
    return Skip(reason, at, end - at, error.detail)


def _is_shared(fd: int, at: int, end: int, size: int) -> bool:
    """True if a member without a readable record holds several, or a part of one that the next member continues."""
    member = Member(fd, at)
    window = member.read(_STEP).lstrip(b"\r\n")
    if not begins_record(window):
        return False
    while len(window) > 1:
        if _ANOTHER.search(window):
            return True
        more = member.read(_STEP)
        # Keep enough of the end for a version line that straddles two windows.
        window = window[-VERSION_SIZE:] + more if more else b""
    is_followed = end < size and os.pread(fd, 3, end) == b"\x1f\x8b\x08"
    return is_followed and next_member(fd, end, end + 1) != end


def next_member(fd: int, at: int, size: int, is_start: Callable[[bytes], bool] = begins_record) -> int:
    """Return the offset of the next gzip member whose content `is_start` accepts, or the end of the file.

    By default only members that begin with a record are accepted; `bool` accepts any that is not empty.
    """
    while at < size:
        window = os.pread(fd, _WINDOW, at)
        for found in _MAGIC.finditer(window):
            if _holds(fd, at + found.start(), is_start):
                return at + found.start()
        if at + len(window) >= size:
            break
        at += len(window) - 3  # a magic number of four bytes may straddle two windows
    return size


def _holds(fd: int, at: int, is_start: Callable[[bytes], bool]) -> bool:
    """True if a member that inflates begins here and `is_start` accepts its content."""
    try:
        return is_start(Member(fd, at).read(4096).lstrip(b"\r\n"))
    except (zlib.error, Unreadable):
        return False
