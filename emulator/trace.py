"""One line of a session's trace: a search, a page that was opened, or a request that did neither."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Trace(NamedTuple):
    """A row as it rests in Parquet; `webemu.index.traces` has the columns' types."""

    session: str
    task: str
    rollout: str
    step: int
    """Number of the request in its session, from 1."""
    service: str
    """Who was asked: the name of a dialect, `webemu`, or a host of the web."""
    kind: str
    """search, open or other."""
    query: str
    url: str
    """Of the page; of the request where there was neither page nor query."""
    referer: str
    first: int
    """Rank of the first result shown, from 1; 0 if there is none."""
    shown: tuple[str, ...]
    """Results in order."""
    shown_step: int
    """Step whose results had this page last; 0 if none had."""
    rank: int
    """Its rank there."""
    status: int
    """0 where no answer was given."""
    milliseconds: float
    bytes: int
    weather: str
    """Injected faults, with commas between them."""
    failed: bool
    """A failure of ours."""


class Traces(Protocol):
    """Port: where traces go. Never waits and never raises."""

    def put(self, rows: tuple[Trace, ...]) -> None: ...

    def figures(self) -> dict[str, int]:
        """How many rows were taken, and how many lost."""

    def close(self) -> None:
        """Write what is held."""
