"""Gzip members that per-record copies consist of, and the byte ranges that they are made of."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import BinaryIO

from webemu.ingest.records import Skip

_STEP_BYTES = 1 << 20
_LEVEL = 3
"""Compression level of members."""


def read_span(fd: int, start: int, length: int) -> Iterator[bytes]:
    """Yield the bytes of a range in parts. Raises OSError if the file ends inside it."""
    end = start + length
    while start < end:
        chunk = os.pread(fd, min(_STEP_BYTES, end - start), start)
        if not chunk:
            raise OSError(f"the file ends at byte {start}, {end - start} bytes before the end of the record")
        yield chunk
        start += len(chunk)


def compress_member(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield one gzip member without name or time, so that the bytes depend on the content alone."""
    deflate = zlib.compressobj(_LEVEL, wbits=31)
    for chunk in chunks:
        yield deflate.compress(chunk)
    yield deflate.flush()


def write_records(records: Iterable[bytes | Skip], file: BinaryIO) -> list[Skip]:
    """Write each record as a gzip member; return the skips, summed up by reason, since there may be as many as rows."""

    def write_each() -> Iterator[Skip]:
        for record in records:
            if isinstance(record, Skip):
                yield record
            else:
                file.writelines(compress_member(iter((record,))))

    return sum_skips(write_each())


def sum_skips(skips: Iterable[Skip]) -> list[Skip]:
    """Return the skips summed up by reason, each with the place of the first."""
    skips_by_reason: dict[str, Skip] = {}
    for skip in skips:
        first = skips_by_reason.get(skip.reason, replace(skip, bytes=0, records=0))
        skips_by_reason[skip.reason] = replace(
            first, bytes=first.bytes + skip.bytes, records=first.records + skip.records
        )
    return list(skips_by_reason.values())
