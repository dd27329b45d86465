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
SHARED = "records-share-member"
_WINDOW = 1 << 20
_STEP = 1 << 16
_BOMB_BYTES = 256 << 20
_BOMB_RATIO = 500
"""A member that has inflated to more than both is not read to its end."""


class Member:
    """One gzip member as a stream of what it holds."""

    def __init__(self, fd: int, at: int) -> None:
        self._fd = fd
        self._start = self._at = at
        self._inflate = zlib.decompressobj(31)
        self._packed = b""
        self._step = 1 << 13
        self._given = 0
        self.is_cut = False
        """Whether the file ended before the member did."""

    @property
    def is_whole(self) -> bool:
        return self._inflate.eof

    @property
    def end(self) -> int:
        """Where the next member begins, once this one is read to its end."""
        return self._at - len(self._inflate.unused_data)

    def read(self, count: int) -> bytes:
        """`count` bytes, fewer only at the end or before damage. Raises zlib.error at damage, Unreadable on a bomb."""
        parts: list[bytes] = []
        while count > 0 and not self._inflate.eof:
            try:
                part = self._inflate.decompress(self._packed or self._more(), count)
            except zlib.error:
                if parts:
                    break
                raise
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
        packed = os.pread(self._fd, self._step, self._at)
        self._at += len(packed)
        self._step = _STEP
        self.is_cut = not packed
        return packed

    def drain(self) -> None:
        while self.read(_STEP):
            pass


def read_member(fd: int, at: int, size: int, max_block: int) -> Iterator[Record | Skip]:
    """The record of the member at `at`, or the skip up to the next. Of one that the file cuts, both: see `_cut`."""
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
    record.length = member.end - record.offset
    yield record
    if following:
        reason = SHARED if begins_record(following) else "junk-between-records"
        yield Skip(reason, member.end, 0, repr(following[:40]))


def _cut(member: Member, record: Record, fd: int, size: int) -> Iterator[Record | Skip]:
    """A record longer than its member: if the file ends here, what there is of it, then a skip without bytes."""
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
    """The record, and the beginning of what else is in its member."""
    headers, begun = take_head(member.read)
    declared = declared_length(headers)
    block, there, after = _block(member, begun, declared, max_block)
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
    """The block unless it is oversized, the size of what there is of it, and what was read beyond it."""
    begun += member.read(min(declared, max_block) - len(begun))
    block, after = begun[:declared], begun[declared:]
    there = len(block)
    while there < declared and (part := member.read(min(declared - there, _STEP))):
        there += len(part)
        block = b""
    return block if there <= max_block else b"", there, after


def _skip(member: Member, error: Unreadable, fd: int, at: int, size: int) -> Skip:
    """The skip of a member that gives no record: to its own end if it has one."""
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
    """True if a whole member without a readable record holds another one, or a part of one that the next continues."""
    member = Member(fd, at)
    window = member.read(_STEP).lstrip(b"\r\n")
    if not begins_record(window):
        return False
    while len(window) > 1:
        if _ANOTHER.search(window):
            return True
        more = member.read(_STEP)
        window = window[-VERSION_SIZE:] + more if more else b""
    is_followed = end < size and os.pread(fd, 3, end) == b"\x1f\x8b\x08"
    return is_followed and next_member(fd, end, end + 1) != end


def next_member(fd: int, at: int, size: int, is_start: Callable[[bytes], bool] = begins_record) -> int:
    """Return the offset of the next gzip member whose content `is_start` accepts, by default a record, or the end."""
    while at < size:
        window = os.pread(fd, _WINDOW, at)
        for found in _MAGIC.finditer(window):
            if _holds(fd, at + found.start(), is_start):
                return at + found.start()
        if at + len(window) >= size:
            break
        at += len(window) - 3
    return size


def _holds(fd: int, at: int, is_start: Callable[[bytes], bool]) -> bool:
    try:
        return is_start(Member(fd, at).read(4096).lstrip(b"\r\n"))
    except (zlib.error, Unreadable):
        return False
