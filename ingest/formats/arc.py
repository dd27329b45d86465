"""ARC files, plain or gzip. Their records are copied as WARC records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from webemu.ingest.arc import ArcRecord, begins_arc, convert_records, find_next_line
from webemu.ingest.formats.format import CopyTarget, Format, OpenFile, Probe, always
from webemu.ingest.formats.members import compress_member, read_span
from webemu.ingest.records import Skip
from webemu.ingest.unpack import GZIP, OVERSIZED, PLAIN, unpack


def _begins_arc(probe: Probe) -> bool:
    return begins_arc(probe.text)


def _holds_line(file: OpenFile) -> bool:
    """True if the line of a record is found somewhere in a plain file, or if the file is empty."""
    return file.size == 0 or find_next_line(file.fd, 1, file.size) < file.size


def _copy_plain(path: Path, target: CopyTarget) -> list[Skip]:
    """Copy the records of an unpacked ARC file as WARC records."""
    skips: list[Skip] = []
    with path.open("rb", buffering=0) as file:
        for record in convert_records(file.fileno(), os.fstat(file.fileno()).st_size):
            if isinstance(record, Skip):
                skips.append(record)
            else:
                target.file.writelines(compress_member(_iter_warc_bytes(file.fileno(), record)))
    return skips


def _iter_warc_bytes(fd: int, record: ArcRecord) -> Iterator[bytes]:
    """Yield an ARC record as a WARC record."""
    yield record.head
    yield from read_span(fd, record.start, record.length)
    yield b"\r\n\r\n"


def _copy_gzip(path: Path, target: CopyTarget) -> list[Skip]:
    """Unpack a gzip ARC file and copy its records."""
    unpacked_file = target.scratch_folder / "unpacked.arc"
    return unpack(path, GZIP, unpacked_file) + _copy_plain(unpacked_file, target)


ARC = Format(
    name="arc",
    title="ARC",
    suffixes=(".arc",),
    packing=PLAIN,
    begins=_begins_arc,
    copy_records=_copy_plain,
    is_likely=_holds_line,
)
ARC_GZ = Format(
    name="arc.gz",
    title="ARC",
    suffixes=(".arc.gz",),
    packing=GZIP,
    begins=_begins_arc,
    copy_records=_copy_gzip,
    is_likely=always,
    drop_reasons=(*GZIP.drop_reasons, OVERSIZED),
)
