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
from webemu.ingest.readers import read_records
from webemu.ingest.readers.gzip_members import find_next_member
from webemu.ingest.readers.plain_records import find_next_record
from webemu.ingest.record_metadata import parse_warc_fields
from webemu.ingest.records import Record
from webemu.ingest.times import FLAWS
from webemu.ingest.worker import Job, to_signed_64, write_marker

PIECE_BYTES = 64 << 20
"""Approximate size of a piece, in bytes of the file. A source of less than one and a half pieces is not divided."""
UNDIVIDED = 1 << 62
"""Size of a piece for sources that are to be read in one go. Their own size is not enough: copies of packed ones are
larger.
"""
_MAX_RECORDS_SEARCHED = 64
"""Records after a possible cut that are searched for a change of URL."""


def split_source(job: Job, path: Path, piece_bytes: int = PIECE_BYTES) -> list[Job]:
    """Return the pieces of a source that is read from `path`, in order; the job itself if it is too small."""
    cuts = _find_cuts(path, piece_bytes)
    if not cuts:
        return [job]
    file_size = path.stat().st_size
    # Later pieces do not see the warcinfo record at the beginning of the file, so they are told its content.
    first = next(read_records(path), None)
    crawl, crawl_time = _read_crawl(first) if isinstance(first, Record) and first.type == "warcinfo" else (None, None)
    return [
        replace(
            job, piece_number=number, start=start, end=end, bytes=job.bytes * (end - start) // file_size,
            crawl=crawl if number else None, crawl_time=crawl_time if number else None,
            skipped_ranges=() if number else job.skipped_ranges,
        )
        for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, file_size], strict=True))
    ]  # fmt: skip


def _read_crawl(record: Record) -> tuple[str | None, str | None]:
    """Return (name of the crawl, WARC-Date) of a warcinfo record."""
    return parse_warc_fields(record.block).get("ispartof"), record.get("WARC-Date")


def _find_cuts(path: Path, piece_bytes: int) -> list[int]:
    """Return the offsets at which pieces begin, except the first."""
    cuts: list[int] = []
    with path.open("rb", buffering=0) as file:
        fd, end = file.fileno(), os.fstat(file.fileno()).st_size
        find_next = find_next_member if os.pread(fd, 2, 0) == b"\x1f\x8b" else find_next_record
        offset = piece_bytes
        while offset < end - piece_bytes // 2:
            cut = _find_cut(path, find_next(fd, offset, end))
            # A short remainder stays with the piece before.
            if cut is None or cut >= end - piece_bytes // 2:
                break
            cuts.append(cut)
            offset = cut + piece_bytes
    return cuts


def _find_cut(path: Path, offset: int) -> int | None:
    """Return the offset of the first record from `offset` on whose URL differs from the previous one, or None."""
    urls: list[str | None] = []
    for record in islice(read_records(path, start=offset), _MAX_RECORDS_SEARCHED):
        if isinstance(record, Record):
            urls.append(record.get("WARC-Target-URI"))
            if len(urls) > 1 and urls[-1] != urls[-2]:
                return record.offset
    return None


class PieceCollector:
    """Collector of the finished pieces of one source."""

    def __init__(self, job: Job, pieces: Sequence[Job]) -> None:
        self.job = job
        """Job of the whole source."""
        self.pieces = pieces
        """Jobs of all its pieces, in order."""
        self.staging_folders: dict[int, Path] = {}
        """Staging folders of the finished pieces, by number."""

    def add_piece(self, piece: Job, staging: Path) -> bool:
        """Add a finished piece. Return True if all are finished."""
        assert piece.piece_number is not None
        self.staging_folders[piece.piece_number] = staging
        return len(self.staging_folders) == len(self.pieces)

    def join_pieces(self, target: Path) -> bool:
        """Join the pieces in the staging folder `target`. Return False if a later piece was read under the wrong crawl.

        Pieces are read under the crawl of the first warcinfo record. The time of the crawl matters only if a record
        has no readable date and may have got it.
        """
        folders = [self.staging_folders[number] for number in range(len(self.pieces))]
        markers = [json.loads((folder / MARKER).read_text()) for folder in folders]
        drops = _sum_drops(folders)
        names = ("crawl", "crawl_time") if any(drop["reason"] in FLAWS for drop in drops) else ("crawl",)
        if any(entry[name] != getattr(self.pieces[1], name) for entry in markers[:-1] for name in names):
            return False
        target.mkdir()
        for number, folder in enumerate(folders):
            for name in ("captures", "pages", "links", "exchanges"):
                # Moved, not merged: the catalog reads all numbered files of a table.
                (folder / f"{name}.parquet").rename(target / f"{name}.{number:05}.parquet")
        sources = [pq.read_table(folder / "sources.parquet").to_pylist()[0] for folder in folders]
        counts = {name: sum(entry[name] for entry in sources) for name in ("records", "captures", "pages")}
        content = to_signed_64(sum(entry["content_hash"] for entry in sources))
        row = {**sources[0], **counts, "bytes": self.job.bytes, "content_hash": content}
        pq.write_table(pa.Table.from_pylist([row], SOURCES), target / "sources.parquet")
        pq.write_table(pa.Table.from_pylist(drops, DROPS), target / "drops.parquet")
        write_marker(
            target, {**counts, "drops": sum(entry["drops"] for entry in markers), "crawl": markers[-1]["crawl"]}
        )
        self.remove_pieces()
        return True

    def remove_pieces(self) -> None:
        """Remove the staging folders of the pieces."""
        for folder in self.staging_folders.values():
            shutil.rmtree(folder, ignore_errors=True)


def _sum_drops(folders: Sequence[Path]) -> list[dict[str, int | str]]:
    """Return the drops of all pieces summed up by reason, each with its first occurrence."""
    drops_by_reason: dict[str, dict[str, int | str]] = {}
    for row in (row for folder in folders for row in pq.read_table(folder / "drops.parquet").to_pylist()):
        first = drops_by_reason.setdefault(row["reason"], {**row, "records": 0, "bytes": 0})
        first["records"] += row["records"]
        first["bytes"] += row["bytes"]
    return [drops_by_reason[reason] for reason in sorted(drops_by_reason)]
