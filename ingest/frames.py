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
_ZSTD_STEP_BYTES = 1 << 18
"""Unpacked bytes read at a time. With less than a zstd block, the last block of a cut frame would stay in the decoder.
"""
_LZ4_STEP_BYTES = 1 << 16
_PACKED_STEP_BYTES = 1 << 14
_MAX_DICTIONARY = 64 << 20
"""Largest dictionary that is read, in bytes."""
_MAX_WINDOW = 128 << 20
"""Largest window that a zstd frame may ask for, in bytes of memory."""


class DamagedFrame(Exception):
    """Raised for bytes of a frame that cannot be unpacked."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset
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


class FileSlice(io.RawIOBase):
    """A range of a file as a stream."""

    def __init__(self, fd: int, start: int, end: int) -> None:
        self._fd, self._end_offset = fd, end
        self.position = start

    def readable(self) -> bool:
        """True, as `io.RawIOBase` requires."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes, none at the end of the range."""
        remaining = self._end_offset - self.position
        chunk = os.pread(
            self._fd, min(_PACKED_STEP_BYTES, remaining if size < 0 else min(remaining, size)), self.position
        )
        self.position += len(chunk)
        return chunk


class FrameReader(ABC):
    """Reader of a container made of frames."""

    magic: bytes
    """First bytes of a frame."""

    def locate(self, fd: int, offset: int, size: int) -> Frame:
        """Return the position of the frame at `offset`, as far as its blocks can be followed."""
        head = os.pread(fd, 24, offset)
        if SKIPPABLE.match(head):
            end = offset + 8 + int.from_bytes(head[4:8], "little")
            return Frame(offset, offset, end if len(head) >= 8 and end <= size else -1, has_content=False)
        if not head.startswith(self.magic):
            return Frame(offset, offset, -1, has_content=False, is_junk=not self.magic.startswith(head))
        return self._locate(fd, offset, size, head.ljust(24, b"\0"))

    @abstractmethod
    def _locate(self, fd: int, offset: int, size: int, head: bytes) -> Frame:
        """Return the position of the frame at `offset`, whose first 24 bytes are `head`."""
        ...

    @abstractmethod
    def iter_content(self, fd: int, start: int, end: int) -> Iterator[bytes]:
        """Yield the content of one frame, or of its first blocks, in parts. Raises DamagedFrame."""


class ZstdReader(FrameReader):
    """Reader of zstd frames, with the dictionary of the file if it has one."""

    magic = ZSTD_MAGIC

    def __init__(self, file: BinaryIO) -> None:
        self._dictionary = _read_zstd_dictionary(file)

    def _locate(self, fd: int, offset: int, size: int, head: bytes) -> Frame:
        # Sizes of the header's optional fields follow from the descriptor (RFC 8878, section 3.1.1.1).
        descriptor = head[4]
        is_single = descriptor >> 5 & 1
        position = offset + 6 - is_single + (0, 1, 2, 4)[descriptor & 3] + (is_single, 2, 4, 8)[descriptor >> 6]
        sound_end = offset
        while position + 3 <= size:
            block = int.from_bytes(os.pread(fd, 3, position), "little")
            block_type, length = block >> 1 & 3, block >> 3
            end = position + 3 + (1 if block_type == 1 else length)  # kind 1: one byte, repeated `length` times
            if end > size or block_type == 3:
                break
            sound_end = position = end
            if block & 1:
                end += 4 * (descriptor >> 2 & 1)
                return Frame(offset, sound_end, end if end <= size else -1)
        return Frame(offset, sound_end, -1)

    def iter_content(self, fd: int, start: int, end: int) -> Iterator[bytes]:
        """Yield the content of one frame in parts. Raises DamagedFrame."""
        file_slice = FileSlice(fd, start, end)
        try:
            decompressor = zstandard.ZstdDecompressor(dict_data=self._dictionary, max_window_size=_MAX_WINDOW)
            source = cast(BinaryIO, file_slice)
            reader = decompressor.stream_reader(source, read_size=_PACKED_STEP_BYTES, closefd=False)
            # `read` would lose what it had decoded before damage.
            while chunk := reader.read1(_ZSTD_STEP_BYTES):
                yield chunk
        except zstandard.ZstdError as error:
            raise DamagedFrame(str(error), max(start, file_slice.position - _PACKED_STEP_BYTES)) from error


class Lz4Reader(FrameReader):
    """Reader of lz4 frames (its frame format 1.6)."""

    magic = LZ4_MAGIC

    def _locate(self, fd: int, offset: int, size: int, head: bytes) -> Frame:
        # FLG byte: block checksums (bit 4), content size (3), content checksum (2), dictionary id (0).
        flags = head[4]
        position = offset + 7 + 8 * (flags >> 3 & 1) + 4 * (flags & 1)
        sound_end = offset
        while position + 4 <= size:
            length = int.from_bytes(os.pread(fd, 4, position), "little")
            if length == 0:
                end = position + 4 + 4 * (flags >> 2 & 1)
                return Frame(offset, sound_end, end if end <= size else -1)
            # The highest bit marks an uncompressed block.
            end = position + 4 + (length & 0x7FFFFFFF) + 4 * (flags >> 4 & 1)
            if end > size:
                break
            sound_end = position = end
        return Frame(offset, sound_end, -1)

    def iter_content(self, fd: int, start: int, end: int) -> Iterator[bytes]:
        """Yield the content of one frame in parts. Raises DamagedFrame."""
        yielded_bytes, step = 0, _LZ4_STEP_BYTES
        while step:
            file_slice = FileSlice(fd, start, end)
            try:
                with pa.CompressedInputStream(file_slice, "lz4") as stream:
                    for chunk in _read_after(stream, yielded_bytes, step):
                        yielded_bytes += len(chunk)
                        yield chunk
                return
            except OSError as error:
                if "Truncated" not in str(error):
                    raise DamagedFrame(str(error), max(start, file_slice.position - _LZ4_STEP_BYTES)) from error
            # A read that meets the end returns nothing of what it decoded, so the rest is read in smaller steps.
            step >>= 8 if step > 1 else 1


def _read_after(stream: pa.CompressedInputStream, skipped: int, step: int) -> Iterator[bytes]:
    """Yield the content of a stream behind its first `skipped` bytes, up to `step` bytes at a time."""
    while skipped and (chunk := stream.read(min(skipped, _LZ4_STEP_BYTES))):
        skipped -= len(chunk)
    while chunk := stream.read(step):
        yield chunk


def _read_zstd_dictionary(file: BinaryIO) -> zstandard.ZstdCompressionDict | None:
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
