"""The load: one process that sends given requests over keep-alive connections and notes how long each answer took.

Closed loop: each connection sends the next request when its answer is in. Open loop: requests are due at times drawn
beforehand (Poisson), whatever the server does; one that finds no free connection waits, and its latency counts from
when it was due, so that queueing is not hidden ("coordinated omission"). No task, no future, no copy per request.
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
"""Seconds between two words about progress."""


class Request(NamedTuple):
    """One request, ready to be sent."""

    kind: int
    """Place of its kind in `Plan.kinds`."""
    host: str
    """Of the tunnel it goes through; empty where any connection will do."""
    message: bytes


@dataclass(frozen=True)
class Plan:
    """What one process sends."""

    host: str
    port: int
    requests: Sequence[Request]
    connections: int
    rate: float = 0.0
    """Requests per second that are due; 0: closed loop."""
    seconds: float = 0.0
    """Requests begin anew until so long; 0: each is sent once."""
    seed: str = ""
    authority: str = ""
    """File of the certificate that ends TLS; with it each connection is a tunnel to a host."""


@dataclass
class Samples:
    """What came back, one entry per request in each array, in the order of the answers."""

    kinds: array[int] = field(default_factory=lambda: array("B"))
    statuses: array[int] = field(default_factory=lambda: array("H"))
    """Of HTTP; below 100: see `webemu.api.bench.connection`."""
    due: array[float] = field(default_factory=lambda: array("d"))
    """Seconds after the start at which it was to be sent."""
    took: array[float] = field(default_factory=lambda: array("d"))
    """Seconds from then to the whole answer."""
    received: int = 0
    """Bytes."""
    wall: float = 0.0
    cpu: float = 0.0
    """Seconds, of the process that sent."""
    late: float = 0.0
    """Seconds that this process was late to send what was due, at worst."""


class Lane:
    """Connections that can take each other's requests: all of them, or those to one host."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers
        self.at = 0
        self.waiting: deque[tuple[int, float]] = deque()
        self.idle: list[Wire] = []


class Load:
    """One run."""

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
        """Requests by host, those with the most first, no more hosts than connections."""
        hosts: dict[str, list[int]] = {}
        for number, request in enumerate(self.plan.requests):
            hosts.setdefault(request.host, []).append(number)
        chosen = sorted(hosts, key=lambda host: -len(hosts[host]))[: self.plan.connections]
        return {host: Lane(hosts[host]) for host in chosen}

    async def open(self) -> None:
        """All connections."""
        names = list(self._lanes)
        wires = [Wire(self, names[number % len(names)]) for number in range(self.plan.connections)]
        await asyncio.gather(*(opened(wire) for wire in wires))
        for wire in wires:
            self._lanes[wire.host].idle.append(wire)
        self._wires = wires

    async def run(self) -> Samples:
        """Send everything. The connections are open."""
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
        while True:
            await asyncio.sleep(1.0)
            now = time.perf_counter()
            for wire in self._wires:
                wire.look(now)

    def take(self, wire: Wire) -> None:
        """A connection is free."""
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
        """Number of the request that is next in a closed loop; -1 at the end."""
        if time.perf_counter() >= self._until:
            return -1
        if lane.at == len(lane.numbers):
            if not self.plan.seconds:
                return -1
            lane.at = 0
        lane.at += 1
        return lane.numbers[lane.at - 1]

    def _arrive(self) -> None:
        """Send what is due, and come back when the next one is."""
        now = time.perf_counter()
        while self._due <= now:
            if self._due >= self._until or (not self.plan.seconds and self._sent == len(self._order)):
                self._is_over = True
                self._end()
                return
            number = self._order[self._sent % len(self._order)]
            lane = self._lane_of[number]
            self._sent += 1
            if lane.idle:
                self.samples.late = max(self.samples.late, now - self._due)
                lane.idle.pop().send(number, self._messages[number], self._due)
            else:
                lane.waiting.append((number, self._due))
            self._due += self._arrivals.expovariate(self.plan.rate)
            now = time.perf_counter()
        self._loop.call_later(self._due - now, self._arrive)

    def answered(self, number: int, status: int, due: float, now: float) -> None:
        """Note one request; `status` below 100 where no answer came."""
        samples = self.samples
        samples.kinds.append(self._kinds[number])
        samples.statuses.append(status)
        samples.due.append(due - self.started)
        samples.took.append(now - due)
        self._back += 1
        if self._is_over:
            self._end()

    def _end(self) -> None:
        """Of an open loop, when all that was due is answered."""
        if self._back == self._sent and not self._done.done():
            self._done.set_result(None)

    def _rests(self) -> None:
        """A connection of a closed loop has nothing more to send."""
        self._active -= 1
        if not self._active and not self._done.done():
            self._done.set_result(None)

    def dropped(self, wire: Wire) -> None:
        """A connection was closed by the server while it had nothing to do."""
        idle = self._lanes[wire.host].idle
        if wire in idle:
            idle.remove(wire)

    def unopened(self, wire: Wire) -> bool:
        """A connection could not be opened: a request that would have gone over it is lost. False: stop trying."""
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
    """The life of a load process: says `None` when its connections are open, waits for a word, tells how many answers
    are in every `PERIOD`, and gives `Samples`; or the exception that ended it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for who started this to end it
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            pipe.send(runner.run(_work(plan, pipe)))
    except Exception as error:
        pipe.send(error)


async def _work(plan: Plan, pipe: Pipe) -> Samples:
    load = Load(plan)
    await load.open()
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
            except OSError:  # who started this is gone
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
