"""Frames of zstd (RFC 8878) and lz4 files: their ends, found without unpacking, and their content.

The decoders do not tell how many bytes of a file they used, so a cut or damaged frame would be lost silently or take
its neighbours with it. What to do about damage is decided in `webemu.ingest.unpack`.
"""

from __future__ import annotations

import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, cast

import pyarrow as pa
import zstandard

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LZ4_MAGIC = b"\x04\x22\x4d\x18"
SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
"""Magic numbers of skippable frames, which hold no content (RFC 8878, section 3.1.2)."""
_ZSTD_STEP = 1 << 18
"""Unpacked bytes read at a time. With less than a zstd block, the last block of a cut frame would stay in the decoder.
"""
_LZ4_STEP = 1 << 16
_PACKED_STEP = 1 << 14
_MAX_DICTIONARY = 64 << 20
"""Largest dictionary that is read, in bytes."""
_MAX_WINDOW = 128 << 20
"""Largest window that a zstd frame may ask for, in bytes of memory."""


class Damaged(Exception):
    """Raised for bytes of a frame that cannot be unpacked."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at
        """Earliest offset in the file at which the damage may begin."""


class Frame(NamedTuple):
    """Position of one frame of a file."""

    start: int
    sound_end: int
    """End of its last block that is completely in the file; `start` if there is none."""
    end: int
    """Start of what follows it; -1 if the file ends before, or if its blocks make no sense."""
    has_content: bool = True
    """False for a skippable frame (RFC 8878, section 3.1.2)."""
    is_junk: bool = False
    """True if no frame begins at `start`."""


class Slice(io.RawIOBase):
    """A range of a file as a stream."""

    def __init__(self, fd: int, start: int, end: int) -> None:
        self._fd, self._end = fd, end
        self.position = start

    def readable(self) -> bool:
        """True, as `io.RawIOBase` requires."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes, none at the end of the range."""
        left = self._end - self.position
        part = os.pread(self._fd, min(_PACKED_STEP, left if size < 0 else min(left, size)), self.position)
        self.position += len(part)
        return part


class Frames(ABC):
    """Reader of a container made of frames."""

    magic: bytes
    """First bytes of a frame."""

    def frame(self, fd: int, at: int, size: int) -> Frame:
        """Return the position of the frame at `offset`, as far as its blocks can be followed."""
        head = os.pread(fd, 24, at)
        if SKIPPABLE.match(head):
            end = at + 8 + int.from_bytes(head[4:8], "little")
            return Frame(at, at, end if len(head) >= 8 and end <= size else -1, has_content=False)
        if not head.startswith(self.magic):
            return Frame(at, at, -1, has_content=False, is_junk=not self.magic.startswith(head))
        return self._frame(fd, at, size, head.ljust(24, b"\0"))

    @abstractmethod
    def _frame(self, fd: int, at: int, size: int, head: bytes) -> Frame:
        """Return the position of the frame at `offset`, whose first 24 bytes are `head`."""
        ...

    @abstractmethod
    def unpacked(self, fd: int, start: int, end: int) -> Iterator[bytes]:
        """Yield the content of one frame, or of its first blocks, in parts. Raises DamagedFrame."""


class Zstd(Frames):
    """Reader of zstd frames, with the dictionary of the file if it has one."""

    magic = ZSTD_MAGIC

    def __init__(self, file: BinaryIO) -> None:
        self._dictionary = _zstd_dictionary(file)

    def _frame(self, fd: int, at: int, size: int, head: bytes) -> Frame:
        # Sizes of the header's optional fields follow from the descriptor (RFC 8878, section 3.1.1.1).
        descriptor = head[4]
        is_single = descriptor >> 5 & 1
        position = at + 6 - is_single + (0, 1, 2, 4)[descriptor & 3] + (is_single, 2, 4, 8)[descriptor >> 6]
        sound = at
        while position + 3 <= size:
            block = int.from_bytes(os.pread(fd, 3, position), "little")
            kind, length = block >> 1 & 3, block >> 3
            end = position + 3 + (1 if kind == 1 else length)  # kind 1: one byte, repeated `length` times
            if end > size or kind == 3:
                break
            sound = position = end
            if block & 1:
                end += 4 * (descriptor >> 2 & 1)
                return Frame(at, sound, end if end <= size else -1)
        return Frame(at, sound, -1)

    def unpacked(self, fd: int, start: int, end: int) -> Iterator[bytes]:
        """Yield the content of one frame in parts. Raises DamagedFrame."""
        packed = Slice(fd, start, end)
        try:
            inflate = zstandard.ZstdDecompressor(dict_data=self._dictionary, max_window_size=_MAX_WINDOW)
            source = cast(BinaryIO, packed)
            reader = inflate.stream_reader(source, read_size=_PACKED_STEP, closefd=False)
            # `read` would lose what it had decoded before damage.
            while part := reader.read1(_ZSTD_STEP):
                yield part
        except zstandard.ZstdError as error:
            raise Damaged(str(error), max(start, packed.position - _PACKED_STEP)) from error


class Lz4(Frames):
    """Reader of lz4 frames (its frame format 1.6)."""

    magic = LZ4_MAGIC

    def _frame(self, fd: int, at: int, size: int, head: bytes) -> Frame:
        # FLG byte: block checksums (bit 4), content size (3), content checksum (2), dictionary id (0).
        flags = head[4]
        position = at + 7 + 8 * (flags >> 3 & 1) + 4 * (flags & 1)
        sound = at
        while position + 4 <= size:
            length = int.from_bytes(os.pread(fd, 4, position), "little")
            if length == 0:
                end = position + 4 + 4 * (flags >> 2 & 1)
                return Frame(at, sound, end if end <= size else -1)
            # The highest bit marks an uncompressed block.
            end = position + 4 + (length & 0x7FFFFFFF) + 4 * (flags >> 4 & 1)
            if end > size:
                break
            sound = position = end
        return Frame(at, sound, -1)

    def unpacked(self, fd: int, start: int, end: int) -> Iterator[bytes]:
        """Yield the content of one frame in parts. Raises DamagedFrame."""
        done, step = 0, _LZ4_STEP
        while step:
            packed = Slice(fd, start, end)
            try:
                with pa.CompressedInputStream(packed, "lz4") as stream:
                    for part in _after(stream, done, step):
                        done += len(part)
                        yield part
                return
            except OSError as error:
                if "Truncated" not in str(error):
                    raise Damaged(str(error), max(start, packed.position - _LZ4_STEP)) from error
            # A read that meets the end returns nothing of what it decoded, so the rest is read in smaller steps.
            step >>= 8 if step > 1 else 1


def _after(stream: pa.CompressedInputStream, skipped: int, step: int) -> Iterator[bytes]:
    """Yield the content of a stream behind its first `skipped` bytes, up to `step` bytes at a time."""
    while skipped and (part := stream.read(min(skipped, _LZ4_STEP))):
        skipped -= len(part)
    while part := stream.read(step):
        yield part


def frames_of(kind: str, file: BinaryIO) -> Frames:
    """Return the reader for the frames of a file of this container format, such as `warc.zst`."""
    return Zstd(file) if kind.endswith("zst") else Lz4()


def _zstd_dictionary(file: BinaryIO) -> zstandard.ZstdCompressionDict | None:
    """Return the dictionary in a first frame with magic 0x184D2A5D, or None (WARC zstd convention).

    It may be compressed itself.
    """
    head = os.pread(file.fileno(), 8, 0)
    if head[:4] != b"\x5d\x2a\x4d\x18":
        return None
    content = os.pread(file.fileno(), min(int.from_bytes(head[4:], "little"), _MAX_DICTIONARY), 8)
    if content.startswith(ZSTD_MAGIC):
        try:
            content = zstandard.ZstdDecompressor().stream_reader(content).read(_MAX_DICTIONARY)
        except zstandard.ZstdError:
            return None
    return zstandard.ZstdCompressionDict(content)
