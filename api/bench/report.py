"""Shape of the report of `webemu bench`, as it is written with `--json`; docs/bench.md explains the figures.

Times are in the unit that the name ends with; MB are millions of bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, TypedDict, final


class LatencyFigures(TypedDict, total=False):
    """Percentiles of the latency; empty without good answers."""

    p50_ms: float
    p90_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float
    mean_ms: float
    curve_ms: list[list[float]]
    """Points of the whole curve: share of the answers, latency."""


class KindFigures(LatencyFigures):
    """Good answers to the requests of one kind."""

    good: int


class SecondFigures(TypedDict):
    """Good answers that came in one second of the run."""

    second: int
    answers: int
    p50_ms: float
    p99_ms: float


class LoadFigures(TypedDict):
    """Requests and answers."""

    requests: int
    good: int
    """Number of 2xx answers."""
    errors: dict[str, int]
    """Number of other outcomes by status or name."""
    wall_s: float
    per_s: float
    """Good answers per second."""
    received_mb: float
    late_ms: float
    """Longest delay between the time a request was due and the time it was sent."""
    latency: LatencyFigures
    kinds: dict[str, KindFigures]
    seconds: list[SecondFigures]


class CostFigures(TypedDict):
    """CPU time that processes spent."""

    cpu_s: float
    us_per_request: float
    per_core_s: float
    """Good answers per CPU second; 0 if no CPU time was measured."""
    cores: float
    """CPU seconds per second of the run."""


class ServerFigures(CostFigures):
    """CPU time, memory and reads of a server on this machine."""

    anonymous_mb: float
    own_mb: float
    resident_mb: float
    disk_mb: float
    queries_per_core_s: float
    """Queries per CPU second if requests hold several each, else 0."""


class RemoteServerFigures(TypedDict):
    """Figures of a server elsewhere, whose resources are unknown."""

    cpu_s: None
    queries_per_core_s: int


class LoadReport(TypedDict):
    """Figures of the load and of both sides."""

    load: LoadFigures
    server: ServerFigures | RemoteServerFigures
    client: CostFigures


@final
class EngineFigures(TypedDict):
    """Speed of the search engine alone, on one core."""

    queries: int
    per_core_s: float
    p50_us: float
    p99_us: float
    own_bytes: int
    """Bytes of memory that no other process has."""
    ratio: NotRequired[float]
    """Queries per CPU second of the server, divided by `per_core_s`; only if all requests are searches."""


@final
class UnmeasuredEngine(TypedDict):
    """Why the engine alone could not be measured."""

    reason: str


EngineReport = EngineFigures | UnmeasuredEngine


class Machine(TypedDict):
    """The machine that sent the requests."""

    cores: int | None
    python: str
    system: str


class Facts(TypedDict):
    """Circumstances of the run."""

    documents: int
    """Number of documents in the snapshot; 0 if it is unknown."""
    snapshot: str
    distinct: int
    """Number of requests that differ."""
    server_start_s: float
    machine: Machine
    collection: str
    """Name of the collection; empty for a server that ran before."""


class Report(LoadReport):
    """Whole report of a run."""

    settings: Mapping[str, object]
    """Options of the command by name, and those of the server."""
    about: Facts
    engine: EngineReport
    notes: list[str]
    """Circumstances that make a figure mean less than it seems to."""
    title: str
