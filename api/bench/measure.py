"""One measured run: load processes send what they were given while the server's processes are watched."""

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
    """How requests are sent; see `webemu.api.bench.load.Plan`."""

    connections: int
    rate: float = 0.0
    seconds: float = 0.0
    clients: int = 1
    """Processes that send."""
    seed: str = ""
    authority: str = ""

    def plans(self, server: Server, requests: Sequence[Request]) -> list[Plan]:
        """What each process sends."""
        plans = []
        for number in range(self.clients):
            connections = (self.connections + number) // self.clients
            of_this, seed = requests[number :: self.clients], f"{self.seed}/{number}"
            place = server.host, server.port, of_this, connections
            plans.append(Plan(*place, self.rate / self.clients, self.seconds, seed, self.authority))
        return plans


@dataclass(frozen=True)
class Measured:
    """What came of it."""

    samples: Samples
    used: Usage
    resident: int
    """Bytes at most, with mapped files."""
    own: tuple[int, int]
    """Bytes at the end; see `Server.own`."""
    is_here: bool
    clients: int

    def told(self, queries_per_request: float = 0) -> dict[str, Any]:
        """As figures: `load`, `server`, `client`."""
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
    """Load processes and the pipes to them; ended in any case."""
    context = get_context("spawn")
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
    """Raises Overloaded where the load process failed."""
    try:
        said = pipe.recv()
    except EOFError:
        said = RuntimeError("it ended without a word")
    if isinstance(said, Exception):
        raise Overloaded(f"the load process failed: {said}", action="is the server up, and are enough files allowed?")
    return said


def measured(server: Server, requests: Sequence[Request], traffic: Traffic, label: str, quiet: bool) -> Measured:
    """Send all requests. Raises Overloaded where nothing could be sent, or nothing came back."""
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
            f"none of {len(samples.statuses):,} requests was answered well: {described(samples)['errors'] or statuses}",
            action="is this a webemu server, and of the collection that was asked about?",
        )
    return Measured(samples, used, max(resident, server.resident()), server.own(), server.is_here, traffic.clients)
