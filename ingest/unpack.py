"""Packings of whole files (gzip, zstd, lz4), and their unpacking in bounded memory. Damage is passed over and reported.

A `Packing` knows bytes only. What the unpacked content is, `webemu.ingest.formats` tells.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from webemu.ingest.frames import (
    LZ4_MAGIC,
    SKIPPABLE,
    ZSTD_MAGIC,
    DamagedFrame,
    Frame,
    FrameReader,
    Lz4Reader,
    ZstdReader,
)
from webemu.ingest.readers.gzip_members import Member, find_next_member
from webemu.ingest.readers.heads import MalformedRecord
from webemu.ingest.records import Skip

MAGIC_BYTES = 4
"""Bytes at the beginning of a file that show its packing."""
OVERSIZED = "oversized-archive"
"""Drop reason of a file that unpacks to more than is allowed."""
_STEP_BYTES = 1 << 16
"""Bytes that are unpacked at a time."""
_PLAIN_STEP_BYTES = 1 << 18
"""Bytes that are read at a time of a file that is not packed."""
_WINDOW_BYTES = 1 << 20
"""Bytes that are searched for a frame at a time."""
_MAX_BLOCK_BYTES = 5 << 20
"""Packed bytes that suffice to get some content from a sound frame: lz4 has blocks of up to 4 MB."""
_MAX_BYTES = 4 << 30
"""Bytes that a file may unpack to."""
_MAX_RATIO = 200
"""Times its size that a file may unpack to, if that is more than `_MAX_BYTES`."""


@dataclass(frozen=True, slots=True)
class Packing:
    """One way in which whole files are packed."""

    name: str
    """Name in drop reasons, as in `damaged-gzip`; empty for `PLAIN`."""
    suffix: str
    """Last suffix of the names of such files, such as `.gz`; empty for `PLAIN`."""
    magic: re.Pattern[bytes]
    """Matches the first `MAGIC_BYTES` of such files."""
    iter_content: Callable[[Path], Iterator[bytes | Skip]]
    """Yields the unpacked content in parts, and skips for ranges that cannot be unpacked."""

    @property
    def drop_reasons(self) -> tuple[str, ...]:
        """Drop reasons of damage and of a missing end."""
        return (f"damaged-{self.name}", f"truncated-{self.name}") if self.name else ()


def unpack(path: Path, packing: Packing, target: Path) -> list[Skip]:
    """Write the content of the file to `target`. Return ranges of the packed file that cannot be unpacked as skips."""
    limit = max(_MAX_BYTES, _MAX_RATIO * path.stat().st_size)
    skips: list[Skip] = []
    separator = b""
    with target.open("wb") as file:
        for chunk in packing.iter_content(path):
            if isinstance(chunk, Skip):
                skips.append(chunk)
                separator = b"\n\n"  # ends the record that was interrupted, so that the next one is found
                continue
            # Write the separator only before more content: a record cut by the file's end must end where its bytes end.
            file.write(separator + chunk)
            separator = b""
            if file.tell() > limit:
                skips.append(Skip(OVERSIZED, 0, 0))
                break
    return skips


def _read_plain(path: Path) -> Iterator[bytes | Skip]:
    """Yield the bytes of a file that is not packed."""
    with path.open("rb") as file:
        while chunk := file.read(_PLAIN_STEP_BYTES):
            yield chunk


def _unpack_gzip(path: Path) -> Iterator[bytes | Skip]:
    """Yield the content of gzip members, and skips for damaged ones."""
    with path.open("rb", buffering=0) as file:
        fd, size, offset = file.fileno(), os.fstat(file.fileno()).st_size, 0
        while offset < size:
            member, lost_from = Member(fd, offset), offset
            try:
                while chunk := member.read(_STEP_BYTES):
                    yield chunk
                    lost_from = size
            except (zlib.error, MalformedRecord):
                end = _find_sound_member(fd, offset + 1, size)
                yield Skip("damaged-gzip", offset, end - offset)
                offset = end
                continue
            if member.is_whole:
                offset = member.end
                continue
            # Damage can make a member swallow its successors, so search inside it.
            offset = _find_sound_member(fd, offset + 1, size)
            lost_from = lost_from if offset == size else min(lost_from, offset)
            yield Skip(
                f"{'truncated' if offset == size else 'damaged'}-gzip",
                lost_from,
                offset - lost_from,
            )


def _find_sound_member(fd: int, offset: int, size: int) -> int:
    """Return the offset of the next member that is whole and is followed by another, or the end of the file.

    It may continue a record, or hold no WARC at all. A gzip file that was crawled as a payload is followed by none.
    """
    while (offset := find_next_member(fd, offset, size, bool)) < size:
        member = Member(fd, offset)
        try:
            member.drain()
            if member.is_whole and (member.end == size or os.pread(fd, 2, member.end) == b"\x1f\x8b"):
                return offset
        except (zlib.error, MalformedRecord):
            pass
        offset += 1
    return size


def _unpack_frames(path: Path, *, name: str, open_frames: Callable[[BinaryIO], FrameReader]) -> Iterator[bytes | Skip]:
    """Yield the content of zstd or lz4 frames, each read by itself: damage costs its own frame only.

    `name` is that of the packing in drop reasons.
    """
    with path.open("rb", buffering=0) as file:
        fd, size, offset = file.fileno(), os.fstat(file.fileno()).st_size, 0
        frames = open_frames(file)
        while offset < size:
            frame = frames.locate(fd, offset, size)
            lost_from, error = frame.sound_end, ""
            try:
                if frame.has_content:
                    yield from frames.iter_content(fd, offset, max(frame.end, frame.sound_end))
            except DamagedFrame as damage:
                lost_from, error = damage.offset, str(damage)
            end = frame.end
            if end < 0 or error:
                end = _find_after_damage(frames, fd, frame, size)
                reason = "damaged" if error or end < size or frame.is_junk else "truncated"
                yield Skip(f"{reason}-{name}", lost_from, end - lost_from)
            offset = end


def _find_after_damage(frames: FrameReader, fd: int, frame: Frame, size: int) -> int:
    """Return the offset to continue at after a damaged frame.

    That is the frame's end if its blocks lead to another frame, else the start of the next one that unpacks.
    """
    if frame.end == size or (frame.end >= 0 and not frames.locate(fd, frame.end, size).is_junk):
        return frame.end
    offset = frame.start + 1
    while offset < size:
        window = os.pread(fd, _WINDOW_BYTES, offset)
        position = window.find(frames.magic)
        while position >= 0:
            if _gives_content(frames, fd, offset + position, size):
                return offset + position
            position = window.find(frames.magic, position + 1)
        offset += max(1, len(window) - len(frames.magic) + 1)
    return size


def _gives_content(frames: FrameReader, fd: int, offset: int, size: int) -> bool:
    """True if a frame at the offset gives some content."""
    try:
        return any(frames.iter_content(fd, offset, min(offset + _MAX_BLOCK_BYTES, size)))
    except DamagedFrame:
        return False


PLAIN = Packing(name="", suffix="", magic=re.compile(b""), iter_content=_read_plain)
"""Files that are not packed as a whole."""
GZIP = Packing(name="gzip", suffix=".gz", magic=re.compile(rb"\x1f\x8b"), iter_content=_unpack_gzip)
ZSTD = Packing(
    name="zstd",
    suffix=".zst",
    magic=re.compile(re.escape(ZSTD_MAGIC) + b"|" + SKIPPABLE.pattern),
    iter_content=partial(_unpack_frames, name="zstd", open_frames=ZstdReader),
)
LZ4 = Packing(
    name="lz4",
    suffix=".lz4",
    magic=re.compile(re.escape(LZ4_MAGIC)),
    iter_content=partial(_unpack_frames, name="lz4", open_frames=lambda file: Lz4Reader()),
)
PACKINGS = (GZIP, ZSTD, LZ4, PLAIN)
"""All packings, in the order in which a file is compared with them; every file is at least plain."""
