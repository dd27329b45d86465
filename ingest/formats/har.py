"""HAR files, plain or gzip. Each entry is copied as a WARC record; `webemu.ingest.har` converts it."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import orjson

from webemu.ingest import har
from webemu.ingest.exchange_records import build_warcinfo
from webemu.ingest.formats.format import CopyTarget, Format, Probe
from webemu.ingest.formats.members import compress_member
from webemu.ingest.records import Skip
from webemu.ingest.unpack import GZIP, PLAIN, Packing

DAMAGED_HAR, OVERSIZED = "damaged-har", "oversized-archive"
"""Reasons for which no entry of a file is read: it is no JSON of this shape, or larger than `MAX_BYTES`."""
MAX_BYTES = 1 << 29
"""Largest HAR in bytes: it is one JSON object, which is read as a whole."""
HAR_START = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:\s*\{\s*"(?:version|creator|browser|pages|entries|comment)"'
)
"""Start of a HAR: an object whose first member is `log`, with a member that the specification names."""


def _begins_har(probe: Probe) -> bool:
    return bool(HAR_START.match(probe.start))


def _copy_entries(path: Path, target: CopyTarget, *, packing: Packing) -> list[Skip]:
    """Copy every entry of a HAR."""
    skips: list[Skip] = []
    content = bytearray()
    for part in packing.iter_content(path):
        if isinstance(part, Skip):
            skips.append(part)
        elif len(content) + len(part) > MAX_BYTES:
            return [*skips, Skip(OVERSIZED, 0, path.stat().st_size)]
        else:
            content += part
    try:
        entries = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))["log"]["entries"]
        if not isinstance(entries, list):
            raise TypeError
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return [*skips, Skip(DAMAGED_HAR, 0, path.stat().st_size)]
    target.file.writelines(compress_member(iter((build_warcinfo(path.name),))))
    for record in har.iter_records(entries):
        if isinstance(record, Skip):
            skips.append(record)
        else:
            target.file.writelines(compress_member(iter((record,))))
    return skips


HAR = Format(
    name="har",
    title="HAR",
    suffixes=(".har",),
    packing=PLAIN,
    begins=_begins_har,
    copy_records=partial(_copy_entries, packing=PLAIN),
    drop_reasons=(DAMAGED_HAR, OVERSIZED, *har.REASONS),
)
HAR_GZ = Format(
    name="har.gz",
    title="HAR",
    suffixes=(".har.gz",),
    packing=GZIP,
    begins=_begins_har,
    copy_records=partial(_copy_entries, packing=GZIP),
    drop_reasons=(DAMAGED_HAR, OVERSIZED, *GZIP.drop_reasons, *har.REASONS),
)
