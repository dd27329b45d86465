"""Division of a large source into pieces for several workers, and the union of their results.

Pieces are cut where a record begins whose URL differs from that of the record before, since the records of one
response (request, response, metadata) are adjacent. A wrong cut, such as one inside a payload that holds a WARC file,
shows when a record reaches over it: then the source is read again in one go.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from webemu.index.schema import DROPS, MARKER, SOURCES
from webemu.ingest.capture import warc_fields
from webemu.ingest.readers import read
from webemu.ingest.readers.gzip_members import next_member
from webemu.ingest.readers.plain_records import next_record
from webemu.ingest.records import Record
from webemu.ingest.times import FLAWS
from webemu.ingest.worker import Job, signed, write_marker

PIECE_BYTES = 64 << 20
"""Approximate size of a piece, in bytes of the file. A source of less than one and a half pieces is not divided."""
_LOOKED_AT = 64
"""Records after a possible cut that are searched for a change of URL."""


def split(job: Job, path: Path, size: int = PIECE_BYTES) -> list[Job]:
    """Return the pieces of a source that is read from `path`, in order; the job itself if it is too small."""
    places = _cuts(path, size)
    if not places:
        return [job]
    whole = path.stat().st_size
    # Later pieces do not see the warcinfo record at the beginning of the file, so they are told its content.
    first = next(read(path), None)
    crawl, crawl_time = _crawl(first) if isinstance(first, Record) and first.type == "warcinfo" else (None, None)
    return [
        replace(
            job, part=number, start=start, end=end, bytes=job.bytes * (end - start) // whole,
            crawl=crawl if number else None, crawl_time=crawl_time if number else None,
            skipped=() if number else job.skipped,
        )
        for number, (start, end) in enumerate(zip([0, *places], [*places, whole], strict=True))
    ]  # fmt: skip


def _crawl(record: Record) -> tuple[str | None, str | None]:
    """Return (name of the crawl, WARC-Date) of a warcinfo record."""
    return warc_fields(record.block).get("ispartof"), record.get("WARC-Date")


def _cuts(path: Path, size: int) -> list[int]:
    """Return the offsets at which pieces begin, except the first."""
    found: list[int] = []
    with path.open("rb", buffering=0) as file:
        fd, end = file.fileno(), os.fstat(file.fileno()).st_size
        following = next_member if os.pread(fd, 2, 0) == b"\x1f\x8b" else next_record
        at = size
        while at < end - size // 2:
            place = _parted(path, following(fd, at, end))
            # A short remainder stays with the piece before.
            if place is None or place >= end - size // 2:
                break
            found.append(place)
            at = place + size
    return found


def _parted(path: Path, at: int) -> int | None:
    """Return the offset of the first record from `offset` on whose URL differs from the previous one, or None."""
    urls: list[str | None] = []
    for one in islice(read(path, start=at), _LOOKED_AT):
        if isinstance(one, Record):
            urls.append(one.get("WARC-Target-URI"))
            if len(urls) > 1 and urls[-1] != urls[-2]:
                return one.offset
    return None


class Gathered:
    """Collector of the finished pieces of one source."""

    def __init__(self, job: Job, pieces: Sequence[Job]) -> None:
        self.job = job
        """Job of the whole source."""
        self.pieces = pieces
        """Jobs of all its pieces, in order."""
        self.done: dict[int, Path] = {}
        """Staging folders of the finished pieces, by number."""

    def take(self, piece: Job, staging: Path) -> bool:
        """Add a finished piece. Return True if all are finished."""
        assert piece.part is not None
        self.done[piece.part] = staging
        return len(self.done) == len(self.pieces)

    def joined(self, into: Path) -> bool:
        """Join the pieces in the staging folder `target`. Return False if a later piece was read under the wrong crawl.

        Pieces are read under the crawl of the first warcinfo record. The time of the crawl matters only if a record
        has no readable date and may have got it.
        """
        parts = [self.done[number] for number in range(len(self.pieces))]
        told = [json.loads((part / MARKER).read_text()) for part in parts]
        drops = _drops(parts)
        names = ("crawl", "crawl_time") if any(drop["reason"] in FLAWS for drop in drops) else ("crawl",)
        if any(one[name] != getattr(self.pieces[1], name) for one in told[:-1] for name in names):
            return False
        into.mkdir()
        for number, part in enumerate(parts):
            for name in ("captures", "pages", "links"):
                # Moved, not merged: the catalog reads all numbered files of a table.
                (part / f"{name}.parquet").rename(into / f"{name}.{number:05}.parquet")
        sources = [pq.read_table(part / "sources.parquet").to_pylist()[0] for part in parts]
        counts = {name: sum(one[name] for one in sources) for name in ("records", "captures", "pages")}
        content = signed(sum(one["content_hash"] for one in sources))
        row = {**sources[0], **counts, "bytes": self.job.bytes, "content_hash": content}
        pq.write_table(pa.Table.from_pylist([row], SOURCES), into / "sources.parquet")
        pq.write_table(pa.Table.from_pylist(drops, DROPS), into / "drops.parquet")
        write_marker(into, {**counts, "drops": sum(one["drops"] for one in told), "crawl": told[-1]["crawl"]})
        self.forget()
        return True

    def forget(self) -> None:
        """Remove the staging folders of the pieces."""
        for part in self.done.values():
            shutil.rmtree(part, ignore_errors=True)


def _drops(parts: Sequence[Path]) -> list[dict[str, int | str]]:
    """Return the drops of all pieces summed up by reason, each with its first occurrence."""
    found: dict[str, dict[str, int | str]] = {}
    for row in (row for part in parts for row in pq.read_table(part / "drops.parquet").to_pylist()):
        first = found.setdefault(row["reason"], {**row, "records": 0, "bytes": 0})
        first["records"] += row["records"]
        first["bytes"] += row["bytes"]
    return [found[reason] for reason in sorted(found)]
