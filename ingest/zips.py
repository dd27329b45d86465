"""Files inside a zip file in any state. Its directory is believed if it leads to files.

If the directory is missing, cut or wrong, the local headers before each file show what there is. The standard
library's `zipfile` reads nothing without a sound directory, and stops at the first file it does not accept.
"""

from __future__ import annotations

import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_LOCAL_HEADER = struct.Struct("<4sHHHHHIIIHH")
"""Local file header (APPNOTE 4.3.7): signature, version, flags, method, time, date, CRC, sizes, lengths."""
_LOCAL_SIGNATURE = b"PK\x03\x04"
_SIZES_SIGNATURE = b"PK\x07\x08"
"""Signature of the sizes that may follow a file (APPNOTE 4.3.9)."""
_DIRECTORY_SIGNATURE = re.compile(rb"PK(?:\x01\x02|\x05\x06|\x06\x06)")
"""Signatures of the parts of the directory."""
_ANY_SIGNATURE = re.compile(rb"PK(?:\x03\x04|\x07\x08|\x01\x02|\x05\x06|\x06\x06)")
"""Signatures of all parts of a zip."""
_ENCRYPTED_FLAG, _SIZES_FOLLOW_FLAG = 0x1, 0x8
_UNKNOWN_SIZE = 0xFFFFFFFF
"""Size in a local header that says that the real one is elsewhere (zip64)."""
_WINDOW_BYTES = 1 << 20
_STEP_BYTES = 1 << 16
_MAX_ENTRIES = 100_000
"""Files that are read of a zip without a directory."""


class DamagedEntry(Exception):
    """Raised for a file of the zip that cannot be read, or not to its end."""


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """One file of a zip."""

    name: str
    offset: int
    """Position of its local header."""
    start: int
    """Position of its first packed byte."""
    end: int
    """Position behind its last packed byte, as far as is known."""
    method: int
    """Compression method: `zipfile.ZIP_STORED`, `zipfile.ZIP_DEFLATED` or another."""
    is_encrypted: bool
    crc: int | None
    """CRC-32 of the unpacked file; None if unknown."""
    is_cut: bool = False
    """True if the zip ends before this file does."""


class ZipContents(NamedTuple):
    """List of the files of a zip."""

    entries: list[ZipEntry]
    is_whole: bool
    """True if the directory of the zip could be read and led to all files."""
    missing_names: tuple[str, ...]
    """Names in the directory for which there is no file."""


def is_archive(name: str) -> bool:
    """True if a file of a WACZ is one of its WARC files (WACZ 1.1.1, section 5.2.1)."""
    return name.startswith("archive/") and bool(re.search(r"\.(warc|wet|wat)(\.|$)", name.lower()))


def read_zip(path: Path) -> ZipContents:
    """Return the files of a zip in the order of their names; none if it is not a zip.

    [entry.name for entry in read_zip(Path("crawl.wacz")).entries]
    """
    directory = _read_directory(path)
    with path.open("rb", buffering=0) as file:
        fd, size = file.fileno(), os.fstat(file.fileno()).st_size
        entries_by_offset = {info.header_offset: _read_entry(fd, size, info.header_offset, info) for info in directory}
        sound_entries = {offset: entry for offset, entry in entries_by_offset.items() if entry}
        is_whole = bool(directory) and len(sound_entries) == len(entries_by_offset)
        if not is_whole:
            sound_entries |= {entry.offset: entry for entry in _scan_entries(fd, size)}
    names = {entry.name for entry in sound_entries.values()}
    missing_names = tuple(info.filename for info in directory if info.filename not in names)
    return ZipContents(
        sorted(sound_entries.values(), key=lambda entry: (entry.name, entry.offset)), is_whole, missing_names
    )


def _read_directory(path: Path) -> list[zipfile.ZipInfo]:
    """Return the directory of a zip; empty if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError):
        return []


def _read_entry(fd: int, size: int, offset: int, info: zipfile.ZipInfo | None) -> ZipEntry | None:
    """Return the file whose local header is at `offset`, or None if none is there.

    Sizes, checksum and name are those of the directory if `info` is its entry.
    """
    head = os.pread(fd, _LOCAL_HEADER.size, offset) if offset >= 0 else b""
    if len(head) < _LOCAL_HEADER.size or not head.startswith(_LOCAL_SIGNATURE):
        return None
    _, _, flags, method, _, _, crc, packed_size, _, name_length, extra_length = _LOCAL_HEADER.unpack(head)
    name = os.pread(fd, name_length, offset + _LOCAL_HEADER.size).decode("utf-8", "replace")
    start = offset + _LOCAL_HEADER.size + name_length + extra_length
    if info is not None:
        packed_size, crc, method, name = info.compress_size, info.CRC, info.compress_type, info.filename
    elif flags & _SIZES_FOLLOW_FLAG or packed_size == _UNKNOWN_SIZE:
        packed_size, crc = -1, -1  # written behind the file, or in an extra field: find the end by searching
    end = _find_end(fd, start, start + packed_size if packed_size >= 0 else -1, size, is_listed=info is not None)
    is_encrypted = bool(flags & _ENCRYPTED_FLAG)
    return ZipEntry(
        name, offset, start, min(end, size), method, is_encrypted, crc if crc >= 0 else None, is_cut=end >= size
    )


def _find_end(fd: int, start: int, stated_end: int, size: int, *, is_listed: bool) -> int:
    """Return the end of a file: as stated if the next part of the zip begins there, else the start of the next part."""
    if stated_end >= 0 and (is_listed or _is_border(fd, stated_end)):
        return stated_end
    offset = min(start, size)
    while offset < size:
        window = os.pread(fd, _WINDOW_BYTES, offset)
        for match in _ANY_SIGNATURE.finditer(window):
            if _is_border(fd, offset + match.start()):
                return offset + match.start()
        offset += max(1, len(window) - 3)
    return size


def _is_border(fd: int, offset: int) -> bool:
    """True if a part of the zip begins here; the sizes of the file before may come first (APPNOTE 4.3.9)."""
    if os.pread(fd, 4, offset) == _SIZES_SIGNATURE:
        return any(_is_part(fd, offset + length) for length in (16, 24))
    return _is_part(fd, offset)


def _is_part(fd: int, offset: int) -> bool:
    """True if a local header with a printable name, or a part of the directory, begins here."""
    head = os.pread(fd, _LOCAL_HEADER.size, offset)
    if head.startswith(_LOCAL_SIGNATURE) and len(head) == _LOCAL_HEADER.size:
        name = os.pread(fd, _LOCAL_HEADER.unpack(head)[9], offset + _LOCAL_HEADER.size)
        return bool(name) and name.isascii() and name.decode().isprintable()
    return bool(_DIRECTORY_SIGNATURE.match(head))


def _scan_entries(fd: int, size: int) -> Iterator[ZipEntry]:
    """Yield the files found by their local headers, in the order of the zip."""
    offset, count = 0, 0
    while offset < size and count < _MAX_ENTRIES:
        window = os.pread(fd, _WINDOW_BYTES, offset)
        position = window.find(_LOCAL_SIGNATURE)
        if position < 0:
            offset += max(1, len(window) - 3)
            continue
        offset += position
        entry = _read_entry(fd, size, offset, None) if _is_part(fd, offset) else None
        if entry:
            count += 1
            yield entry
        offset = max(offset + 4, entry.end if entry else 0)


def iter_content(path: Path, entry: ZipEntry) -> Iterator[bytes]:
    """Yield the content of a file in parts, as far as it goes. Raises DamagedEntry after the last of them."""
    if entry.is_encrypted:
        raise DamagedEntry("encrypted")
    if entry.method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DamagedEntry(f"compression method {entry.method} is not supported (only stored and deflate)")
    checksum = 0
    for chunk in _iter_unchecked(path, entry):
        checksum = zlib.crc32(chunk, checksum)
        yield chunk
    if entry.is_cut:
        raise DamagedEntry("the zip ends inside this file")
    if entry.crc is not None and checksum != entry.crc:
        raise DamagedEntry("the checksum does not match")


def _iter_unchecked(path: Path, entry: ZipEntry) -> Iterator[bytes]:
    """Yield the unpacked content of a file without checking it. Raises DamagedEntry."""
    # A negative window size means raw deflate, without zlib's header.
    decompressor = zlib.decompressobj(-15) if entry.method == zipfile.ZIP_DEFLATED else None
    with path.open("rb") as file:
        file.seek(entry.start)
        remaining = entry.end - entry.start
        while remaining > 0 and (packed_bytes := file.read(min(_STEP_BYTES, remaining))):
            remaining -= len(packed_bytes)
            if decompressor is None:
                yield packed_bytes
                continue
            while packed_bytes and not decompressor.eof:
                try:
                    chunk = decompressor.decompress(packed_bytes, _STEP_BYTES)
                except zlib.error as error:
                    raise DamagedEntry(str(error)) from error
                packed_bytes = decompressor.unconsumed_tail
                yield chunk
    if decompressor is not None and not decompressor.eof:
        raise DamagedEntry("its compressed content has no end")
