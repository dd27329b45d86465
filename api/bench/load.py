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

from webemu.api.bench.connection import NOT_CONNECTED, LoadConnection, open_connection

PROGRESS_SECONDS = 0.2
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
class LoadPlan:
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


class HostQueue:
    """Requests and connections of one host, or of all hosts if any connection will do."""

    def __init__(self, request_indexes: list[int]) -> None:
        self.request_indexes = request_indexes
        self.next_position = 0
        self.waiting_requests: deque[tuple[int, float]] = deque()
        self.idle_connections: list[LoadConnection] = []


class LoadRun:
    """State of one run in one process."""

    def __init__(self, plan: LoadPlan) -> None:
        self.plan = plan
        self.samples = Samples()
        self.is_running = False
        self._messages = [request.message for request in plan.requests]
        self._kinds = [request.kind for request in plan.requests]
        self.address = plan.host, plan.port
        self.tls_context = ssl.create_default_context(cafile=plan.authority) if plan.authority else None
        self._queues = self._queues_by_host()
        self._queue_of: dict[int, HostQueue] = {
            number: lane for lane in self._queues.values() for number in lane.request_indexes
        }
        self._sent_count = self._answered_count = 0
        self._active_count = plan.connections
        self._all_due_sent = False
        self._loop = asyncio.get_running_loop()
        self._finished: asyncio.Future[None] = self._loop.create_future()

    def _queues_by_host(self) -> dict[str, HostQueue]:
        """Group the requests by host, the hosts with the most first, at most one host for each connection."""
        indexes_by_host: dict[str, list[int]] = {}
        for request_index, request in enumerate(self.plan.requests):
            indexes_by_host.setdefault(request.host, []).append(request_index)
        selected_hosts = sorted(indexes_by_host, key=lambda host: -len(indexes_by_host[host]))[: self.plan.connections]
        return {host: HostQueue(indexes_by_host[host]) for host in selected_hosts}

    async def open(self) -> None:
        """Open all connections. Raises OSError if one cannot be opened."""
        # Connections are spread evenly over the hosts.
        names = list(self._queues)
        connections = [LoadConnection(self, names[number % len(names)]) for number in range(self.plan.connections)]
        await asyncio.gather(*(open_connection(connection) for connection in connections))
        for connection in connections:
            self._queues[connection.host].idle_connections.append(connection)
        self._connections = connections

    async def run(self) -> Samples:
        """Send all requests over the open connections and return the samples."""
        self.is_running = True
        cpu, self.started_at = time.process_time(), time.perf_counter()
        self._ends_at = self.started_at + self.plan.seconds if self.plan.seconds else float("inf")
        if self.plan.rate:
            self._arrival_random = Random(self.plan.seed)
            self._request_order = sorted(self._queue_of)
            self._next_due_at = self.started_at
            self._send_due()
        else:
            for queue in self._queues.values():
                connections, queue.idle_connections = queue.idle_connections, []
                for connection in connections:
                    self.assign_next(connection)
        timeout_task = self._loop.create_task(self._check_timeouts())
        await self._finished
        self.samples.wall = time.perf_counter() - self.started_at
        self.samples.cpu = time.process_time() - cpu
        self.is_running = False
        timeout_task.cancel()
        for connection in self._connections:
            connection.close()
        return self.samples

    async def _check_timeouts(self) -> None:
        """Look for overdue answers once a second."""
        while True:
            await asyncio.sleep(1.0)
            now = time.perf_counter()
            for connection in self._connections:
                connection.check_timeout(now)

    def assign_next(self, connection: LoadConnection) -> None:
        """Give a free connection its next request, or keep it idle."""
        queue = self._queues[connection.host]
        if self.plan.rate:
            if queue.waiting_requests:
                request_index, due = queue.waiting_requests.popleft()
                connection.send(request_index, self._messages[request_index], due)
            else:
                queue.idle_connections.append(connection)
            return
        request_index = self._next_index(queue)
        if request_index < 0:
            self._retire_connection()
        else:
            connection.send(request_index, self._messages[request_index], time.perf_counter())

    def _next_index(self, queue: HostQueue) -> int:
        """Return the index of the next request of a closed loop; -1 at the end of the run."""
        if time.perf_counter() >= self._ends_at:
            return -1
        if queue.next_position == len(queue.request_indexes):
            if not self.plan.seconds:
                return -1
            queue.next_position = 0
        queue.next_position += 1
        return queue.request_indexes[queue.next_position - 1]

    def _send_due(self) -> None:
        """Send the requests that are due, and schedule the next call for the next due time."""
        now = time.perf_counter()
        while self._next_due_at <= now:
            if self._next_due_at >= self._ends_at or (
                not self.plan.seconds and self._sent_count == len(self._request_order)
            ):
                self._all_due_sent = True
                self._finish_open_loop()
                return
            request_index = self._request_order[self._sent_count % len(self._request_order)]
            queue = self._queue_of[request_index]
            self._sent_count += 1
            # With no idle connection the server is behind, which is latency and not lateness of this process.
            if queue.idle_connections:
                self.samples.late = max(self.samples.late, now - self._next_due_at)
                queue.idle_connections.pop().send(request_index, self._messages[request_index], self._next_due_at)
            else:
                queue.waiting_requests.append((request_index, self._next_due_at))
            self._next_due_at += self._arrival_random.expovariate(self.plan.rate)
            now = time.perf_counter()
        self._loop.call_later(self._next_due_at - now, self._send_due)

    def count_received(self, size: int) -> None:
        """Count bytes that arrived."""
        self.samples.received += size

    def record_answer(self, request_index: int, status: int, due: float, now: float) -> None:
        """Record the outcome of a request; `status` is below 100 if no answer came."""
        samples = self.samples
        samples.kinds.append(self._kinds[request_index])
        samples.statuses.append(status)
        samples.due.append(due - self.started_at)
        samples.took.append(now - due)
        self._answered_count += 1
        if self._all_due_sent:
            self._finish_open_loop()

    def _finish_open_loop(self) -> None:
        """End an open loop once all requests that were sent or queued are answered."""
        if self._answered_count == self._sent_count and not self._finished.done():
            self._finished.set_result(None)

    def _retire_connection(self) -> None:
        """Count a connection of a closed loop that has nothing more to send; the last one ends the run."""
        self._active_count -= 1
        if not self._active_count and not self._finished.done():
            self._finished.set_result(None)

    def forget_idle(self, connection: LoadConnection) -> None:
        """Forget a connection that the server closed while it was idle."""
        idle_connections = self._queues[connection.host].idle_connections
        if connection in idle_connections:
            idle_connections.remove(connection)

    def record_unopened(self, connection: LoadConnection) -> bool:
        """Record a request as lost because its connection could not be opened. Return False if opening should be given
        up.
        """
        queue, now = self._queues[connection.host], time.perf_counter()
        if self.plan.rate:
            if queue.waiting_requests:
                request_index, due = queue.waiting_requests.popleft()
                self.record_answer(request_index, NOT_CONNECTED, due, now)
            return not self._finished.done()
        request_index = self._next_index(queue)
        if request_index < 0:
            self._retire_connection()
            return False
        self.record_answer(request_index, NOT_CONNECTED, now, now)
        return True


def run_process(plan: LoadPlan, pipe: Pipe) -> None:
    """Run a load process.

    It sends 0 when its connections are open, waits for any message to start, sends the number of answers every
    `PROGRESS_SECONDS`, and ends with its `Samples`, or with the exception that stopped it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends this process
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            pipe.send(runner.run(_run_load(plan, pipe)))
    except Exception as error:
        pipe.send(error)


async def _run_load(plan: LoadPlan, pipe: Pipe) -> Samples:
    load = LoadRun(plan)
    await load.open()
    # No garbage collection during the measurement: its pauses would count as latency.
    gc.collect()
    gc.freeze()
    gc.disable()
    pipe.send(0)
    pipe.recv()

    async def report_progress() -> None:
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            try:
                pipe.send(len(load.samples.took))
            except OSError:  # the parent is gone
                os._exit(1)

    progress_task = asyncio.get_running_loop().create_task(report_progress())
    samples = await load.run()
    progress_task.cancel()
    return samples


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # not on Windows
    except ModuleNotFoundError:
        return None
    return uvloop.Loop
