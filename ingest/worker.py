"""One source file, or a piece of it, becomes one staging folder: records in, rows of the catalog out. Runs in a process
of its own.

A pure function of the file: request and metadata records are joined to the response they belong to, every record that
gives no capture and every byte skipped is counted. Not here: importing into the catalog, scheduling (`webemu.ingest.run`).
"""

from __future__ import annotations

import json
import os
import signal
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from webemu.index.schema import MARKER, TABLES
from webemu.ingest.capture import Joined, Read, joined_from, read_capture, warc_fields
from webemu.ingest.readers import SHARED, read
from webemu.ingest.records import Record, Skip
from webemu.ingest.times import read_time

CPU_SECONDS = 60
"""A record that takes longer to extract kills its worker (SIGPROF) and is then ingested without text."""
_EARLY = 4096
"""How many request and metadata records are remembered until their response comes."""
_ROW_BYTES = 8 << 20
_ROWS = 2000


class Shared(Exception):
    """Raised for a file that can be read only through a copy: one of its gzip members holds several records."""


class At(NamedTuple):
    """How far a worker is in its source."""

    offset: int
    """Of the record in hand, -1 before the first."""
    pages: int
    drops: int


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker needs to know of its source."""

    source_id: int
    name: str
    path: str
    """Where the file is."""
    copy: str | None
    """Per-record copy to read instead, relative to the collection folder."""
    kind: str
    bytes: int
    textless: frozenset[int] = frozenset()
    """Offsets of records whose extraction killed an earlier worker."""
    skipped: tuple[Skip, ...] = ()
    """Ranges already lost when the copy was made."""
    part: int | None = None
    """Which piece of the source this is; None for all of it."""
    start: int = 0
    end: int | None = None
    """Where the piece begins and ends in what is read; None where it was not yet asked whether there are pieces."""
    crawl: str | None = None
    """What the file said of its crawl before the piece."""
    crawl_time: str | None = None
    """WARC-Date of the warcinfo record before the piece."""


class Tables:
    """The Parquet files of a staging folder, written in batches of bounded size."""

    def __init__(self, folder: Path) -> None:
        self._writers: dict[str, pq.ParquetWriter] = {}
        try:
            for name, schema in TABLES.items():
                path = folder / f"{name}.parquet"
                self._writers[name] = pq.ParquetWriter(path, schema, compression="zstd", compression_level=1)
        except OSError:
            self.abandon()
            raise
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self._bytes = 0

    def add(self, table: str, row: tuple[Any, ...], size: int = 0) -> None:
        self._rows[table].append(row)
        self._bytes += size
        if self._bytes > _ROW_BYTES or len(self._rows[table]) >= 50 * _ROWS:
            self.flush()

    def flush(self) -> None:
        for name, rows in self._rows.items():
            if rows:
                schema = TABLES[name]
                columns = [
                    pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)
                ]
                self._writers[name].write_batch(pa.record_batch(columns, schema=schema))
                rows.clear()
        self._bytes = 0

    def abandon(self) -> None:
        """Leave the files as they are. On a full disk each writer would print a traceback when it is collected."""
        for writer in self._writers.values():
            writer.is_open = False

    def close(self) -> None:
        self.flush()
        for writer in self._writers.values():
            writer.close()


class Drops:
    """What was dropped, by reason."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {}
        self.total = 0

    def count(self, reason: str, offset: int, size: int = 0, url: str | None = None, records: int = 1) -> None:
        row = self.rows.setdefault(reason, [0, 0, offset, url])
        row[0] += records
        row[1] += size
        self.total += records


class Worker:
    """Reads one source. `at` is told of every record in hand."""

    def __init__(self, job: Job, staging: Path, at: Callable[[At], None]) -> None:
        self._job = job
        self._at = at
        self._drops = Drops()
        self._tables = Tables(staging)
        self.crawl = job.crawl
        self.crawl_time = job.crawl_time
        self._early: OrderedDict[str, Joined] = OrderedDict()
        self._waiting: tuple[Record, Joined] | None = None
        self._content = 0
        self.records = self.captures = self.pages = 0

    @property
    def dropped(self) -> int:
        return self._drops.total

    def run(self, path: Path) -> None:
        try:
            self._run(path)
        except BaseException:
            self._tables.abandon()
            raise

    def _run(self, path: Path) -> None:
        job = self._job
        for skip in job.skipped:
            self._drops.count(skip.reason, skip.offset, skip.bytes + skip.lost, records=skip.records)
        for record in read(path, start=job.start, end=job.end) if job.kind != "unreadable" else ():
            if isinstance(record, Skip):
                self._skip(record)
                continue
            self.records += 1
            self._at(At(record.offset, self.pages, self._drops.total))
            self._sort(record)
        self._release()
        for reason, (count, size, offset, url) in sorted(self._drops.rows.items()):
            self._tables.add("drops", (job.source_id, reason, count, size, offset, url))
        row = (
            job.source_id,
            job.name,
            job.path,
            job.copy,
            job.kind,
            job.bytes,
            self.records,
            self.captures,
            self.pages,
            signed(self._content),
        )
        self._tables.add("sources", row)
        self._tables.close()

    def _skip(self, skip: Skip) -> None:
        if skip.reason == SHARED and self._job.copy is None:
            raise Shared
        if (
            skip.reason != "empty-file" or self._job.bytes == 0
        ):  # a copy is empty where nothing of its file could be read
            self._drops.count(skip.reason, skip.offset, skip.bytes + skip.lost)

    def _sort(self, record: Record) -> None:
        if record.type in ("response", "revisit", "resource", "conversion"):
            self._release()
            self._waiting = (record, self._joined(record))
        elif record.type in ("request", "metadata"):
            self._join(record)
        elif record.type == "warcinfo":
            self._release()  # of the crawl before
            fields = warc_fields(record.block)
            self.crawl = fields.get("ispartof", self.crawl)
            self.crawl_time = record.get("WARC-Date") or self.crawl_time
        else:
            self._drops.count(f"record-type-{record.type}"[:40], record.offset, record.declared_length)

    def _joined(self, record: Record) -> Joined:
        """What came before the response and belongs to it."""
        joined = Joined(crawl_time=read_time(self.crawl_time))
        own, concurrent = record.get("WARC-Record-ID") or "", record.get("WARC-Concurrent-To") or ""
        for name in (f"of {own}", concurrent):
            if earlier := self._early.pop(name, None):
                joined = joined | earlier
        return joined

    def _join(self, record: Record) -> None:
        belongs = record.get("WARC-Concurrent-To") or record.get("WARC-Refers-To")
        if self._waiting is not None:
            waiting, joined = self._waiting
            ids = (waiting.get("WARC-Record-ID"), waiting.get("WARC-Concurrent-To"))
            if (belongs and belongs in ids) or record.get("WARC-Record-ID") == ids[1]:
                self._waiting = (waiting, joined | joined_from(record))
                return
        name = f"of {belongs}" if belongs else record.get("WARC-Record-ID") or ""
        self._early[name] = self._early.get(name, Joined()) | joined_from(record)
        if len(self._early) > _EARLY:
            self._early.popitem(last=False)

    def _release(self) -> None:
        """Turn the waiting response into rows."""
        if self._waiting is None:
            return
        record, joined = self._waiting
        self._waiting = None
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        self._at(At(record.offset, self.pages, self._drops.total))
        capture = self._capture(record, joined)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for reason, size in capture.drops:
            self._drops.count(reason, record.offset, size, capture.url)
        if capture.row is None:
            return
        said = repr((capture.row, capture.page, capture.links)).encode("utf-8", "surrogatepass")
        # A sum, so that it is the same in one piece and in many; each row says at which offset it stands.
        self._content += int.from_bytes(blake2b(said, digest_size=8).digest(), "big")
        source = self._job.source_id
        self.captures += 1
        self._tables.add("captures", (source, *_named(capture.row, self._job.name)), 500)
        if capture.page is not None:
            self.pages += 1
            self._tables.add("pages", (source, record.offset, *capture.page), 2 * len(capture.page[2]))
            for link in capture.links:
                self._tables.add("links", (source, record.offset, *link), 150)

    def _capture(self, record: Record, joined: Joined) -> Read:
        """Read a record: without its text if reading that fails, and as a drop if all fails."""
        for textless in (True,) if record.offset in self._job.textless else (False, True):
            with suppress(Exception):
                return read_capture(record, joined, self.crawl, textless=textless)
        return Read("", None, None, [], [("record-crashed", record.declared_length)])


def _named(row: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    return tuple(name if column == "warc_filename" else row.get(column) for column in TABLES["captures"].names[1:])


def signed(number: int) -> int:
    """The lower 64 bits as a signed integer."""
    number &= (1 << 64) - 1
    return number - (number >> 63 << 64)


def work(job: Job, collection: Path, staging: Path, at: Callable[[At], None]) -> None:
    """Fill the staging folder of one source or piece; the marker is written last. Raises Torn and Shared."""
    staging.mkdir(parents=True, exist_ok=True)
    worker = Worker(job, staging, at)
    worker.run(collection / job.copy if job.copy else Path(job.path))
    told = {"pages": worker.pages, "captures": worker.captures, "drops": worker.dropped, "crawl": worker.crawl}
    told["crawl_time"] = worker.crawl_time
    write_marker(staging, told)


def write_marker(staging: Path, told: Mapping[str, Any]) -> None:
    """Say that a staging folder is whole, and what is in it."""
    with (staging / MARKER).open("w") as marker:
        json.dump(told, marker)
        marker.flush()
        os.fsync(marker.fileno())
