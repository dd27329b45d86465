"""Records of a per-record gzip or plain WARC file in any state; every byte belongs to a record or to a named skip.

FastWARC reads ahead, and each of its records is checked against the file. If a check or FastWARC itself fails, the
careful reader takes over from the last good offset for a while. Other containers: `webemu.ingest.repack`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from webemu.ingest.readers.fastwarc_reader import read_fast
from webemu.ingest.readers.gzip_members import SHARED
from webemu.ingest.readers.resync_reader import read_carefully
from webemu.ingest.records import MAX_BLOCK, Record, Skip

__all__ = ["SHARED", "Torn", "read"]

_STRETCH = 64
"""Records that the careful reader reads before FastWARC is tried again."""


class Torn(Exception):
    """Raised if a record reaches over the end of the range that is read."""


def read(path: Path, max_block: int = MAX_BLOCK, start: int = 0, end: int | None = None) -> Iterator[Record | Skip]:
    """Yield all records and skips in the order of the file; their lengths add up to its size.

    A record with a block over `max_block` bytes is handed out without it, marked oversized. `start` and `end` are
    offsets at which records begin; the range between them is read. Raises RecordCrossesPiece if no record begins at
    `end`.

        for record in read(Path("crawl.warc.gz")):
            print(record.offset)
    """
    with path.open("rb", buffering=0) as file:
        fd, size, at = file.fileno(), os.fstat(file.fileno()).st_size, start
        if size == 0:
            yield Skip("empty-file", 0, 0)
        is_gzip = os.pread(fd, 2, 0) == b"\x1f\x8b"
        last = size if end is None else end
        while at < last:
            # Both readers start at the same offset; the fast one yields nothing if the first record is irregular.
            for record in read_fast(path, fd, at, size, is_gzip, max_block):
                at = record.offset + record.length
                yield record
                if at >= last:
                    break
            careful = read_carefully(fd, at, size, is_gzip, max_block) if at < last else iter(())
            for number, found in enumerate(careful):
                length = found.length if isinstance(found, Record) else found.bytes
                if length and (at >= last or number >= _STRETCH):  # a skip without bytes belongs to the record before
                    break
                at = found.offset + length
                yield found
        if at > last:
            raise Torn
