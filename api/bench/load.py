"""Load generator: one process that sends given requests over keep-alive connections and times the answers.

Closed loop: each connection sends its next request when its answer is in. Open loop: requests are due at Poisson times
drawn beforehand, whatever the server does. A request that finds no free connection waits, and its latency counts from
its due time, so that queueing is not hidden ("coordinated omission").

The sending path creates no task, no future and no copy for a request, so that the generator is not what is measured.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import ssl
import time
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from random import Random
from typing import NamedTuple

from webemu.api.bench.connection import CONNECTING, Wire, opened

PERIOD = 0.2
"""Seconds between two progress messages."""


class Request(NamedTuple):
    """One request, ready to be sent."""

    kind: int
    """Index of its kind in `webemu.api.bench.request_factory.KINDS`."""
    host: str
    """Host whose tunnel it must go through; empty if any connection will do."""
    message: bytes
    """Head and body as they are written to the socket."""


@dataclass(frozen=True)
class Plan:
    """Work of one process."""

    host: str
    port: int
    requests: Sequence[Request]
    connections: int
    """Number of connections to keep open."""
    rate: float = 0.0
    """Requests due per second; 0 is a closed loop."""
    seconds: float = 0.0
    """Duration, over which the requests are repeated; 0 sends each once."""
    seed: str = ""
    """Seed of the open loop's arrival times."""
    authority: str = ""
    """Path of the CA certificate that signs the server's TLS; with it each connection is a tunnel to one host."""


@dataclass
class Samples:
    """Outcomes, one entry per request in each array, in the order of the answers."""

    kinds: array[int] = field(default_factory=lambda: array("B"))
    """Index of each request's kind in `webemu.api.bench.request_factory.KINDS`."""
    statuses: array[int] = field(default_factory=lambda: array("H"))
    """HTTP status; a value below 100 is a failure, see `webemu.api.bench.connection`."""
    due: array[float] = field(default_factory=lambda: array("d"))
    """Seconds after the start at which the request was due."""
    took: array[float] = field(default_factory=lambda: array("d"))
    """Seconds from the due time to the complete answer."""
    received: int = 0
    """Bytes received."""
    wall: float = 0.0
    """Duration of the run in seconds."""
    cpu: float = 0.0
    """CPU seconds of the sending process."""
    late: float = 0.0
    """Longest delay, in seconds, between a due time and sending over a free connection: the generator's own lateness.
    """


class Lane:
    """Requests and connections of one host, or of all hosts if any connection will do."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers
        self.at = 0
        self.waiting: deque[tuple[int, float]] = deque()
        self.idle: list[Wire] = []


class Load:
    """State of one run in one process."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.samples = Samples()
        self.running = False
        self._messages = [request.message for request in plan.requests]
        self._kinds = [request.kind for request in plan.requests]
        self.trusted = ssl.create_default_context(cafile=plan.authority) if plan.authority else None
        self._lanes = self._laid()
        self._lane_of: dict[int, Lane] = {number: lane for lane in self._lanes.values() for number in lane.numbers}
        self._sent = self._back = 0
        self._active = plan.connections
        self._is_over = False
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] = self._loop.create_future()

    def _laid(self) -> dict[str, Lane]:
        """Group the requests by host, the hosts with the most first, at most one host for each connection."""
        hosts: dict[str, list[int]] = {}
        for number, request in enumerate(self.plan.requests):
            hosts.setdefault(request.host, []).append(number)
        chosen = sorted(hosts, key=lambda host: -len(hosts[host]))[: self.plan.connections]
        return {host: Lane(hosts[host]) for host in chosen}

    async def open(self) -> None:
        """Open all connections. Raises OSError if one cannot be opened."""
        # Connections are spread evenly over the hosts.
        names = list(self._lanes)
        wires = [Wire(self, names[number % len(names)]) for number in range(self.plan.connections)]
        await asyncio.gather(*(opened(wire) for wire in wires))
        for wire in wires:
            self._lanes[wire.host].idle.append(wire)
        self._wires = wires

    async def run(self) -> Samples:
        """Send all requests over the open connections and return the samples."""
        self.running = True
        cpu, self.started = time.process_time(), time.perf_counter()
        self._until = self.started + self.plan.seconds if self.plan.seconds else float("inf")
        if self.plan.rate:
            self._arrivals = Random(self.plan.seed)
            self._order = sorted(self._lane_of)
            self._due = self.started
            self._arrive()
        else:
            for lane in self._lanes.values():
                wires, lane.idle = lane.idle, []
                for wire in wires:
                    self.take(wire)
        sweep = self._loop.create_task(self._sweep())
        await self._done
        self.samples.wall = time.perf_counter() - self.started
        self.samples.cpu = time.process_time() - cpu
        self.running = False
        sweep.cancel()
        for wire in self._wires:
            wire.close()
        return self.samples

    async def _sweep(self) -> None:
        """Look for overdue answers once a second."""
        while True:
            await asyncio.sleep(1.0)
            now = time.perf_counter()
            for wire in self._wires:
                wire.look(now)

    def take(self, wire: Wire) -> None:
        """Give a free connection its next request, or keep it idle."""
        lane = self._lanes[wire.host]
        if self.plan.rate:
            if lane.waiting:
                number, due = lane.waiting.popleft()
                wire.send(number, self._messages[number], due)
            else:
                lane.idle.append(wire)
            return
        number = self._next(lane)
        if number < 0:
            self._rests()
        else:
            wire.send(number, self._messages[number], time.perf_counter())

    def _next(self, lane: Lane) -> int:
        """Return the index of the next request of a closed loop; -1 at the end of the run."""
        if time.perf_counter() >= self._until:
            return -1
        if lane.at == len(lane.numbers):
            if not self.plan.seconds:
                return -1
            lane.at = 0
        lane.at += 1
        return lane.numbers[lane.at - 1]

    def _arrive(self) -> None:
        """Send the requests that are due, and schedule the next call for the next due time."""
        now = time.perf_counter()
        while self._due <= now:
            if self._due >= self._until or (not self.plan.seconds and self._sent == len(self._order)):
                self._is_over = True
                self._end()
                return
            number = self._order[self._sent % len(self._order)]
            lane = self._lane_of[number]
            self._sent += 1
            # With no idle connection the server is behind, which is latency and not lateness of this process.
            if lane.idle:
                self.samples.late = max(self.samples.late, now - self._due)
                lane.idle.pop().send(number, self._messages[number], self._due)
            else:
                lane.waiting.append((number, self._due))
            self._due += self._arrivals.expovariate(self.plan.rate)
            now = time.perf_counter()
        self._loop.call_later(self._due - now, self._arrive)

    def answered(self, number: int, status: int, due: float, now: float) -> None:
        """Record the outcome of a request; `status` is below 100 if no answer came."""
        samples = self.samples
        samples.kinds.append(self._kinds[number])
        samples.statuses.append(status)
        samples.due.append(due - self.started)
        samples.took.append(now - due)
        self._back += 1
        if self._is_over:
            self._end()

    def _end(self) -> None:
        """End an open loop once all requests that were sent or queued are answered."""
        if self._back == self._sent and not self._done.done():
            self._done.set_result(None)

    def _rests(self) -> None:
        """Count a connection of a closed loop that has nothing more to send; the last one ends the run."""
        self._active -= 1
        if not self._active and not self._done.done():
            self._done.set_result(None)

    def dropped(self, wire: Wire) -> None:
        """Forget a connection that the server closed while it was idle."""
        idle = self._lanes[wire.host].idle
        if wire in idle:
            idle.remove(wire)

    def unopened(self, wire: Wire) -> bool:
        """Record a request as lost because its connection could not be opened. Return False if opening should be given
        up.
        """
        lane, now = self._lanes[wire.host], time.perf_counter()
        if self.plan.rate:
            if lane.waiting:
                number, due = lane.waiting.popleft()
                self.answered(number, CONNECTING, due, now)
            return not self._done.done()
        number = self._next(lane)
        if number < 0:
            self._rests()
            return False
        self.answered(number, CONNECTING, now, now)
        return True


def work(plan: Plan, pipe: Pipe) -> None:
    """Run a load process.

    It sends `None` when its connections are open, waits for any message to start, sends the number of answers every
    `PROGRESS_SECONDS`, and ends with its `Samples`, or with the exception that stopped it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends this process
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            pipe.send(runner.run(_work(plan, pipe)))
    except Exception as error:
        pipe.send(error)


async def _work(plan: Plan, pipe: Pipe) -> Samples:
    load = Load(plan)
    await load.open()
    # No garbage collection during the measurement: its pauses would count as latency.
    gc.collect()
    gc.freeze()
    gc.disable()
    pipe.send(None)
    pipe.recv()

    async def tell() -> None:
        while True:
            await asyncio.sleep(PERIOD)
            try:
                pipe.send(len(load.samples.took))
            except OSError:  # the parent is gone
                os._exit(1)

    telling = asyncio.get_running_loop().create_task(tell())
    samples = await load.run()
    telling.cancel()
    return samples


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # not on Windows
    except ModuleNotFoundError:
        return None
    return uvloop.Loop
