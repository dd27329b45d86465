"""Unpacking of containers without offsets to a plain file, in bounded memory. Damage is passed over and reported."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from webemu.ingest.frames import Damaged, Frame, Frames, frames_of
from webemu.ingest.readers.gzip_members import Member, next_member
from webemu.ingest.readers.heads import Unreadable
from webemu.ingest.records import Skip

_STEP = 1 << 16
"""Bytes that are unpacked at a time."""
_WINDOW = 1 << 20
"""Bytes that are searched for a frame at a time."""
_LARGEST_BLOCK = 5 << 20
"""Packed bytes that suffice to get some content from a sound frame: lz4 has blocks of up to 4 MB."""
_MAX_BYTES = 4 << 30
"""Bytes that a file may unpack to."""
_MAX_RATIO = 200
"""Times its size that a file may unpack to, if that is more than `_MAX_BYTES`."""


def unpack(path: Path, kind: str, target: Path) -> list[Skip]:
    """Write the content of the file to `target`. Return ranges of the packed file that cannot be unpacked as skips."""
    limit = max(_MAX_BYTES, _MAX_RATIO * path.stat().st_size)
    skips: list[Skip] = []
    separator = b""
    with target.open("wb") as file:
        for part in parts(path, kind):
            if isinstance(part, Skip):
                skips.append(part)
                separator = b"\n\n"  # ends the record that was interrupted, so that the next one is found
                continue
            # Write the separator only before more content: a record cut by the file's end must end where its bytes end.
            file.write(separator + part)
            separator = b""
            if file.tell() > limit:
                skips.append(Skip("oversized-archive", 0, 0, f"more than {limit} bytes"))
                break
    return skips


def parts(path: Path, kind: str) -> Iterator[bytes | Skip]:
    """Yield the unpacked content in parts, and skips for ranges that cannot be unpacked."""
    return _framed(path, kind) if kind.endswith((".zst", ".lz4")) else _gzip(path)


def _gzip(path: Path) -> Iterator[bytes | Skip]:
    """Yield the content of gzip members, and skips for damaged ones."""
    with path.open("rb", buffering=0) as file:
        fd, size, at = file.fileno(), os.fstat(file.fileno()).st_size, 0
        while at < size:
            member, lost = Member(fd, at), at
            try:
                while part := member.read(_STEP):
                    yield part
                    lost = size
            except (zlib.error, Unreadable) as error:
                end = _next_sound(fd, at + 1, size)
                yield Skip("damaged-gzip", at, end - at, str(error))
                at = end
                continue
            if member.is_whole:
                at = member.end
                continue
            # Damage can make a member swallow its successors, so search inside it.
            at = _next_sound(fd, at + 1, size)
            lost = lost if at == size else min(lost, at)
            yield Skip(f"{'truncated' if at == size else 'damaged'}-gzip", lost, at - lost, "a gzip member has no end")


def _next_sound(fd: int, at: int, size: int) -> int:
    """Return the offset of the next member that is whole and is followed by another, or the end of the file.

    It may continue a record, or hold no WARC at all. A gzip file that was crawled as a payload is followed by none.
    """
    while (at := next_member(fd, at, size, bool)) < size:
        member = Member(fd, at)
        try:
            member.drain()
            if member.is_whole and (member.end == size or os.pread(fd, 2, member.end) == b"\x1f\x8b"):
                return at
        except (zlib.error, Unreadable):
            pass
        at += 1
    return size


def _framed(path: Path, kind: str) -> Iterator[bytes | Skip]:
    """Yield the content of zstd or lz4 frames, each read by itself: damage costs its own frame only."""
    name = "zstd" if kind.endswith("zst") else "lz4"
    with path.open("rb", buffering=0) as file:
        fd, size, at = file.fileno(), os.fstat(file.fileno()).st_size, 0
        frames = frames_of(kind, file)
        while at < size:
            frame = frames.frame(fd, at, size)
            lost, error = frame.sound_end, ""
            try:
                if frame.has_content:
                    yield from frames.unpacked(fd, at, max(frame.end, frame.sound_end))
            except Damaged as damage:
                lost, error = damage.at, str(damage)
            end = frame.end
            if end < 0 or error:
                end = _after_damage(frames, fd, frame, size)
                reason = "damaged" if error or end < size or frame.is_junk else "truncated"
                yield Skip(f"{reason}-{name}", lost, end - lost, error or "the frame has no end")
            at = end


def _after_damage(frames: Frames, fd: int, frame: Frame, size: int) -> int:
    """Return the offset to continue at after a damaged frame.

    That is the frame's end if its blocks lead to another frame, else the start of the next one that unpacks.
    """
    if frame.end == size or (frame.end >= 0 and not frames.frame(fd, frame.end, size).is_junk):
        return frame.end
    at = frame.start + 1
    while at < size:
        window = os.pread(fd, _WINDOW, at)
        place = window.find(frames.magic)
        while place >= 0:
            if _unpacks(frames, fd, at + place, size):
                return at + place
            place = window.find(frames.magic, place + 1)
        at += max(1, len(window) - len(frames.magic) + 1)
    return size


def _unpacks(frames: Frames, fd: int, at: int, size: int) -> bool:
    """True if a frame at the offset gives some content."""
    try:
        return any(frames.unpacked(fd, at, min(at + _LARGEST_BLOCK, size)))
    except Damaged:
        return False
