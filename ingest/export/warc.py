"""Writes chosen records to a WARC file with a gzip member per record, byte for byte as they were recorded; only a
length that is stated wrongly is corrected.

With a response go its request and its metadata, which stand beside it, and the description of the crawl (warcinfo) of
its file: ingested again, they give the same rows.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple
from uuid import UUID

from webemu.index.removal.rules import Rules
from webemu.ingest.formats.warc import iter_member
from webemu.ingest.readers import read_records
from webemu.ingest.records import Record
from webemu.ingest.times import UNKNOWN

_COMPANIONS = ("request", "metadata")


class WrittenRecord(NamedTuple):
    """One chosen record, and where it was written."""

    url: str
    date: str
    offset: int
    length: int
    digest: str
    """Digest of the payload as the record states it; empty if it does not."""
    is_page: bool
    """True for a response that is a document."""


def copy_records(
    offsets_by_file: Mapping[Path, set[int]],
    target: BinaryIO,
    on_record: Callable[[], object] = lambda: None,
    removed: Rules = Rules(),
) -> Iterator[WrittenRecord]:
    """Write the records at these offsets of files, with their companions, and yield each of them.

    A companion of a removed URL stays out, as its response does.
    """
    for number, (path, offsets) in enumerate(offsets_by_file.items()):
        if number:
            target.write(_boundary(number))
        with path.open("rb") as source:
            is_packed = source.read(2) == b"\x1f\x8b"
            for record, is_chosen in _select(path, offsets):
                if not is_chosen and removed.covers((record.get("WARC-Target-URI") or "").strip("<>")):
                    continue
                start = target.tell()
                target.writelines(iter_member(record, source.fileno(), is_packed))
                if is_chosen:
                    on_record()
                    url = (record.get("WARC-Target-URI") or "").strip("<>")
                    yield WrittenRecord(url, record.get("WARC-Date") or "", start, target.tell() - start,
                                        record.get("WARC-Payload-Digest") or "", _is_page(record))  # fmt: skip


def _boundary(number: int) -> bytes:
    """Return a warcinfo record that ends the crawl of the file before: a file need not name its own, nor date it."""
    block = b"software: webemu export\r\nisPartOf: \r\n"
    head = (
        f"WARC/1.0\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <urn:uuid:{UUID(int=number)}>\r\n"
        f"WARC-Date: {UNKNOWN:%Y-%m-%dT%H:%M:%S}Z\r\n"
        f"Content-Type: application/warc-fields\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n", mtime=0)


def _is_page(record: Record) -> bool:
    """True for a response that is a document."""
    return record.type == "response" and b"text/html" in record.block[:4096].lower()


def _select(path: Path, offsets: set[int]) -> Iterator[tuple[Record, bool]]:
    """Yield the records that are written, with True for chosen ones and False for what goes with them."""
    info: Record | None = None
    waiting: list[Record] = []
    """Requests and metadata that may belong to the next record."""
    url = None
    for record in read_records(path):
        if not isinstance(record, Record):
            continue
        if record.type == "warcinfo":
            info = record
        elif record.type in _COMPANIONS:
            if record.get("WARC-Target-URI") == url and url is not None:
                yield record, False
            else:
                waiting.append(record)
        elif record.offset in offsets:
            url = record.get("WARC-Target-URI")
            if info is not None:
                yield info, False
                info = None
            for companion in waiting:
                if companion.get("WARC-Target-URI") == url:
                    yield companion, False
            waiting = []
            yield record, True
        else:
            url, waiting = None, []
