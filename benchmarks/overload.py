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

from benchmarks.soak_checks import percentiles
from benchmarks.soak_traffic import Line, get, opened
from webemu.api.bench.server import started
from webemu.emulator.config import Config
from webemu.index.load_samples import generated

QUERIES, CONNECTIONS = 4000, 32
FACTORS = (0.5, 1.0, 2.0, 4.0)
"""Multiples of the capacity at which requests arrive."""
MOST = 8000
"""Connections at a time; requests that arrive beyond them are not sent, and counted."""


@dataclass
class Open:
    """An open loop of searches."""

    port: int
    targets: list[str]
    idle: list[Line] = field(default_factory=list)
    """Open connections without a request."""
    statuses: Counter[int] = field(default_factory=Counter)
    """Number of answers by status; 0 counts requests not sent, -1 those without an answer."""
    seconds: dict[int, list[float]] = field(default_factory=dict)
    """Times of the answers by status."""
    unmarked: int = 0
    """Refusals without Retry-After. Not counted at present."""
    busy: int = 0
    """Requests in flight."""

    async def run(self, rate: float, seconds: float) -> None:
        """Send searches at `rate` per second for some seconds, and wait for the answers."""
        loop, chosen = asyncio.get_running_loop(), random.Random(7)
        until = due = loop.time()
        until += seconds
        async with asyncio.TaskGroup() as tasks:
            while due < until:
                await asyncio.sleep(max(0.0, due - loop.time()))
                while due <= loop.time():
                    if self.busy < MOST:
                        self.busy += 1
                        tasks.create_task(self._ask(chosen.choice(self.targets)))
                    else:
                        self.statuses[0] += 1
                    due += chosen.expovariate(rate)

    async def _ask(self, target: str) -> None:
        """Send one search and record its answer."""
        started, line = time.perf_counter(), None
        try:
            line = self.idle.pop() if self.idle else await opened(self.port)
            answered = await line.ask(get("", "", target).sent)
            self.statuses[answered.status] += 1
            self.seconds.setdefault(answered.status, []).append(time.perf_counter() - started)
            if line.is_open:
                self.idle.append(line)
        except (OSError, TimeoutError) as error:
            self.statuses[-1] += 1
            print(f"  {error!r}", file=sys.stderr)
        finally:
            self.busy -= 1


async def probed(port: int, path: str, times: list[float], wrong: list[int]) -> None:
    """Request a path for ever, each time on a new connection; record times and statuses other than 200."""
    while True:
        started = time.perf_counter()
        line = await opened(port)
        answered = await line.ask(get("", "", path).sent)
        times.append(time.perf_counter() - started)
        if answered.status != 200:
            wrong.append(answered.status)
        line.close()
        await asyncio.sleep(0.25)


async def measured(port: int, targets: list[str], rate: float, seconds: float) -> None:
    """Run an open loop beside the probes and print its figures."""
    loops, times, wrong = Open(port, targets), {"/health": [0.0], "/metrics": [0.0]}, list[int]()
    probes = [asyncio.create_task(probed(port, path, taken, wrong)) for path, taken in times.items()]
    await loops.run(rate, seconds)
    for probe in probes:
        probe.cancel()
    for line in loops.idle:
        line.close()
    print(f"{rate:8,.0f} a second for {seconds:g} s: {sum(loops.statuses.values()):,} arrived")
    for status, number in sorted(loops.statuses.items()):
        name = {0: "not sent", -1: "no answer"}.get(status, str(status))
        told = percentiles(loops.seconds[status]) if status in loops.seconds else ""
        print(f"  {name:<10} {number:>8,}  {number / seconds:>7,.0f}/s  ms {told}")
    for path, taken in times.items():
        print(f"  {path:<10} {len(taken) - 1:>8,}  not 200: {len(wrong)}  ms {percentiles(taken)}")


async def closed(port: int, targets: list[str], seconds: float) -> float:
    """Return the answers per second of a closed loop."""
    asked, until, count = cycle(targets), time.perf_counter() + seconds, 0

    async def ask() -> None:
        nonlocal count
        line = await opened(port)
        while time.perf_counter() < until:
            count += (await line.ask(get("", "", next(asked)).sent)).status == 200
        line.close()

    await asyncio.gather(*(ask() for _ in range(CONNECTIONS)))
    return count / seconds


def main(folder: Path, seconds: float = 10.0) -> None:
    """Measure the capacity, then the overload."""
    queries, _ = generated(folder, QUERIES, 0, "overload")
    targets = [f"/v1/search?q={quote(query)}" for query in queries]
    config = Config(root=folder.parent, collection=folder.name, cache_mb=0)
    with started(config) as server:
        port = server.port
        capacity = asyncio.run(closed(port, targets, seconds / 2))
        print(f"closed loop, {CONNECTIONS} connections: {capacity:,.0f} a second")
        for factor in FACTORS:
            print(f"{factor:g} times that:")
            asyncio.run(measured(port, targets, factor * capacity, seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(float, sys.argv[2:]))
