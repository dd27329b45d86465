"""A large source is read in pieces by as many workers as there are; what they gave is then one source again.

Pieces are cut where a record of another URL than the one before begins, since the records of one answer (request,
response, metadata) stand side by side. A cut that was none, such as one inside a payload that holds a WARC file, shows
when a record reaches over it: then the source is read again in one go.
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
"""Of the file, about, in one piece; one of less than one and a half is left whole."""
_LOOKED_AT = 64
"""Records within which another URL begins, or there is no cut here."""


def split(job: Job, path: Path, size: int = PIECE_BYTES) -> list[Job]:
    """The pieces of a source that is read at `path`, in order; the job itself where it is too small."""
    places = _cuts(path, size)
    if not places:
        return [job]
    whole = path.stat().st_size
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
    return warc_fields(record.block).get("ispartof"), record.get("WARC-Date")


def _cuts(path: Path, size: int) -> list[int]:
    found: list[int] = []
    with path.open("rb", buffering=0) as file:
        fd, end = file.fileno(), os.fstat(file.fileno()).st_size
        following = next_member if os.pread(fd, 2, 0) == b"\x1f\x8b" else next_record
        at = size
        while at < end - size // 2:
            place = _parted(path, following(fd, at, end))
            if place is None or place >= end - size // 2:
                break
            found.append(place)
            at = place + size
    return found


def _parted(path: Path, at: int) -> int | None:
    """Where from `at` on the first record begins that is of another URL than the one before."""
    urls: list[str | None] = []
    for one in islice(read(path, start=at), _LOOKED_AT):
        if isinstance(one, Record):
            urls.append(one.get("WARC-Target-URI"))
            if len(urls) > 1 and urls[-1] != urls[-2]:
                return one.offset
    return None


class Gathered:
    """The pieces of one source that are done."""

    def __init__(self, job: Job, pieces: Sequence[Job]) -> None:
        self.job = job
        self.pieces = pieces
        self.done: dict[int, Path] = {}

    def take(self, piece: Job, staging: Path) -> bool:
        """One more is done; whether all are."""
        assert piece.part is not None
        self.done[piece.part] = staging
        return len(self.done) == len(self.pieces)

    def joined(self, into: Path) -> bool:
        """Make one staging folder of them all; False where a later piece is of another crawl than it was read for.

        The time of the crawl counts only where a record without a readable date may have it.
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
        """Remove what the pieces gave."""
        for part in self.done.values():
            shutil.rmtree(part, ignore_errors=True)


def _drops(parts: Sequence[Path]) -> list[dict[str, int | str]]:
    """Of each reason all together, with where it came first."""
    found: dict[str, dict[str, int | str]] = {}
    for row in (row for part in parts for row in pq.read_table(part / "drops.parquet").to_pylist()):
        first = found.setdefault(row["reason"], {**row, "records": 0, "bytes": 0})
        first["records"] += row["records"]
        first["bytes"] += row["bytes"]
    return [found[reason] for reason in sorted(found)]
