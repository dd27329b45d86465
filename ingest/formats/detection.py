"""Detection of a file's container format from its bytes. Its name decides only if the bytes do not tell.

Each format says itself how its files begin; here are only the places to look at. Media types of the documents inside
are detected elsewhere, in `webemu.ingest.extract.kind`.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from webemu.ingest.formats import FORMATS
from webemu.ingest.formats.format import Format, OpenFile, Probe
from webemu.ingest.readers.gzip_members import Member, find_next_member
from webemu.ingest.readers.heads import MalformedRecord
from webemu.ingest.unpack import GZIP, MAGIC_BYTES, PACKINGS, PLAIN, Packing

_MAX_PROBES = 64
"""Gzip members that are looked at."""
_START_BYTES = 1 << 16
"""Bytes at the beginning of a file, or of its unpacked content, that are looked at."""
_GZIP_START_BYTES = 1 << 12
"""Unpacked bytes of a gzip member that are looked at. Few, since damage further on must not hide what the file is."""


def detect_format(path: Path) -> Format | None:
    """Return the format of a file; None if it is unknown.

    detect_format(Path("crawl.warc.gz")).name  # "warc.gz"
    """
    with path.open("rb", buffering=0) as opened:
        file = OpenFile(path, opened.fileno(), os.fstat(opened.fileno()).st_size)
        magic = os.pread(file.fd, MAGIC_BYTES, 0)
        packing = next(packing for packing in PACKINGS if packing.magic.match(magic))
        formats = [container_format for container_format in FORMATS if container_format.packing is packing]
        for probe in _iter_probes(file, packing):
            for container_format in formats:
                if container_format.begins(probe):
                    return container_format
        return _detect_by_name(file, formats)


def _detect_by_name(file: OpenFile, formats: list[Format]) -> Format | None:
    """Return the format that a name states, for a file whose beginning is damaged or cut.

    The suffix of a packing may be wrong: a plain `x.arc.gz` was unpacked on its way here.
    """
    name = file.path.name.lower()
    names = (name, *(name.removesuffix(packing.suffix) for packing in PACKINGS))
    for container_format in formats:
        if any(variant.endswith(container_format.suffixes) for variant in names) and container_format.is_likely(file):
            return container_format
    return None


def _iter_probes(file: OpenFile, packing: Packing) -> Iterator[Probe]:
    """Yield the places of a file that may show its format, in order. Only gzip files have more than one."""
    if packing is GZIP:
        yield from _iter_member_probes(file)
    elif packing is PLAIN:
        yield Probe(file, os.pread(file.fd, _START_BYTES, 0))
    else:
        yield Probe(file, _unpack_start(file.path, packing))


def _iter_member_probes(file: OpenFile) -> Iterator[Probe]:
    """Yield the beginnings of gzip members. Empty and damaged ones say nothing, so the next ones are looked at."""
    offset = 0
    for _ in range(_MAX_PROBES):
        member = Member(file.fd, offset)
        try:
            yield Probe(file, member.read(_GZIP_START_BYTES), offset)
            member.drain()
            offset = find_next_member(file.fd, member.end, file.size, bool)
        except (zlib.error, MalformedRecord):
            offset = find_next_member(file.fd, offset + 1, file.size, bool)
        if offset >= file.size:
            return
    if (offset := find_next_member(file.fd, offset, file.size)) < file.size:
        yield Probe(file, Member(file.fd, offset).read(_GZIP_START_BYTES), offset)


def _unpack_start(path: Path, packing: Packing) -> bytes:
    """Return the beginning of the content, from the first frames that can be unpacked."""
    start = b""
    for part in packing.iter_content(path):
        start += part if isinstance(part, bytes) else b""
        if len(start) >= _START_BYTES:
            break
    return start.lstrip()
