"""More requests than a server can answer, in an open loop: how many are answered or refused, and how fast.

python -m benchmarks.overload COLLECTION_FOLDER [SECONDS]

The capacity is the rate that one serving process reaches with 32 connections in a closed loop. Then searches arrive at
multiples of it (exponential gaps), whether or not earlier ones are answered, each on a free connection or a new one.
Meanwhile `/health` and `/metrics` are requested four times a second. The answer cache is off.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from urllib.parse import quote

from benchmarks.soak_checks import compute_percentiles
from benchmarks.soak_traffic import Connection, build_get, open_connection
from webemu.api.bench.server import start_server
from webemu.emulator.config import Config
from webemu.index.load_samples import sample_queries

QUERIES, CONNECTIONS = 4000, 32
CAPACITY_FACTORS = (0.5, 1.0, 2.0, 4.0)
"""Multiples of the capacity at which requests arrive."""
MAX_CONNECTIONS = 8000
"""Connections at a time; requests that arrive beyond them are not sent, and counted."""


@dataclass
class OpenLoop:
    """An open loop of searches."""

    port: int
    targets: list[str]
    idle_connections: list[Connection] = field(default_factory=list)
    """Open connections without a request."""
    statuses: Counter[int] = field(default_factory=Counter)
    """Number of answers by status; 0 counts requests not sent, -1 those without an answer."""
    seconds: dict[int, list[float]] = field(default_factory=dict)
    """Times of the answers by status."""
    busy_count: int = 0
    """Requests in flight."""

    async def run(self, rate: float, seconds: float) -> None:
        """Send searches at `rate` per second for some seconds, and wait for the answers."""
        loop, rng = asyncio.get_running_loop(), random.Random(7)
        until = due = loop.time()
        until += seconds
        async with asyncio.TaskGroup() as tasks:
            while due < until:
                await asyncio.sleep(max(0.0, due - loop.time()))
                while due <= loop.time():
                    if self.busy_count < MAX_CONNECTIONS:
                        self.busy_count += 1
                        tasks.create_task(self._send_search(rng.choice(self.targets)))
                    else:
                        self.statuses[0] += 1
                    due += rng.expovariate(rate)

    async def _send_search(self, target: str) -> None:
        """Send one search and record its answer."""
        started, connection = time.perf_counter(), None
        try:
            connection = self.idle_connections.pop() if self.idle_connections else await open_connection(self.port)
            answer = await connection.send(build_get("", "", target).request_bytes)
            self.statuses[answer.status] += 1
            self.seconds.setdefault(answer.status, []).append(time.perf_counter() - started)
            if connection.is_open:
                self.idle_connections.append(connection)
        except (OSError, TimeoutError) as error:
            self.statuses[-1] += 1
            print(f"  {error!r}", file=sys.stderr)
        finally:
            self.busy_count -= 1


async def probe_forever(port: int, path: str, times: list[float], wrong_statuses: list[int]) -> None:
    """Request a path for ever, each time on a new connection; record times and statuses other than 200."""
    while True:
        started = time.perf_counter()
        connection = await open_connection(port)
        answer = await connection.send(build_get("", "", path).request_bytes)
        times.append(time.perf_counter() - started)
        if answer.status != 200:
            wrong_statuses.append(answer.status)
        connection.close()
        await asyncio.sleep(0.25)


async def measure_overload(port: int, targets: list[str], rate: float, seconds: float) -> None:
    """Run an open loop beside the probes and print its figures."""
    open_loop, times, wrong_statuses = OpenLoop(port, targets), {"/health": [0.0], "/metrics": [0.0]}, list[int]()
    probes = [
        asyncio.create_task(probe_forever(port, path, durations, wrong_statuses)) for path, durations in times.items()
    ]
    await open_loop.run(rate, seconds)
    for probe in probes:
        probe.cancel()
    for connection in open_loop.idle_connections:
        connection.close()
    print(f"{rate:8,.0f} a second for {seconds:g} s: {sum(open_loop.statuses.values()):,} arrived")
    for status, number in sorted(open_loop.statuses.items()):
        name = {0: "not sent", -1: "no answer"}.get(status, str(status))
        latency = compute_percentiles(open_loop.seconds[status]) if status in open_loop.seconds else ""
        print(f"  {name:<10} {number:>8,}  {number / seconds:>7,.0f}/s  ms {latency}")
    for path, durations in times.items():
        print(
            f"  {path:<10} {len(durations) - 1:>8,}  not 200: {len(wrong_statuses)}  ms "
            f"{compute_percentiles(durations)}"
        )


async def measure_capacity(port: int, targets: list[str], seconds: float) -> float:
    """Return the answers per second of a closed loop."""
    targets_cycle, until, count = cycle(targets), time.perf_counter() + seconds, 0

    async def ask() -> None:
        nonlocal count
        connection = await open_connection(port)
        while time.perf_counter() < until:
            count += (await connection.send(build_get("", "", next(targets_cycle)).request_bytes)).status == 200
        connection.close()

    await asyncio.gather(*(ask() for _ in range(CONNECTIONS)))
    return count / seconds


def main(folder: Path, seconds: float = 10.0) -> None:
    """Measure the capacity, then the overload."""
    queries, _ = sample_queries(folder, QUERIES, 0, "overload")
    targets = [f"/v1/search?q={quote(query)}" for query in queries]
    config = Config(root=folder.parent, collection=folder.name, cache_mb=0)
    with start_server(config) as server:
        port = server.port
        capacity = asyncio.run(measure_capacity(port, targets, seconds / 2))
        print(f"closed loop, {CONNECTIONS} connections: {capacity:,.0f} a second")
        for factor in CAPACITY_FACTORS:
            print(f"{factor:g} times that:")
            asyncio.run(measure_overload(port, targets, factor * capacity, seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(float, sys.argv[2:]))
