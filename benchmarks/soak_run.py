"""Values of a soak run: its plan, the workers that were killed, and all that was observed.

`benchmarks.soak` fills them and `benchmarks.soak_checks` judges them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.soak_traffic import ClientObservations, SoakRequest


@dataclass(frozen=True)
class Plan:
    """Parameters of a run, named as its options."""

    minutes: float = 15.0
    connections: int = 1024
    """Simulated clients, each with one connection."""
    rate: float = 400.0
    """Requests per second of all clients together."""
    pages: int = 20_000
    """Pages of each of the two webs."""
    workers: int = 2
    """Worker processes of the server."""
    kill_every: float = 20.0
    """Seconds between two kills; 0 kills none."""
    rude: float = 1.0
    """Connections per second that behave badly (`benchmarks.soak_rude`)."""
    switches: int = 4
    """Switches of the snapshot after the one by the ingest."""

    @property
    def seconds(self) -> float:
        """Duration of the traffic."""
        return 60 * self.minutes


@dataclass
class WorkerKill:
    """A worker that was killed."""

    time: float
    """Time of the kill, in seconds since the epoch."""
    pid: int
    client_ports: set[int]
    """Clients' ports of its connections."""
    unpublished_count: int
    """Requests that it answered after it last published its counts."""
    replaced_after_seconds: float | None = None
    """Seconds until a new worker published its counts; None if it was not seen."""


class ProcessSample(NamedTuple):
    """Memory and file descriptors of a process of the server at a moment."""

    elapsed: float
    """Seconds into the run."""
    pid: int
    kind: str
    """`supervisor` or `worker`."""
    age: float
    """Seconds since the process began."""
    memory_bytes: int
    """Anonymous memory."""
    descriptors: int
    """Open file descriptors."""


@dataclass
class SoakRun:
    """Observations of a whole run."""

    plan: Plan
    observations: ClientObservations = field(default_factory=ClientObservations)
    """Observations of the clients."""
    kills: list[WorkerKill] = field(default_factory=list)
    process_samples: list[ProcessSample] = field(default_factory=list)
    rude_connections: Counter[str] = field(default_factory=Counter)
    """Connections that behaved badly, by what they did."""
    rude_requests: Counter[str] = field(default_factory=Counter)
    """Requests that they sent, by place; how many the server answered, no client knows."""
    started_at: float = 0.0
    """Start of the traffic, in seconds since the epoch."""
    seen_switches: list[tuple[str, float]] = field(default_factory=list)
    """Switches that were seen: (snapshot, seconds until an answer named it)."""
    snapshots: list[str] = field(default_factory=list)
    """Both snapshots, in the order in which they were built."""
    ingest_seconds: float = 0.0
    wall: float = 0.0
    client_cpu: float = 0.0
    server_counts: dict[tuple[str, int], int] = field(default_factory=dict)
    """Requests that `/metrics` reports at the end, by place and status."""
    reference_digests: dict[tuple[SoakRequest, str], bytes] = field(default_factory=dict)
    """Digests of the answers of fresh servers, by request and snapshot."""
