"""The plan of a pick: which byte ranges to request, and what that will cost. It connects to nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby

from webemu.index.columnar_index import RecordRange

_MAX_REQUEST_BYTES = 16 << 20
"""Most bytes that neighbours are joined to; one longer record is a request of its own."""


@dataclass(frozen=True, slots=True)
class RangeRequest:
    """One byte range of one file, with the records that are wanted of it."""

    filename: str
    records: tuple[RecordRange, ...]
    """Records in the order of their offsets; never empty."""

    @property
    def start(self) -> int:
        """Return the offset of the first byte."""
        return self.records[0].offset

    @property
    def end(self) -> int:
        """Return the offset behind the last byte."""
        return max(record.offset + record.length for record in self.records)

    @property
    def name(self) -> str:
        """Return a name that no other request of a plan has."""
        return f"{self.filename}:{self.start}-{self.end}"


@dataclass(frozen=True, slots=True)
class Plan:
    """All requests of a pick."""

    requests: tuple[RangeRequest, ...]

    @property
    def records(self) -> int:
        """Return the number of records."""
        return sum(len(request.records) for request in self.requests)

    @property
    def record_bytes(self) -> int:
        """Return the compressed bytes of the records: what is written."""
        return sum(record.length for request in self.requests for record in request.records)

    @property
    def download_bytes(self) -> int:
        """Return the bytes of all requests: the records and the gaps between joined neighbours."""
        return sum(request.end - request.start for request in self.requests)

    @property
    def files(self) -> int:
        """Return the number of WARC files that are touched."""
        return len({request.filename for request in self.requests})

    @property
    def hosts(self) -> int:
        """Return the number of hosts."""
        return len({record.host for request in self.requests for record in request.records})

    @property
    def fingerprint(self) -> str:
        """Return a hash of the requests, which tells one plan from another."""
        records = (record for request in self.requests for record in request.records)
        names = "\n".join(f"{record.filename} {record.offset} {record.length}" for record in records)
        return sha256("\n".join([names, *(request.name for request in self.requests)]).encode()).hexdigest()[:16]


def build_plan(records: Sequence[RecordRange], max_gap: int) -> Plan:
    """Return the plan for records, joining those of a file that lie at most `max_gap` bytes apart."""
    ordered = sorted(records, key=lambda record: (record.filename, record.offset))
    groups = groupby(ordered, key=lambda record: record.filename)
    return Plan(tuple(request for name, group in groups for request in _join_neighbours(name, list(group), max_gap)))


def _join_neighbours(filename: str, records: list[RecordRange], max_gap: int) -> Iterator[RangeRequest]:
    """Yield the requests for the records of one file, which are in the order of their offsets."""
    joined = [records[0]]
    for record in records[1:]:
        gap = record.offset - joined[-1].offset - joined[-1].length
        if gap <= max_gap and record.offset + record.length - joined[0].offset <= _MAX_REQUEST_BYTES:
            joined.append(record)
        else:
            yield RangeRequest(filename, tuple(joined))
            joined = [record]
    yield RangeRequest(filename, tuple(joined))
