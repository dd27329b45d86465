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
from webemu.ingest.arc import ArcRecord, convert_records
from webemu.ingest.container_format import detect_format
from webemu.ingest.readers import SHARED_MEMBER, read_records
from webemu.ingest.records import Record, Skip
from webemu.ingest.rows import DUMP_FORMATS as DUMPS
from webemu.ingest.unpack import unpack

__all__ = ["detect_format", "make_seekable"]

_STEP = 1 << 20
_LEVEL = 3
MAX_UNPACKED = 4 << 30
"""Bytes that the files of a WACZ may unpack to."""
_MAX_RATIO = 200
"""Times the size of the WACZ that its files may unpack to, if that is more than `MAX_UNPACKED`."""


def make_seekable(path: Path, container_format: str, copy_to: Path) -> tuple[Path, list[Skip]]:
    """Return (file whose records can be read at their offsets, skips): the file itself, or a copy made at `copy_to`.

    `container_format` is what `detect_format` returns. Skips are ranges that the copy lacks; after unpacking, their
    offsets and bytes count unpacked ones. Raises SourceError for a file that is not an archive.
    """
    if container_format in ("warc", "warc.gz"):
        return path, []
    if container_format == "unknown":
        raise SourceError(
            f"{path} is not a WARC, ARC, WET, WAT, WACZ, JSONL or Parquet file",
            action="check the file, or leave it out",
        )
    partial_copy = copy_to.with_name(f".{copy_to.name}.{os.getpid()}.part")
    try:
        with partial_copy.open("wb") as copy, tempfile.TemporaryDirectory(dir=copy_to.parent) as scratch:
            skips = _copy_any(path, container_format, copy, Path(scratch))
            copy.flush()
            os.fsync(copy.fileno())
        partial_copy.replace(copy_to)
    finally:
        partial_copy.unlink(missing_ok=True)
    return copy_to, skips


def _copy_any(path: Path, container_format: str, copy: BinaryIO, scratch: Path) -> list[Skip]:
    """Write all records of a file to `copy`. `scratch` is a folder for temporary files."""
    if container_format == "wacz":
        return _copy_wacz(path, copy, scratch)
    if container_format in ("arc", "arc.gz"):
        unpacked_file = path
        skips: list[Skip] = []
        if container_format == "arc.gz":
            unpacked_file = scratch / "unpacked.arc"
            skips = unpack(path, container_format, unpacked_file)
        return skips + _copy_arc(unpacked_file, copy)
    if container_format in ("warc", "warc.gz"):
        return _copy_readable(path, copy, scratch)
    if container_format in DUMPS:
        return _copy_rows(path, container_format, copy)
    unpacked_file = scratch / "unpacked.warc"
    skips = unpack(path, container_format, unpacked_file)
    if unpacked_file.stat().st_size:
        skips += _copy_records(unpacked_file, copy)
    unpacked_file.unlink()
    return skips


def _copy_readable(path: Path, copy: BinaryIO, scratch: Path) -> list[Skip]:
    """Copy a readable file, or one that was taken for readable until a member with several records came."""
    start = copy.tell()
    skips = _copy_records(path, copy)
    if any(skip.reason == SHARED_MEMBER for skip in skips):
        # Undo what was written, and copy the records of the unpacked file instead.
        copy.seek(start)
        copy.truncate()
        return _copy_any(path, "warc.gz-one-member", copy, scratch)
    return skips


def _copy_records(path: Path, copy: BinaryIO) -> list[Skip]:
    """Copy every record of a readable file. Records that are gzip members already are copied unchanged."""
    skips: list[Skip] = []
    with path.open("rb", buffering=0) as file:
        is_packed = os.pread(file.fileno(), 2, 0) == b"\x1f\x8b"
        for record in read_records(path):
            if isinstance(record, Skip):
                skips.append(record)
                continue
            span = _read_span(file.fileno(), record.offset, record.length)
            if record.missing_bytes or record.has_other_length:
                copy.writelines(_compress_member(_correct_length(record, file.fileno())))
            else:
                copy.writelines(span if is_packed else _compress_member(span))
    return skips


def _correct_length(record: Record, fd: int) -> Iterator[bytes]:
    """Yield a record whose head states a wrong length, with the length that it has."""
    actual_length = record.declared_length - record.missing_bytes
    headers = [header for header in record.headers if header[0].lower() != "content-length"]
    lines = "".join(f"{name}: {value}\r\n" for name, value in [*headers, ("Content-Length", str(actual_length))])
    yield f"WARC/1.0\r\n{lines}\r\n".encode("utf-8", "surrogateescape")
    if record.is_oversized:
        yield from _read_span(fd, record.offset + record.length - actual_length, actual_length)
    else:
        yield record.block
    yield b"\r\n\r\n"


def _copy_arc(path: Path, copy: BinaryIO) -> list[Skip]:
    """Copy an unpacked ARC file as WARC records."""
    skips: list[Skip] = []
    with path.open("rb", buffering=0) as file:
        for record in convert_records(file.fileno(), os.fstat(file.fileno()).st_size):
            if isinstance(record, Skip):
                skips.append(record)
            else:
                copy.writelines(_compress_member(_iter_warc_bytes(file.fileno(), record)))
    return skips


def _copy_rows(path: Path, container_format: str, copy: BinaryIO) -> list[Skip]:
    """Copy every row of a dump. Skips are summed up by reason, since there may be as many as rows."""
    skips_by_reason: dict[str, Skip] = {}
    for record in dump.iter_records(path, container_format):
        if isinstance(record, Skip):
            first = skips_by_reason.get(record.reason, replace(record, bytes=0, records=0))
            skips_by_reason[record.reason] = replace(first, bytes=first.bytes + record.bytes, records=first.records + 1)
        else:
            copy.writelines(_compress_member(iter((record,))))
    return list(skips_by_reason.values())


def _iter_warc_bytes(fd: int, record: ArcRecord) -> Iterator[bytes]:
    """Yield an ARC record as a WARC record."""
    yield record.head
    yield from _read_span(fd, record.start, record.length)
    yield b"\r\n\r\n"


def _copy_wacz(path: Path, copy: BinaryIO, scratch: Path) -> list[Skip]:
    """Copy all WARC files of a WACZ (1.1.1, section 5.2.1), in the order of their names."""
    contents = zips.read_zip(path)
    entries = [entry for entry in contents.entries if zips.is_archive(entry.name)]
    size = path.stat().st_size
    end = max((entry.end for entry in contents.entries), default=0)
    skips = [] if contents.is_whole else [Skip("damaged-zip", end, size - end, "its directory is damaged")]
    skips += [
        Skip("damaged-zip", 0, 0, f"{name} is missing") for name in contents.missing_names if zips.is_archive(name)
    ]
    if not entries and not skips:
        raise SourceError(f"{path} holds no archive/*.warc.gz", action="check that it is a WACZ and not empty")
    inner, remaining_bytes = scratch / "inner", max(MAX_UNPACKED, _MAX_RATIO * size)
    for entry in entries:
        if skip := _extract_entry(path, entry, inner, remaining_bytes):
            skips.append(skip)
        remaining_bytes -= inner.stat().st_size
        if inner.stat().st_size:
            skips += _copy_any(inner, _inner_kind(inner, entry.name), copy, scratch)
    return skips


def _inner_kind(inner: Path, name: str) -> str:
    """Return the container format of a file in a WACZ; a damaged one is taken for a WARC."""
    container_format = detect_format(inner)
    return (
        container_format
        if container_format not in ("unknown", "wacz")
        else "warc.gz"
        if name.endswith(".gz")
        else "warc"
    )


def _extract_entry(path: Path, entry: zips.ZipEntry, target: Path, limit: int) -> Skip | None:
    """Write one file of a zip; what was read before damage stays. Return the skip for what is lost, or None."""
    size = entry.end - entry.offset
    with target.open("wb") as file:
        try:
            for chunk in zips.iter_content(path, entry):
                file.write(chunk)
                if file.tell() > limit:
                    return Skip("oversized-archive", entry.offset, size, entry.name)
        except zips.DamagedEntry as error:
            reason = "truncated-zip" if entry.is_cut else "damaged-zip"
            return Skip(reason, entry.offset, 0 if file.tell() else size, f"{entry.name}: {error}")
    return None


def _read_span(fd: int, start: int, length: int) -> Iterator[bytes]:
    """Yield the bytes of a range in parts. Raises OSError if the file ends inside it."""
    end = start + length
    while start < end:
        chunk = os.pread(fd, min(_STEP, end - start), start)
        if not chunk:
            raise OSError(f"the file ends at byte {start}, {end - start} bytes before the end of the record")
        yield chunk
        start += len(chunk)


def _compress_member(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield one gzip member without name or time, so that the bytes depend on the content alone."""
    deflate = zlib.compressobj(_LEVEL, wbits=31)
    for chunk in chunks:
        yield deflate.compress(chunk)
    yield deflate.flush()
