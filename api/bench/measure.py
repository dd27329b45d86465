"""One measured run: load processes send their requests while the server's processes are observed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from tqdm import tqdm

from webemu.api.bench.figures import costs, described, is_good, joined
from webemu.api.bench.load import PERIOD, Plan, Request, Samples, work
from webemu.api.bench.server import Server, Usage
from webemu.emulator.errors import Overloaded

GRACE = 10.0
"""Seconds that a load process has to end."""


@dataclass(frozen=True)
class Traffic:
    """Parameters of the load; see `webemu.api.bench.load.Plan`."""

    connections: int
    rate: float = 0.0
    seconds: float = 0.0
    clients: int = 1
    """Number of processes that send."""
    seed: str = ""
    authority: str = ""

    def plans(self, server: Server, requests: Sequence[Request]) -> list[Plan]:
        """Divide requests, connections and rate evenly over the processes; return the plan of each."""
        plans = []
        for number in range(self.clients):
            # Rounding differs by process, so that the parts add up to all connections.
            connections = (self.connections + number) // self.clients
            of_this, seed = requests[number :: self.clients], f"{self.seed}/{number}"
            place = server.host, server.port, of_this, connections
            plans.append(Plan(*place, self.rate / self.clients, self.seconds, seed, self.authority))
        return plans


@dataclass(frozen=True)
class Measured:
    """Samples of a run, and the resources that the server used."""

    samples: Samples
    """Samples of all processes, merged."""
    used: Usage
    """Resources that the server used during the run."""
    resident: int
    """Peak of the server's resident bytes, mapped files included, sampled once a second."""
    own: tuple[int, int]
    """Server memory after the run: anonymous bytes and unshared bytes, see `Server.private_memory`."""
    is_here: bool
    """True if the server runs on this machine; otherwise its resources are unknown."""
    clients: int
    """Number of processes that sent."""

    def told(self, queries_per_request: float = 0) -> dict[str, Any]:
        """Return the figures as JSON with the keys `load`, `server` and `client`.

        `queries_per_request` is the mean number of queries in a request, for the rate of batches; 0 if it is not of
        interest.
        """
        load = described(self.samples)
        good, wall = load["good"], self.samples.wall
        server: dict[str, Any] = {"cpu_s": None, "queries_per_core_s": 0}
        if self.is_here:
            server = costs(good, self.used.cpu) | {
                "cores": round(self.used.cpu / wall, 3),
                "anonymous_mb": round(self.own[0] / 1e6, 2),
                "own_mb": round(self.own[1] / 1e6, 2),
                "resident_mb": round(self.resident / 1e6, 2),
                "disk_mb": round(self.used.read / 1e6, 3),
            }
            batch = queries_per_request if queries_per_request > 1 else 0
            server["queries_per_core_s"] = round(batch * server["per_core_s"], 1)
        client = costs(good, self.samples.cpu) | {"cores": round(self.samples.cpu / wall, 3)}
        return {"load": load, "server": server, "client": client}


@contextmanager
def processes(plans: Sequence[Plan]) -> Iterator[list[Pipe]]:
    """Start a load process for each plan and yield the pipes to them; stop the processes on exit."""
    context = get_context("spawn")  # a forked child would inherit threads and sockets
    begun: list[BaseProcess] = []
    pipes: list[Pipe] = []
    try:
        for plan in plans:
            here, there = context.Pipe()
            begun.append(context.Process(target=work, args=(plan, there), daemon=True))
            begun[-1].start()
            there.close()
            pipes.append(here)
        yield pipes
        for process in begun:
            process.join(GRACE)
    finally:
        for process in begun:
            process.terminate()


def _heard(pipe: Pipe) -> Any:
    """Receive a message of a load process. Raises Overloaded if the process failed."""
    try:
        said = pipe.recv()
    except EOFError:
        said = RuntimeError("it ended without a message")
    if isinstance(said, Exception):
        raise Overloaded(
            f"the load process failed: {said}",
            action="check that the server is up, and that `ulimit -n` allows all connections",
        )
    return said


def measured(server: Server, requests: Sequence[Request], traffic: Traffic, label: str, quiet: bool) -> Measured:
    """Send all requests and return what was measured; `quiet` hides the progress bar labelled `label`.

    Raises Overloaded if a load process fails or no request is answered with a 2xx.
    """
    with processes(traffic.plans(server, requests)) as pipes:
        for pipe in pipes:
            _heard(pipe)
        before, resident = server.usage(), server.resident()
        for pipe in pipes:
            pipe.send(None)
        found: dict[Pipe, Samples] = {}
        counts: dict[Pipe, int] = {}
        looked = time.monotonic()
        total = None if traffic.seconds else len(requests)
        with tqdm(total=total, desc=label, unit=" answers", disable=quiet, leave=False) as bar:
            while len(found) < len(pipes):
                speaking = wait([one for one in pipes if one not in found], PERIOD)
                for pipe in (one for one in pipes if one in speaking):
                    said = _heard(pipe)
                    if isinstance(said, Samples):
                        found[pipe] = said
                    else:
                        counts[pipe] = said
                        bar.update(sum(counts.values()) - bar.n)
                if time.monotonic() - looked > 1:
                    looked, resident = time.monotonic(), max(resident, server.resident())
        used = server.usage() - before
    samples = joined([found[pipe] for pipe in pipes])
    if not any(map(is_good, samples.statuses)):
        statuses = sorted(set(samples.statuses))
        raise Overloaded(
            f"none of {len(samples.statuses):,} requests got a 2xx answer: {described(samples)['errors'] or statuses}",
            action="check that this is a webemu server of the same collection",
        )
    return Measured(samples, used, max(resident, server.resident()), server.own(), server.is_here, traffic.clients)
