"""WARC files: plain or with a gzip member per record, read as they are; in shared members, zstd or lz4, copied.

WET and WAT files are WARC files too. The bytes of head and block are copied unchanged.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from webemu.ingest.formats.format import CopyTarget, Format, OpenFile, Probe, always
from webemu.ingest.formats.members import compress_member, read_span
from webemu.ingest.readers import SHARED_MEMBER, read_records
from webemu.ingest.readers.gzip_members import Member, find_next_member
from webemu.ingest.readers.heads import MalformedRecord, begins_record, read_declared_length, take_head
from webemu.ingest.readers.plain_records import find_next_record
from webemu.ingest.records import MAX_BLOCK, Record, Skip
from webemu.ingest.unpack import GZIP, LZ4, MAGIC_BYTES, OVERSIZED, PLAIN, ZSTD, Packing, unpack

_TITLE = "WARC (WET, WAT)"
_STEMS = (".warc", ".wet", ".wat")
_MAX_MEMBERS = 64
"""Gzip members that are looked at to see whether each holds one record."""


def _begins_warc(probe: Probe) -> bool:
    return begins_record(probe.text)


def _begins_aligned(probe: Probe) -> bool:
    return _begins_warc(probe) and _is_aligned(probe.file, probe.offset)


def _begins_unaligned(probe: Probe) -> bool:
    return _begins_warc(probe) and not _is_aligned(probe.file, probe.offset)


def _is_aligned(file: OpenFile, offset: int) -> bool:
    """True if the first members from `offset` on hold one record each: neither several nor a part of one."""
    for _ in range(_MAX_MEMBERS):
        member = Member(file.fd, offset)
        try:
            extent = _classify_member(member)
            if extent == "several":
                return False
            member.drain()
        except (zlib.error, MalformedRecord):
            return True
        if not member.is_whole or member.end >= file.size:
            return True
        offset = member.end
        if (
            extent == "part"
            and os.pread(file.fd, 3, offset) == b"\x1f\x8b\x08"
            and find_next_member(file.fd, offset, offset + 1) != offset
        ):
            return False
    return True


def _classify_member(member: Member) -> str:
    """Return `one`, `part` or `several`: how much a member that begins with a record holds."""
    try:
        headers, extra_bytes = take_head(member.read)
    except MalformedRecord as error:
        if error.reason == "truncated-record":
            return "part"
        raise
    bytes_to_read = read_declared_length(headers) - len(extra_bytes)
    if bytes_to_read > MAX_BLOCK:
        return "one"
    if bytes_to_read > 0 and len(member.read(bytes_to_read)) < bytes_to_read:
        return "part"
    following = extra_bytes[bytes_to_read:] if bytes_to_read < 0 else b""
    return "several" if begins_record((following + member.read(64)).lstrip(b"\r\n")) else "one"


def _holds_record(file: OpenFile) -> bool:
    """True if a record begins somewhere in a plain file, or if the file is empty."""
    return file.size == 0 or find_next_record(file.fd, 1, file.size) < file.size


def _copy_readable(path: Path, target: CopyTarget) -> list[Skip]:
    """Copy a file that is read as it is, such as one inside a WACZ."""
    start = target.file.tell()
    skips = copy_readable_records(path, target)
    if any(skip.reason == SHARED_MEMBER for skip in skips):
        # Undo what was written, and copy the records of the unpacked file instead.
        target.file.seek(start)
        target.file.truncate()
        return WARC_GZ_ONE_MEMBER.copy_records(path, target)
    return skips


def copy_readable_records(path: Path, target: CopyTarget) -> list[Skip]:
    """Copy every record of a readable file. Records that are gzip members already are copied unchanged."""
    skips: list[Skip] = []
    with path.open("rb", buffering=0) as file:
        is_packed = bool(GZIP.magic.match(os.pread(file.fileno(), MAGIC_BYTES, 0)))
        for record in read_records(path):
            if isinstance(record, Skip):
                skips.append(record)
                continue
            target.file.writelines(iter_member(record, file.fileno(), is_packed))
    return skips


def iter_member(record: Record, fd: int, is_packed: bool) -> Iterator[bytes]:
    """Yield a record as a gzip member: unchanged if it is one, with its actual length if its head states another."""
    if record.missing_bytes or record.has_other_length:
        return compress_member(_correct_length(record, fd))
    span = read_span(fd, record.offset, record.length)
    return span if is_packed else compress_member(span)


def _correct_length(record: Record, fd: int) -> Iterator[bytes]:
    """Yield a record whose head states a wrong length, with the length that it has."""
    actual_length = record.declared_length - record.missing_bytes
    headers = [header for header in record.headers if header[0].lower() != "content-length"]
    lines = "".join(f"{name}: {value}\r\n" for name, value in [*headers, ("Content-Length", str(actual_length))])
    yield f"WARC/1.0\r\n{lines}\r\n".encode("utf-8", "surrogateescape")
    if record.is_oversized:
        yield from read_span(fd, record.offset + record.length - actual_length, actual_length)
    else:
        yield record.block
    yield b"\r\n\r\n"


def _copy_unpacked(path: Path, target: CopyTarget, *, packing: Packing) -> list[Skip]:
    """Unpack the whole file and copy its records."""
    unpacked_file = target.scratch_folder / "unpacked.warc"
    skips = unpack(path, packing, unpacked_file)
    if unpacked_file.stat().st_size:
        skips += copy_readable_records(unpacked_file, target)
    unpacked_file.unlink()
    return skips


def _suffixes(packing: Packing) -> tuple[str, ...]:
    return tuple(stem + packing.suffix for stem in _STEMS)


WARC = Format(
    name="warc",
    title=_TITLE,
    suffixes=_suffixes(PLAIN),
    packing=PLAIN,
    begins=_begins_warc,
    copy_records=_copy_readable,
    is_seekable=True,
    is_likely=_holds_record,
)
WARC_GZ = Format(
    name="warc.gz",
    title=_TITLE,
    suffixes=_suffixes(GZIP),
    packing=GZIP,
    begins=_begins_aligned,
    copy_records=_copy_readable,
    is_seekable=True,
    is_likely=always,
    drop_reasons=GZIP.drop_reasons,
)
"""WARC files with one gzip member per record."""
WARC_GZ_ONE_MEMBER = Format(
    name="warc.gz-one-member",
    title=_TITLE,
    suffixes=_suffixes(GZIP),
    packing=GZIP,
    begins=_begins_unaligned,
    copy_records=partial(_copy_unpacked, packing=GZIP),
    drop_reasons=(*GZIP.drop_reasons, OVERSIZED),
)
"""Gzip WARC files whose members are not one record each. `warc.gz` turns out to be this if a later member does."""
WARC_ZST = Format(
    name="warc.zst",
    title=_TITLE,
    suffixes=_suffixes(ZSTD),
    packing=ZSTD,
    begins=_begins_warc,
    copy_records=partial(_copy_unpacked, packing=ZSTD),
    is_likely=always,
    drop_reasons=(*ZSTD.drop_reasons, OVERSIZED),
)
WARC_LZ4 = Format(
    name="warc.lz4",
    title=_TITLE,
    suffixes=_suffixes(LZ4),
    packing=LZ4,
    begins=_begins_warc,
    copy_records=partial(_copy_unpacked, packing=LZ4),
    is_likely=always,
    drop_reasons=(*LZ4.drop_reasons, OVERSIZED),
)
