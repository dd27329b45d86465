"""Records of a gzip WARC file, one member each (RFC 1952), inflated as a stream of bounded memory."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator

from ingest.readers.heads import Unreadable, agrees, begins_record, declared_length, ends_here, kind, take_head
from ingest.records import Record, Skip

_MAGIC = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
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
    """The record of the member at `at`, or the skip up to the next."""
    if os.pread(fd, 3, at) != b"\x1f\x8b\x08":
        end = next_member(fd, at + 1, size)
        yield Skip("junk-between-records", at, end - at, repr(os.pread(fd, 40, at)))
        return
    member = Member(fd, at)
    try:
        record, following = _record(member, at, max_block)
        record.length = member.end - at
    except zlib.error as error:
        end = next_member(fd, at + 1, size)
        yield Skip("damaged-gzip", at, end - at, str(error))
    except Unreadable as error:
        yield _skip(member, error, fd, at, size)
    else:
        yield record
        if following:
            reason = "records-share-member" if begins_record(following) else "junk-between-records"
            yield Skip(reason, member.end, 0, repr(following[:40]))


def _record(member: Member, at: int, max_block: int) -> tuple[Record, bytes]:
    """The record, and the beginning of what else is in its member."""
    headers, block = take_head(member.read)
    declared = declared_length(headers)
    is_oversized = declared > max_block
    if is_oversized:
        block, after = b"", _pass_over(member, block, declared)
    else:
        block += member.read(declared - len(block))
        if len(block) < declared:
            raise Unreadable("content-length-mismatch", f"{len(block)} of {declared} bytes")
        block, after = block[:declared], block[declared:]
    after += member.read(max(0, 64 - len(after)))
    if not ends_here(after, lambda: None if is_oversized else agrees(headers, block)):
        raise Unreadable("content-length-mismatch", f"more than {declared} bytes")
    following = after.lstrip(b"\r\n")
    while more := member.read(_STEP):
        following = following or more.lstrip(b"\r\n")[:64]
    if not member.is_whole:
        raise Unreadable("truncated-record")
    return Record(at, 0, kind(headers), headers, block, declared, is_oversized), following


def _pass_over(member: Member, begun: bytes, declared: int) -> bytes:
    """Read past an oversized block; what was read beyond it."""
    left = declared - len(begun)
    while left > 0:
        part = member.read(min(left, _STEP))
        if not part:
            raise Unreadable("content-length-mismatch", f"{declared - left} of {declared} bytes")
        left -= len(part)
    return b""


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
    if end < 0:
        end = next_member(fd, at + 1, size)
        if member.is_cut:
            reason = "truncated-record" if end == size else "damaged-gzip"
    return Skip(reason, at, end - at, error.detail)


def next_member(fd: int, at: int, size: int) -> int:
    """Where the next gzip member that begins with a record begins, or the end of the file."""
    while at < size:
        window = os.pread(fd, _WINDOW, at)
        for found in _MAGIC.finditer(window):
            if _holds_record(fd, at + found.start()):
                return at + found.start()
        if at + len(window) >= size:
            break
        at += len(window) - 3
    return size


def _holds_record(fd: int, at: int) -> bool:
    try:
        return begins_record(Member(fd, at).read(4096).lstrip(b"\r\n"))
    except (zlib.error, Unreadable):
        return False
