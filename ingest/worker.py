"""Conversion of one source file, or a piece of it, to one staging folder. Runs in a process of its own.

The result depends on the file alone: request and metadata records are joined to the response they belong to, and every
record without a capture and every skipped byte is counted. Importing into the catalog is in `webemu.ingest.run`,
scheduling in `webemu.ingest.pool`.
"""

from __future__ import annotations

import json
import os
import signal
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from webemu.index.record_head import read_target_url
from webemu.index.schema import MARKER, TABLES
from webemu.ingest.capture import CaptureColumns, CaptureRows, read_capture
from webemu.ingest.readers import SHARED_MEMBER, read_records
from webemu.ingest.record_metadata import RequestMetadata, parse_request_metadata, parse_warc_fields
from webemu.ingest.records import Record, Skip
from webemu.ingest.rows import RowRange
from webemu.ingest.times import read_time

CPU_SECONDS = 60
"""CPU seconds for one record. A slower one kills its worker (SIGPROF) and is then ingested without its text."""
UNREADABLE = "unreadable"
"""Container format of a source that is of no known format."""
RECORD_LIST = "records.jsonl"
"""File of a staging folder that lists every record and every drop, in the order of reading."""
_MAX_EARLY_RECORDS = 4096
"""Request and metadata records that are remembered until their response comes; the oldest is forgotten first."""
_MAX_ROW_BYTES = 8 << 20
"""Approximate bytes of rows held in memory before they are written."""
_ROWS_UNIT = 2000
"""A fiftieth of the rows of one table that are held in memory before they are written."""


class RecordsShareMember(Exception):
    """Raised if a gzip member holds several records: such a file can be read only through a copy."""


class WorkerProgress(NamedTuple):
    """Progress of a worker in its source."""

    offset: int
    """Offset of the current record, -1 before the first."""
    pages: int
    """Pages so far."""
    drops: int
    """Dropped records so far."""


@dataclass(frozen=True, slots=True)
class Job:
    """Description of a source, or of a piece of one, for a worker."""

    source_id: int
    """Hash of the file's content."""
    name: str
    """Name of the source in the catalog."""
    path: str
    """Absolute path of the file."""
    copy: str | None
    """Copy with one gzip member per record that is read instead; None if not needed.

    Relative to the collection folder.
    """
    container_format: str
    """Name of the container format (`webemu.ingest.formats`), `UNREADABLE`, or empty if not yet detected."""
    bytes: int
    """Size of the source, or the share of it that falls to the piece."""
    without_text_offsets: frozenset[int] = frozenset()
    """Offsets of records whose extraction killed an earlier worker; they are ingested without text."""
    skipped_ranges: tuple[Skip, ...] = ()
    """Ranges that were lost when the copy was made."""
    piece_number: int | None = None
    """Number of the piece, from 0; None if the job is the whole source."""
    start: int = 0
    """Offset at which the piece begins, in the file that is read."""
    end: int | None = None
    """Offset at which the piece ends; None if the source has not been divided yet."""
    crawl: str | None = None
    """Name of the crawl that the file states before the piece."""
    crawl_time: str | None = None
    """WARC-Date of the warcinfo record before the piece."""
    copied_rows: RowRange | None = None
    """Rows of a dump that the job copies, and does nothing else; None for all other jobs."""
    copied_ranges: int = 0
    """Number of ranges of rows that are copied by themselves; 0 if the source is copied in one go, or not at all."""
    lists_records: bool = False
    """True to list every record and drop in the staging folder (`RECORD_LIST`)."""

    @property
    def is_readable(self) -> bool:
        """False for a source of no known format, of which only a drop is counted."""
        return self.container_format != UNREADABLE


class StagingTables:
    """Parquet files of a staging folder, written in batches of bounded size."""

    def __init__(self, folder: Path) -> None:
        self._writers: dict[str, pq.ParquetWriter] = {}
        try:
            for name, schema in TABLES.items():
                path = folder / f"{name}.parquet"
                self._writers[name] = pq.ParquetWriter(path, schema, compression="zstd", compression_level=1)
        except OSError:
            self.abandon()
            raise
        self._rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in TABLES}
        self._bytes = 0

    def add(self, table: str, row: tuple[object, ...], size: int = 0) -> None:
        """Add a row, columns in the order of the table's schema; `size` is its approximate number of bytes."""
        self._rows[table].append(row)
        self._bytes += size
        if self._bytes > _MAX_ROW_BYTES or len(self._rows[table]) >= 50 * _ROWS_UNIT:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are held in memory."""
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
        """Leave the files unfinished.

        Without this, each writer on a full disk prints a traceback when it is collected.
        """
        for writer in self._writers.values():
            writer.is_open = False

    def close(self) -> None:
        """Write the remaining rows and finish the files."""
        self.flush()
        for writer in self._writers.values():
            writer.close()


@dataclass(slots=True)
class DropCount:
    """Drops of one reason. Grows while records are dropped."""

    first_offset: int
    first_url: str | None
    records: int = 0
    bytes: int = 0


class DropCounter:
    """Counters of dropped records, by reason."""

    def __init__(self, record_list: TextIO | None = None) -> None:
        self.counts: dict[str, DropCount] = {}
        """Drops by reason."""
        self.total_records = 0
        """Dropped records of all reasons."""
        self._record_list = record_list

    def count(self, reason: str, offset: int, size: int = 0, url: str | None = None, records: int = 1) -> None:
        """Count a drop; offset and URL are kept of the first of each reason."""
        drops = self.counts.setdefault(reason, DropCount(offset, url))
        drops.records += records
        drops.bytes += size
        self.total_records += records
        if self._record_list:
            drop = {"offset": offset, "reason": reason, "bytes": size, "url": url or "", "records": records}
            self._record_list.write(json.dumps(drop) + "\n")


class Worker:
    """Reader of one source. Calls `on_progress` before every record."""

    def __init__(self, job: Job, staging: Path, on_progress: Callable[[WorkerProgress], None]) -> None:
        self._job = job
        self._on_progress = on_progress
        self._record_list = (staging / RECORD_LIST).open("w") if job.lists_records else None
        self._drop_counter = DropCounter(self._record_list)
        self._tables = StagingTables(staging)
        self.crawl = job.crawl
        """Name of the crawl that the last warcinfo record states."""
        self.crawl_time = job.crawl_time
        """WARC-Date of the last warcinfo record."""
        self._early_metadata: OrderedDict[str, RequestMetadata] = OrderedDict()
        self._pending_response: tuple[Record, RequestMetadata] | None = None
        self._content_hash = 0
        self.records = self.captures = self.pages = 0

    @property
    def dropped_records(self) -> int:
        """Dropped records so far."""
        return self._drop_counter.total_records

    def run(self, path: Path) -> None:
        """Read the file at `path` into the staging folder.

        Raises RecordsShareMember if the file can be read only through a copy, and RecordCrossesPiece.
        """
        try:
            self._read_records(path)
        except BaseException:
            self._tables.abandon()
            raise
        finally:
            if self._record_list:
                self._record_list.close()

    def _read_records(self, path: Path) -> None:
        job = self._job
        for skip in job.skipped_ranges:
            self._drop_counter.count(skip.reason, skip.offset, skip.bytes + skip.lost_bytes, records=skip.records)
        for record in read_records(path, start=job.start, end=job.end) if job.is_readable else ():
            if isinstance(record, Skip):
                self._count_skip(record)
                continue
            self.records += 1
            self._on_progress(WorkerProgress(record.offset, self.pages, self._drop_counter.total_records))
            self._handle_record(record)
        self._write_pending()
        for reason, drops in sorted(self._drop_counter.counts.items()):
            row = (job.source_id, reason, drops.records, drops.bytes, drops.first_offset, drops.first_url)
            self._tables.add("drops", row)
        source_row = (
            job.source_id,
            job.name,
            job.path,
            job.copy,
            job.container_format,
            job.bytes,
            self.records,
            self.captures,
            self.pages,
            to_signed_64(self._content_hash),
        )
        self._tables.add("sources", source_row)
        self._tables.close()

    def _count_skip(self, skip: Skip) -> None:
        """Count a skip.

        Raises RecordsShareMember if the source itself is read and a member of it holds several records.
        """
        if skip.reason == SHARED_MEMBER and self._job.copy is None:
            raise RecordsShareMember
        if (
            skip.reason != "empty-file" or self._job.bytes == 0
        ):  # a copy is empty if nothing of its source could be read
            self._drop_counter.count(skip.reason, skip.offset, skip.bytes + skip.lost_bytes)

    def _handle_record(self, record: Record) -> None:
        """Keep, join or count a record, depending on its type."""
        if self._record_list:
            line = {"offset": record.offset, "type": record.type, "url": read_target_url(record.headers) or ""}
            self._record_list.write(json.dumps(line) + "\n")
        if record.type in ("response", "revisit", "resource", "conversion"):
            self._write_pending()
            self._pending_response = (record, self._collect_metadata(record))
        elif record.type in ("request", "metadata"):
            self._attach_metadata(record)
        elif record.type == "warcinfo":
            self._write_pending()  # the pending response belongs to the crawl before
            fields = parse_warc_fields(record.block)
            self.crawl = fields.get("ispartof", self.crawl)
            self.crawl_time = record.get("WARC-Date") or self.crawl_time
        else:
            self._drop_counter.count(f"record-type-{record.type}"[:40], record.offset, record.declared_length)

    def _collect_metadata(self, record: Record) -> RequestMetadata:
        """Return the metadata that came before the response and belongs to it."""
        metadata = RequestMetadata(crawl_time=read_time(self.crawl_time))
        record_id, concurrent = record.get("WARC-Record-ID") or "", record.get("WARC-Concurrent-To") or ""
        # Metadata is stored under the id that it refers to (`of ID`), or under its own id if it refers to none.
        for name in (f"of {record_id}", concurrent):
            if earlier := self._early_metadata.pop(name, None):
                metadata = metadata | earlier
        return metadata

    def _attach_metadata(self, record: Record) -> None:
        """Add a request or metadata record to its response, or keep it until the response comes."""
        referred_id = record.get("WARC-Concurrent-To") or record.get("WARC-Refers-To")
        if self._pending_response is not None:
            response, metadata = self._pending_response
            response_ids = (response.get("WARC-Record-ID"), response.get("WARC-Concurrent-To"))
            if (referred_id and referred_id in response_ids) or record.get("WARC-Record-ID") == response_ids[1]:
                self._pending_response = (response, metadata | parse_request_metadata(record))
                return
        name = f"of {referred_id}" if referred_id else record.get("WARC-Record-ID") or ""
        self._early_metadata[name] = self._early_metadata.get(name, RequestMetadata()) | parse_request_metadata(record)
        if len(self._early_metadata) > _MAX_EARLY_RECORDS:
            self._early_metadata.popitem(last=False)

    def _write_pending(self) -> None:
        """Turn the pending response into rows. It waits because metadata records may follow it."""
        if self._pending_response is None:
            return
        record, metadata = self._pending_response
        self._pending_response = None
        # The default action of SIGPROF ends the process, which also stops loops inside C libraries.
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        self._on_progress(WorkerProgress(record.offset, self.pages, self._drop_counter.total_records))
        capture = self._read_capture(record, metadata)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for reason, size in capture.drops:
            self._drop_counter.count(reason, record.offset, size, capture.url)
        if capture.row is None:
            return
        page = capture.page and capture.page.flatten()
        row_bytes = repr((capture.row, page, capture.links)).encode("utf-8", "surrogatepass")
        # A sum, so that it is the same for one piece and for many. Order counts all the same: rows hold their offsets.
        self._content_hash += int.from_bytes(blake2b(row_bytes, digest_size=8).digest(), "big")
        source = self._job.source_id
        self.captures += 1
        self._tables.add("captures", (source, *_order_columns(capture.row, self._job.name)), 500)
        if capture.page is not None and page is not None:
            self.pages += 1
            self._tables.add("pages", (source, record.offset, *page), 2 * len(capture.page.text))
            for link in capture.links:
                self._tables.add("links", (source, record.offset, *link), 150)
        if metadata.exchange:
            keys = "".join(metadata.exchange).encode()
            self._content_hash += int.from_bytes(blake2b(keys, digest_size=8).digest(), "big")
            self._tables.add("exchanges", (source, record.offset, *metadata.exchange), 100)

    def _read_capture(self, record: Record, metadata: RequestMetadata) -> CaptureRows:
        """Read a record: without its text if extraction fails, and as a drop if everything fails."""
        for without_text in (True,) if record.offset in self._job.without_text_offsets else (False, True):
            with suppress(Exception):
                return read_capture(record, metadata, self.crawl, without_text=without_text)
        return CaptureRows("", None, None, [], [("record-crashed", record.declared_length)])


def _order_columns(row: CaptureColumns, name: str) -> tuple[object, ...]:
    """Return the columns of `captures` after source_id, in the order of the schema; `name` is the source's."""
    names, place = _list_capture_columns()
    values: list[object] = [*map(row.get, names)]
    values[place] = name
    return tuple(values)


@cache
def _list_capture_columns() -> tuple[Sequence[str], int]:
    """Return the columns of `captures` after source_id, and the place of the source's name among them."""
    names = TABLES["captures"].names[1:]
    return names, names.index("warc_filename")


def to_signed_64(number: int) -> int:
    """Return the lower 64 bits as a signed integer."""
    number &= (1 << 64) - 1  # DuckDB's and Arrow's int64 cannot hold an unsigned hash
    return number - (number >> 63 << 64)


def ingest_job(job: Job, collection: Path, staging: Path, on_progress: Callable[[WorkerProgress], None]) -> None:
    """Fill the staging folder of one source or piece; the marker is written last.

    Raises RecordCrossesPiece if the piece ends inside a record, and RecordsShareMember if the source needs a copy.
    """
    staging.mkdir(parents=True, exist_ok=True)
    worker = Worker(job, staging, on_progress)
    worker.run(collection / job.copy if job.copy else Path(job.path))
    summary = {
        "pages": worker.pages,
        "captures": worker.captures,
        "drops": worker.dropped_records,
        "crawl": worker.crawl,
    }
    summary["crawl_time"] = worker.crawl_time
    write_marker(staging, summary)


def write_marker(staging: Path, summary: Mapping[str, object]) -> None:
    """Write the marker that tells that a staging folder is complete, with a summary of its content."""
    with (staging / MARKER).open("w") as marker:
        json.dump(summary, marker)
        marker.flush()
        os.fsync(marker.fileno())
