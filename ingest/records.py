"""What a reader hands out: whole records, and the byte ranges it had to pass over, under a named reason.

Reasons:
    truncated-record         the file ends inside the record; what is left of a payload is still handed out
    content-length-mismatch  the block is shorter or longer than its head says
    bad-content-length       the length is missing, no number, or stated twice differently
    bad-head                 the head does not end before the next record begins
    oversized-head           the head is larger than MAX_HEAD
    oversized-record         the record inflates without end
    damaged-gzip             a gzip member that does not inflate to its end
    not-a-record             a gzip member that holds something else
    empty-member             a gzip member that holds nothing
    records-share-member     a gzip member with several records, or with a part of one: the file needs a copy
    junk-between-records     bytes that belong to nothing
    empty-file               a file without bytes
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_HEAD = 1 << 20
"""Bytes of WARC headers that are read before a record is given up."""
MAX_BLOCK = 64 << 20
"""Bytes of a record block that are kept in memory; of larger records only the head is handed out."""


@dataclass(slots=True)
class Record:
    """One whole WARC record."""

    offset: int
    """Where it begins in the file: its gzip member, or its version line."""
    length: int
    """Bytes in the file up to what follows it."""
    type: str
    """WARC-Type in lower case; `unknown` where there is none."""
    headers: list[tuple[str, str]]
    """WARC headers in order, repeated ones kept."""
    block: bytes
    """All that follows the WARC head: for a response the HTTP head and body. Empty if oversized."""
    declared_length: int
    """Content-Length; that of the block, unless oversized or cut."""
    oversized: bool = False
    has_other_length: bool = False
    """True if the head in the file states another length: a copy must state `declared_length`."""
    missing: int = 0
    """Bytes of the block that are not there, because the file ends before; `block` is the part that is."""

    def get(self, name: str) -> str | None:
        """First value of a header, whatever its case."""
        wanted = name.lower()
        for key, value in self.headers:
            if key.lower() == wanted:
                return value
        return None


@dataclass(frozen=True, slots=True)
class Skip:
    """A range of the file that gives no record."""

    reason: str
    offset: int
    bytes: int
    detail: str = ""
    records: int = 1
    """How many such ranges; `offset` is that of the first."""
    lost: int = 0
    """Bytes lost beyond those of the range: what a record that was cut no longer has."""
