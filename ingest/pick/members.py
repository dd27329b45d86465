"""Check of fetched records: a range of a changed file holds anything, and must not become a page."""

from __future__ import annotations

import re
import zlib

_TARGET = re.compile(rb"^WARC-Target-URI:[ \t]*<?([^\r\n>]*)", re.IGNORECASE | re.MULTILINE)
_HEAD_BYTES = 1 << 17
"""Most unpacked bytes in which a record's head must end."""
_STEP_BYTES = 1 << 20


def find_flaw(member: bytes, url: str) -> str:
    """Return why the bytes are not one gzip member with a WARC record of the URL; an empty text if they are.

    The reasons are `not-a-record`, `cut-record` and `other-record`.
    """
    unpacker = zlib.decompressobj(31)
    try:
        head = unpacker.decompress(member, _HEAD_BYTES)
        while not unpacker.eof and unpacker.unconsumed_tail:
            unpacker.decompress(unpacker.unconsumed_tail, _STEP_BYTES)
    except zlib.error:
        return "not-a-record"
    if not head.startswith(b"WARC/"):
        return "not-a-record"
    if not unpacker.eof or unpacker.unused_data:
        return "cut-record"
    target = _TARGET.search(head.partition(b"\r\n\r\n")[0])
    return "" if target and target[1].strip() == url.encode("utf-8", "surrogateescape") else "other-record"
