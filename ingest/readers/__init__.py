"""Records of a per-record gzip or plain WARC file in any state; every byte belongs to a record or to a named skip.

FastWARC reads ahead, and each of its records is checked against the file. If a check or FastWARC itself fails, the
careful reader takes over from the last good offset for a while. Other containers: `webemu.ingest.repack`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from webemu.ingest.readers.fastwarc_reader import read_fast
from webemu.ingest.readers.gzip_members import SHARED_MEMBER
from webemu.ingest.readers.resync_reader import read_carefully
from webemu.ingest.records import MAX_BLOCK, Record, Skip

__all__ = ["SHARED_MEMBER", "RecordCrossesPiece", "read_records"]

_CAREFUL_RECORDS = 64
"""Records that the careful reader reads before FastWARC is tried again."""


class RecordCrossesPiece(Exception):
    """Raised if a record reaches over the end of the range that is read."""


def read_records(
    path: Path, max_block: int = MAX_BLOCK, start: int = 0, end: int | None = None
) -> Iterator[Record | Skip]:
    """Yield all records and skips in the order of the file; their lengths add up to its size.

    A record with a block over `max_block` bytes is handed out without it, marked oversized. `start` and `end` are
    offsets at which records begin; the range between them is read. Raises RecordCrossesPiece if no record begins at
    `end`.

        for record in read(Path("crawl.warc.gz")):
            print(record.offset)
    """
    with path.open("rb", buffering=0) as file:
        fd, size, offset = file.fileno(), os.fstat(file.fileno()).st_size, start
        if size == 0:
            yield Skip("empty-file", 0, 0)
        is_gzip = os.pread(fd, 2, 0) == b"\x1f\x8b"
        end_offset = size if end is None else end
        while offset < end_offset:
            # Both readers start at the same offset; the fast one yields nothing if the first record is irregular.
            for record in read_fast(path, fd, offset, size, is_gzip, max_block):
                offset = record.offset + record.length
                yield record
                if offset >= end_offset:
                    break
            careful_items = read_carefully(fd, offset, size, is_gzip, max_block) if offset < end_offset else iter(())
            for number, item in enumerate(careful_items):
                length = item.length if isinstance(item, Record) else item.bytes
                if length and (
                    offset >= end_offset or number >= _CAREFUL_RECORDS
                ):  # a skip without bytes belongs to the record before
                    break
                offset = item.offset + length
                yield item
        if offset > end_offset:
            raise RecordCrossesPiece
