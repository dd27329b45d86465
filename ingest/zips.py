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

_HEAD = struct.Struct("<4sHHHHHIIIHH")
"""Local file header (APPNOTE 4.3.7): signature, version, flags, method, time, date, CRC, sizes, lengths."""
_LOCAL = b"PK\x03\x04"
_SIZES = b"PK\x07\x08"
"""Signature of the sizes that may follow a file (APPNOTE 4.3.9)."""
_DIRECTORY = re.compile(rb"PK(?:\x01\x02|\x05\x06|\x06\x06)")
"""Signatures of the parts of the directory."""
_SIGNATURE = re.compile(rb"PK(?:\x03\x04|\x07\x08|\x01\x02|\x05\x06|\x06\x06)")
"""Signatures of all parts of a zip."""
_ENCRYPTED, _SIZES_FOLLOW = 0x1, 0x8
_UNKNOWN = 0xFFFFFFFF
"""Size in a local header that says that the real one is elsewhere (zip64)."""
_WINDOW = 1 << 20
_STEP = 1 << 16
_MAX_ENTRIES = 100_000
"""Files that are read of a zip without a directory."""


class Damaged(Exception):
    """Raised for a file of the zip that cannot be read, or not to its end."""


@dataclass(frozen=True, slots=True)
class Entry:
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


class Contents(NamedTuple):
    """List of the files of a zip."""

    entries: list[Entry]
    is_whole: bool
    """True if the directory of the zip could be read and led to all files."""
    lost: tuple[str, ...]
    """Names in the directory for which there is no file."""


def is_archive(name: str) -> bool:
    """True if a file of a WACZ is one of its WARC files (WACZ 1.1.1, section 5.2.1)."""
    return name.startswith("archive/") and bool(re.search(r"\.(warc|wet|wat)(\.|$)", name.lower()))


def read_zip(path: Path) -> Contents:
    """Return the files of a zip in the order of their names; none if it is not a zip.

    [entry.name for entry in read_zip(Path("crawl.wacz")).entries]
    """
    listed = _listed(path)
    with path.open("rb", buffering=0) as file:
        fd, size = file.fileno(), os.fstat(file.fileno()).st_size
        found = {info.header_offset: _entry(fd, size, info.header_offset, info) for info in listed}
        sound = {offset: entry for offset, entry in found.items() if entry}
        is_whole = bool(listed) and len(sound) == len(found)
        if not is_whole:
            sound |= {entry.offset: entry for entry in _scanned(fd, size)}
    named = {entry.name for entry in sound.values()}
    lost = tuple(info.filename for info in listed if info.filename not in named)
    return Contents(sorted(sound.values(), key=lambda entry: (entry.name, entry.offset)), is_whole, lost)


def _listed(path: Path) -> list[zipfile.ZipInfo]:
    """Return the directory of a zip; empty if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError):
        return []


def _entry(fd: int, size: int, offset: int, info: zipfile.ZipInfo | None) -> Entry | None:
    """Return the file whose local header is at `offset`, or None if none is there.

    Sizes, checksum and name are those of the directory if `info` is its entry.
    """
    head = os.pread(fd, _HEAD.size, offset) if offset >= 0 else b""
    if len(head) < _HEAD.size or not head.startswith(_LOCAL):
        return None
    _, _, flags, method, _, _, crc, packed, _, name_length, extra_length = _HEAD.unpack(head)
    name = os.pread(fd, name_length, offset + _HEAD.size).decode("utf-8", "replace")
    start = offset + _HEAD.size + name_length + extra_length
    if info is not None:
        packed, crc, method, name = info.compress_size, info.CRC, info.compress_type, info.filename
    elif flags & _SIZES_FOLLOW or packed == _UNKNOWN:
        packed, crc = -1, -1  # written behind the file, or in an extra field: find the end by searching
    end = _end(fd, start, start + packed if packed >= 0 else -1, size, is_listed=info is not None)
    is_encrypted = bool(flags & _ENCRYPTED)
    return Entry(
        name, offset, start, min(end, size), method, is_encrypted, crc if crc >= 0 else None, is_cut=end >= size
    )


def _end(fd: int, start: int, stated: int, size: int, *, is_listed: bool) -> int:
    """Return the end of a file: as stated if the next part of the zip begins there, else the start of the next part."""
    if stated >= 0 and (is_listed or _is_border(fd, stated)):
        return stated
    at = min(start, size)
    while at < size:
        window = os.pread(fd, _WINDOW, at)
        for found in _SIGNATURE.finditer(window):
            if _is_border(fd, at + found.start()):
                return at + found.start()
        at += max(1, len(window) - 3)
    return size


def _is_border(fd: int, at: int) -> bool:
    """True if a part of the zip begins here; the sizes of the file before may come first (APPNOTE 4.3.9)."""
    if os.pread(fd, 4, at) == _SIZES:
        return any(_is_part(fd, at + length) for length in (16, 24))
    return _is_part(fd, at)


def _is_part(fd: int, at: int) -> bool:
    """True if a local header with a printable name, or a part of the directory, begins here."""
    head = os.pread(fd, _HEAD.size, at)
    if head.startswith(_LOCAL) and len(head) == _HEAD.size:
        name = os.pread(fd, _HEAD.unpack(head)[9], at + _HEAD.size)
        return bool(name) and name.isascii() and name.decode().isprintable()
    return bool(_DIRECTORY.match(head))


def _scanned(fd: int, size: int) -> Iterator[Entry]:
    """Yield the files found by their local headers, in the order of the zip."""
    at, count = 0, 0
    while at < size and count < _MAX_ENTRIES:
        window = os.pread(fd, _WINDOW, at)
        place = window.find(_LOCAL)
        if place < 0:
            at += max(1, len(window) - 3)
            continue
        at += place
        entry = _entry(fd, size, at, None) if _is_part(fd, at) else None
        if entry:
            count += 1
            yield entry
        at = max(at + 4, entry.end if entry else 0)


def unpacked(path: Path, entry: Entry) -> Iterator[bytes]:
    """Yield the content of a file in parts, as far as it goes. Raises DamagedEntry after the last of them."""
    if entry.is_encrypted:
        raise Damaged("encrypted")
    if entry.method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Damaged(f"compression method {entry.method} is not supported (only stored and deflate)")
    checksum = 0
    for part in _parts(path, entry):
        checksum = zlib.crc32(part, checksum)
        yield part
    if entry.is_cut:
        raise Damaged("the zip ends inside this file")
    if entry.crc is not None and checksum != entry.crc:
        raise Damaged("the checksum does not match")


def _parts(path: Path, entry: Entry) -> Iterator[bytes]:
    """Yield the unpacked content of a file without checking it. Raises DamagedEntry."""
    # A negative window size means raw deflate, without zlib's header.
    inflate = zlib.decompressobj(-15) if entry.method == zipfile.ZIP_DEFLATED else None
    with path.open("rb") as file:
        file.seek(entry.start)
        left = entry.end - entry.start
        while left > 0 and (packed := file.read(min(_STEP, left))):
            left -= len(packed)
            if inflate is None:
                yield packed
                continue
            while packed and not inflate.eof:
                try:
                    part = inflate.decompress(packed, _STEP)
                except zlib.error as error:
                    raise Damaged(str(error)) from error
                packed = inflate.unconsumed_tail
                yield part
    if inflate is not None and not inflate.eof:
        raise Damaged("its compressed content has no end")
