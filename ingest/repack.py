"""A copy that can be read record by record, made of ARC, shared gzip members, zstd, lz4, WACZ and rows of texts.

WARC records keep every byte of head and block; each becomes one gzip member. The same source gives the same bytes.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from webemu.emulator.errors import SourceError
from webemu.ingest import dump, zips
from webemu.ingest.arc import Converted, convert
from webemu.ingest.container_format import detect
from webemu.ingest.readers import SHARED, read
from webemu.ingest.records import Record, Skip
from webemu.ingest.rows import KINDS as DUMPS
from webemu.ingest.unpack import unpack

__all__ = ["detect", "readable"]

_STEP = 1 << 20
_LEVEL = 3
MAX_UNPACKED = 4 << 30
"""Bytes that the files of a WACZ may unpack to."""
_MAX_RATIO = 200
"""Times the size of the WACZ that its files may unpack to, if that is more than `MAX_UNPACKED`."""


def readable(path: Path, kind: str, copy_to: Path) -> tuple[Path, list[Skip]]:
    """Return (file whose records can be read at their offsets, skips): the file itself, or a copy made at `copy_to`.

    `container_format` is what `detect_format` returns. Skips are ranges that the copy lacks; after unpacking, their
    offsets and bytes count unpacked ones. Raises SourceError for a file that is not an archive.
    """
    if kind in ("warc", "warc.gz"):
        return path, []
    if kind == "unknown":
        raise SourceError(
            f"{path} is not a WARC, ARC, WET, WAT, WACZ, JSONL or Parquet file",
            action="check the file, or leave it out",
        )
    part = copy_to.with_name(f".{copy_to.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as copy, tempfile.TemporaryDirectory(dir=copy_to.parent) as scratch:
            skips = _copy(path, kind, copy, Path(scratch))
            copy.flush()
            os.fsync(copy.fileno())
        part.replace(copy_to)
    finally:
        part.unlink(missing_ok=True)
    return copy_to, skips


def _copy(path: Path, kind: str, copy: BinaryIO, scratch: Path) -> list[Skip]:
    """Write all records of a file to `copy`. `scratch` is a folder for temporary files."""
    if kind == "wacz":
        return _copy_wacz(path, copy, scratch)
    if kind in ("arc", "arc.gz"):
        plain = path
        skips: list[Skip] = []
        if kind == "arc.gz":
            plain = scratch / "unpacked.arc"
            skips = unpack(path, kind, plain)
        return skips + _copy_arc(plain, copy)
    if kind in ("warc", "warc.gz"):
        return _copy_plainly(path, copy, scratch)
    if kind in DUMPS:
        return _copy_rows(path, kind, copy)
    plain = scratch / "unpacked.warc"
    skips = unpack(path, kind, plain)
    if plain.stat().st_size:
        skips += _copy_records(plain, copy)
    plain.unlink()
    return skips


def _copy_plainly(path: Path, copy: BinaryIO, scratch: Path) -> list[Skip]:
    """Copy a readable file, or one that was taken for readable until a member with several records came."""
    start = copy.tell()
    skips = _copy_records(path, copy)
    if any(skip.reason == SHARED for skip in skips):
        # Undo what was written, and copy the records of the unpacked file instead.
        copy.seek(start)
        copy.truncate()
        return _copy(path, "warc.gz-one-member", copy, scratch)
    return skips


def _copy_records(path: Path, copy: BinaryIO) -> list[Skip]:
    """Copy every record of a readable file. Records that are gzip members already are copied unchanged."""
    skips: list[Skip] = []
    with path.open("rb", buffering=0) as file:
        is_packed = os.pread(file.fileno(), 2, 0) == b"\x1f\x8b"
        for record in read(path):
            if isinstance(record, Skip):
                skips.append(record)
                continue
            span = _span(file.fileno(), record.offset, record.length)
            if record.missing or record.has_other_length:
                copy.writelines(_packed(_shortened(record, file.fileno())))
            else:
                copy.writelines(span if is_packed else _packed(span))
    return skips


def _shortened(record: Record, fd: int) -> Iterator[bytes]:
    """Yield a record whose head states a wrong length, with the length that it has."""
    there = record.declared_length - record.missing
    headers = [header for header in record.headers if header[0].lower() != "content-length"]
    lines = "".join(f"{name}: {value}\r\n" for name, value in [*headers, ("Content-Length", str(there))])
    yield f"WARC/1.0\r\n{lines}\r\n".encode("utf-8", "surrogateescape")
    if record.oversized:
        yield from _span(fd, record.offset + record.length - there, there)
    else:
        yield record.block
    yield b"\r\n\r\n"


def _copy_arc(path: Path, copy: BinaryIO) -> list[Skip]:
    """Copy an unpacked ARC file as WARC records."""
    skips: list[Skip] = []
    with path.open("rb", buffering=0) as file:
        for record in convert(file.fileno(), os.fstat(file.fileno()).st_size):
            if isinstance(record, Skip):
                skips.append(record)
            else:
                copy.writelines(_packed(_converted(file.fileno(), record)))
    return skips


def _copy_rows(path: Path, kind: str, copy: BinaryIO) -> list[Skip]:
    """Copy every row of a dump. Skips are summed up by reason, since there may be as many as rows."""
    lost: dict[str, Skip] = {}
    for record in dump.records(path, kind):
        if isinstance(record, Skip):
            first = lost.get(record.reason, replace(record, bytes=0, records=0))
            lost[record.reason] = replace(first, bytes=first.bytes + record.bytes, records=first.records + 1)
        else:
            copy.writelines(_packed(iter((record,))))
    return list(lost.values())


def _converted(fd: int, record: Converted) -> Iterator[bytes]:
    """Yield an ARC record as a WARC record."""
    yield record.head
    yield from _span(fd, record.start, record.length)
    yield b"\r\n\r\n"


def _copy_wacz(path: Path, copy: BinaryIO, scratch: Path) -> list[Skip]:
    """Copy all WARC files of a WACZ (1.1.1, section 5.2.1), in the order of their names."""
    contents = zips.read_zip(path)
    entries = [entry for entry in contents.entries if zips.is_archive(entry.name)]
    size = path.stat().st_size
    end = max((entry.end for entry in contents.entries), default=0)
    skips = [] if contents.is_whole else [Skip("damaged-zip", end, size - end, "its directory is damaged")]
    skips += [Skip("damaged-zip", 0, 0, f"{name} is missing") for name in contents.lost if zips.is_archive(name)]
    if not entries and not skips:
        raise SourceError(f"{path} holds no archive/*.warc.gz", action="check that it is a WACZ and not empty")
    inner, left = scratch / "inner", max(MAX_UNPACKED, _MAX_RATIO * size)
    for entry in entries:
        if lost := _extract(path, entry, inner, left):
            skips.append(lost)
        left -= inner.stat().st_size
        if inner.stat().st_size:
            skips += _copy(inner, _inner_kind(inner, entry.name), copy, scratch)
    return skips


def _inner_kind(inner: Path, name: str) -> str:
    """Return the container format of a file in a WACZ; a damaged one is taken for a WARC."""
    kind = detect(inner)
    return kind if kind not in ("unknown", "wacz") else "warc.gz" if name.endswith(".gz") else "warc"


def _extract(path: Path, entry: zips.Entry, target: Path, limit: int) -> Skip | None:
    """Write one file of a zip; what was read before damage stays. Return the skip for what is lost, or None."""
    size = entry.end - entry.offset
    with target.open("wb") as file:
        try:
            for part in zips.unpacked(path, entry):
                file.write(part)
                if file.tell() > limit:
                    return Skip("oversized-archive", entry.offset, size, entry.name)
        except zips.Damaged as error:
            reason = "truncated-zip" if entry.is_cut else "damaged-zip"
            return Skip(reason, entry.offset, 0 if file.tell() else size, f"{entry.name}: {error}")
    return None


def _span(fd: int, start: int, length: int) -> Iterator[bytes]:
    """Yield the bytes of a range in parts. Raises OSError if the file ends inside it."""
    end = start + length
    while start < end:
        part = os.pread(fd, min(_STEP, end - start), start)
        if not part:
            raise OSError(f"the file ends at byte {start}, {end - start} bytes before the end of the record")
        yield part
        start += len(part)


def _packed(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield one gzip member without name or time, so that the bytes depend on the content alone."""
    deflate = zlib.compressobj(_LEVEL, wbits=31)
    for part in parts:
        yield deflate.compress(part)
    yield deflate.flush()
