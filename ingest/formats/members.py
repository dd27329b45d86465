"""Gzip members that per-record copies consist of, and the byte ranges that they are made of."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator

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
