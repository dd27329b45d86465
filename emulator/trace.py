"""The trace of a session: one row per search, opened page, missing page, or request that did none of these."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Trace(NamedTuple):
    """One row as stored in Parquet; `webemu.index.trace_files` has the column types."""

    session: str
    task: str
    rollout: str
    step: int
    """Number of the request in its session, from 1."""
    service: str
    """Name of the service that answered: a dialect, `webemu`, or a host of the web."""
    kind: str
    """Kind of row: search, open, miss (the page is not captured) or other."""
    query: str
    url: str
    """URL of the page; of the request if it had neither page nor query."""
    referer: str
    first: int
    """Rank of the first result shown, from 1; 0 if there is none."""
    shown: tuple[str, ...]
    """URLs of the results, in order."""
    shown_step: int
    """Step whose results last listed this page; 0 if none did."""
    rank: int
    """Rank of the page in those results."""
    status: int
    """HTTP status; 0 if there was no response."""
    milliseconds: float
    bytes: int
    weather: str
    """Injected faults, separated by commas."""
    failed: bool
    """True if the server itself failed."""


class Traces(Protocol):
    """Port: a sink of traces that never blocks and never raises."""

    def put(self, rows: tuple[Trace, ...]) -> None:
        """Queue rows for writing; rows are dropped if the queue is full."""
        ...

    def figures(self) -> dict[str, int]:
        """Return the number of rows that were taken and that were lost."""

    def close(self) -> None:
        """Write the queued rows."""
