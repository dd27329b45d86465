"""The careful reader: one record at a time in plain Python, and after each failure a search for the next record.

warcio is not used: it takes a cut block for a whole one and cannot tell which bytes it passed over.
"""

from __future__ import annotations

from collections.abc import Iterator

from webemu.ingest.readers.gzip_members import read_member
from webemu.ingest.readers.plain_records import read_plain_record
from webemu.ingest.records import Record, Skip


def read_carefully(fd: int, offset: int, size: int, is_gzip: bool, max_block: int) -> Iterator[Record | Skip]:
    """Yield records and skips from offset `offset` to the end of the file, without gaps."""
    read_one = read_member if is_gzip else read_plain_record
    while offset < size:
        for item in read_one(fd, offset, size, max_block):
            yield item
            offset = item.offset + (item.length if isinstance(item, Record) else item.bytes)
