"""Overwrites records of removed captures in the collection's own copies of payloads, and forgets them in its files.

A record is replaced by as many bytes that hold nothing, so that the offsets of all others stay true. Each copy is
written anew beside the old one, then renamed. Files that the collection does not own are only named.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from webemu.index.builders import SHARD_SOURCES, SNAPSHOT_SOURCES, hash_sources
from webemu.index.catalog import Catalog, compact_catalog
from webemu.index.earlier_results import delete_obsolete_result
from webemu.index.kept_texts import FOLDER as VIEWS_FOLDER
from webemu.index.removal.rules import Rules
from webemu.index.removal.sweep import REASON
from webemu.index.signals.duplicates import NAME as BANDS
from webemu.index.signals.earlier_anchors import NAME as LINK_TEXTS
from webemu.ingest.readers import read_records
from webemu.ingest.records import Record

_MIN_MEMBER = 21
"""Bytes of a gzip member that holds nothing and has a comment."""
_COPIES = """
SELECT source_id, coalesce(copy, path), copy IS NOT NULL OR path NOT LIKE '/%' FROM sources
WHERE source_id IN (SELECT source_id FROM drops WHERE reason = ?) ORDER BY source_id
"""


class PurgeReport(NamedTuple):
    """Result of a purge."""

    records: int
    """Records that were overwritten in copies."""
    copies: list[str]
    """Copies that were written anew or deleted, relative to the collection."""
    foreign: list[str]
    """Files that are not the collection's own, and still hold removed records."""


def purge(collection: Path, rules: Rules) -> PurgeReport:
    """Overwrite what the rules cover in all copies of the collection, compact its catalog, and delete what was kept for
    the next build if it may hold removed captures.
    """
    with Catalog(collection, read_only=True) as catalog:
        rows = catalog.db.execute(_COPIES, [REASON]).fetchall()
        contents = dict(catalog.db.execute("SELECT source_id, content_hash FROM sources").fetchall())
    owned = [path for _, path, is_owned in rows if is_owned]
    foreign = [path for _, path, is_owned in rows if not is_owned]
    foreign += [rule.path for rule in rules.rules if rule.kind == "source" and Path(rule.path).is_absolute()]
    counts = {path: _blank_records(collection / path, rules) for path in owned if (collection / path).exists()}
    deleted = list(_delete_copies(collection, rules))
    shutil.rmtree(collection / VIEWS_FOLDER, ignore_errors=True)
    delete_obsolete_result(collection, LINK_TEXTS, hash_sources(SHARD_SOURCES), contents)
    delete_obsolete_result(collection, BANDS, hash_sources(SNAPSHOT_SOURCES), contents)
    compact_catalog(collection)
    return PurgeReport(sum(counts.values()), [path for path in owned if counts.get(path)] + deleted,
                       sorted(path for path in set(foreign) if Path(path).exists()))  # fmt: skip


def _delete_copies(collection: Path, rules: Rules) -> Iterator[str]:
    """Delete the copies of removed sources; yield their paths."""
    for source in sorted(rules.sources):
        for folder in ("warc", "payloads"):
            for path in sorted((collection / folder).glob(f"{source:016x}*")) + sorted(
                (collection / folder).glob(f"{source}.*")
            ):
                path.unlink()
                yield str(path.relative_to(collection))


def _blank_records(path: Path, rules: Rules) -> int:
    """Write a file anew without the covered records; return their number."""
    ranges = list(_covered_ranges(path, rules))
    if not ranges:
        return 0
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    shutil.copyfile(path, temporary)
    with temporary.open("r+b") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
        for offset, length in ranges:
            file.seek(offset)
            file.write(blank_member(length) if is_gzip and length >= _MIN_MEMBER else b"\r\n" * (length // 2 + 1))
            file.truncate(max(path.stat().st_size, 0))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    return len(ranges)


def _covered_ranges(path: Path, rules: Rules) -> Iterator[tuple[int, int]]:
    """Yield (offset, length) of every record whose URL a rule covers: responses, their requests and metadata."""
    for record in read_records(path):
        if isinstance(record, Record) and rules.covers((record.get("WARC-Target-URI") or "").strip("<>")):
            yield record.offset, record.length


def blank_member(length: int) -> bytes:
    """Return a gzip member of this length that holds nothing: its header has a comment of blanks."""
    comment = b" " * (length - _MIN_MEMBER)
    return b"\x1f\x8b\x08\x10\0\0\0\0\0\xff" + comment + b"\0" + b"\x03\0" + struct.pack("<II", 0, 0)
