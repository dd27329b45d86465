"""Values of a soak run: its plan, the workers that were killed, and all that was observed.

`benchmarks.soak` fills them and `benchmarks.soak_checks` judges them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
    """Seconds between two kills."""
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


@dataclass
class SoakRun:
    """Observations of a whole run."""

    plan: Plan
    observations: ClientObservations = field(default_factory=ClientObservations)
    """Observations of the clients."""
    kills: list[WorkerKill] = field(default_factory=list)
    memory_samples: list[tuple[float, int, str, float, int]] = field(default_factory=list)
    """Samples of (seconds into the run, process id, supervisor or worker, its age in seconds, its anonymous bytes)."""
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
