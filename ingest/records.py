"""Records that a reader hands out, and skips: byte ranges that it had to pass over, with a named reason.

Reasons:
    truncated-record         the file ends inside the record; what is left of a payload is still handed out
    content-length-mismatch  the block is shorter or longer than its head says
    bad-content-length       the length is missing, not a number, or stated twice differently
    bad-head                 the head does not end before the next record begins
    oversized-head           the head is larger than MAX_HEAD
    oversized-record         the record inflates without end
    damaged-gzip             a gzip member that does not inflate to its end
    not-a-record             a gzip member that holds something else
    empty-member             a gzip member that holds nothing
    records-share-member     a gzip member with several records, or with a part of one: the file needs a copy
    junk-between-records     bytes that belong to no record
    empty-file               a file without bytes
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_HEAD = 1 << 20
"""Largest head of a record (its WARC headers), in bytes; a record with a larger one is skipped."""
MAX_BLOCK = 64 << 20
"""Largest record block kept in memory, in bytes; of larger records only the head is handed out."""


@dataclass(slots=True)
class Record:
    """One whole WARC record."""

    offset: int
    """Offset in the file of its gzip member, or of its version line in a plain file."""
    length: int
    """Bytes in the file up to whatever follows it."""
    type: str
    """WARC-Type in lower case; `unknown` if there is none."""
    headers: list[tuple[str, str]]
    """WARC headers in order, repeated ones kept."""
    block: bytes
    """Everything after the WARC head: for a response the HTTP head and body. Empty if oversized."""
    declared_length: int
    """Content-Length. It equals the length of `block` unless the record is oversized or cut."""
    is_oversized: bool = False
    """True if the block is larger than the reader's limit and was not kept."""
    has_other_length: bool = False
    """True if the head in the file states another length: a copy must state `declared_length`."""
    missing_bytes: int = 0
    """Bytes of the block that are missing because the file ends early; `block` is the part that is there."""

    def get(self, name: str) -> str | None:
        """Return the first value of a header, whatever its case; None if there is none."""
        lower_name = name.lower()
        for key, value in self.headers:
            if key.lower() == lower_name:
                return value
        return None


@dataclass(frozen=True, slots=True)
class Skip:
    """A range of the file that gives no record."""

    reason: str
    """Name of the drop, listed in the module's docstring."""
    offset: int
    bytes: int
    records: int = 1
    """Number of such ranges, if several are summed up; `offset` is that of the first."""
    lost_bytes: int = 0
    """Bytes lost in addition to those of the range: those that a cut record no longer has."""
