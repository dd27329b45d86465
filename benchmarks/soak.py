"""A long run of everything at once: mixed traffic, a new dump, switched snapshots, killed workers; and checks.

python -m benchmarks.soak [--minutes 15] [--connections 1024] [--json FILE]

Simulated clients (`benchmarks.soak_traffic`) ask a real `webemu serve` of a generated web. Meanwhile a second web is
ingested and the snapshot switched back and forth. Every 20 seconds a worker is killed with SIGKILL: the youngest, and
once, halfway, the eldest, so that memory is measured in both old and new workers. Afterwards every answer is compared
with that of a fresh server of the snapshot it names. Exits with status 1 if a check fails.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.memory import own
from benchmarks.soak_checks import Check, checks
from benchmarks.soak_traffic import Ask, Guest, Line, Seen, asks, opened
from webemu.index.load_samples import generated

COLLECTION = "soak"
"""Name of the collection."""
QUERIES, URLS = 800, 600
"""Distinct queries and URLs that are requested."""
CACHE_MB = "8"
"""Answer cache in MB. Small, so that it is full when growth is looked for."""
TICK = 0.2
"""Seconds between two counts of answers per connection."""
KEPT = 300
"""Counts that are remembered: they must cover the last seconds of a worker on a busy machine."""
PATIENCE = 600.0
"""Seconds to wait until a switch is seen, or a worker replaced, before the run goes on without."""


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
class Killed:
    """A worker that was killed."""

    time: float
    """Time of the kill, in seconds since the epoch."""
    pid: int
    ports: set[int]
    """Clients' ports of its connections."""
    untold: int
    """Requests that it answered after it last published its counts."""
    replaced: float | None = None
    """Seconds until a new worker published its counts; None if it was not seen."""


@dataclass
class Run:
    """Observations of a whole run."""

    plan: Plan
    seen: Seen = field(default_factory=Seen)
    """Observations of the clients."""
    kills: list[Killed] = field(default_factory=list)
    memory: list[tuple[float, int, str, float, int]] = field(default_factory=list)
    """Samples of (seconds into the run, process id, supervisor or worker, its age in seconds, its anonymous bytes)."""
    followed: list[tuple[str, float]] = field(default_factory=list)
    """Switches that were seen: (snapshot, seconds until an answer named it)."""
    snapshots: list[str] = field(default_factory=list)
    """Both snapshots, in the order in which they were built."""
    ingest_seconds: float = 0.0
    wall: float = 0.0
    client_cpu: float = 0.0
    server_cpu: float = 0.0
    counted: dict[tuple[str, int], int] = field(default_factory=dict)
    """Requests that `/metrics` reports at the end, by place and status."""
    references: dict[tuple[Ask, str], bytes] = field(default_factory=dict)
    """Digests of the answers of fresh servers, by request and snapshot."""


def webemu(*arguments: str) -> list[str]:
    """Return the command that runs `webemu` with these arguments."""
    return [sys.executable, "-m", "webemu.emulator.cli", *arguments]


def prepare(folder: Path, plan: Plan) -> dict[str, list[Ask]]:
    """Generate two webs, ingest the first, and return the requests drawn from it."""
    for name, seed in (("first", "7"), ("second", "8")):
        subprocess.run(webemu("generate", str(folder / name), "--pages", str(plan.pages), "--seed", seed, "-q"),
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    subprocess.run(ingest(folder, "first"), check=True, stdout=subprocess.DEVNULL)
    queries, pages = generated(folder / COLLECTION, QUERIES, URLS, "soak")
    return asks(queries, [url for url, _ in pages])


def ingest(folder: Path, name: str) -> list[str]:
    """Return the command that ingests a web."""
    return webemu("ingest", str(folder / name), "--root", str(folder), "--collection", COLLECTION, "-q")


def use(folder: Path, snapshot: str) -> None:
    """Switch the collection to a snapshot."""
    subprocess.run(webemu("snapshots", "use", snapshot, "--root", str(folder), "--collection", COLLECTION),
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip


def current(folder: Path) -> str:
    """Return the id of the snapshot that is served."""
    return (folder / COLLECTION / "CURRENT").read_text().strip()


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[psutil.Process, int]]:
    """Run a server on a free port; yield its process and port.

    The counts that its workers publish for each other are files below `folder/told`.
    """
    (folder / "told").mkdir(exist_ok=True)
    command = webemu("serve", "--root", str(folder), "--collection", COLLECTION, "--port", "0", *arguments)
    told = {**os.environ, "TMPDIR": str(folder / "told")}
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=told)
    assert running.stdout is not None
    try:
        found = re.search(r"http://127\.0\.0\.1:(\d+)", running.stdout.readline())
        if found is None:
            raise RuntimeError("the server did not start; its error is on standard error")
        yield psutil.Process(running.pid), int(found[1])
    finally:
        running.terminate()
        running.wait(60)


def workers_of(server: psutil.Process) -> list[psutil.Process]:
    """Return the worker processes, the eldest first."""
    found = []
    for process in server.children():
        with suppress(psutil.NoSuchProcess):
            if "spawn_main" in " ".join(process.cmdline()):
                found.append(process)
    return sorted(found, key=lambda process: process.create_time())


class Chores:
    """Background tasks of a run: sampling, the second ingest, switches and kills."""

    def __init__(self, folder: Path, run: Run, server: psutil.Process, port: int, lines: set[Line]) -> None:
        self._folder, self._run, self._server, self._port, self._lines = folder, run, server, port, lines
        self._began = time.time()
        self._ticks: deque[tuple[float, dict[int, int]]] = deque(maxlen=KEPT)

    async def tick(self) -> None:
        """Record regularly how many answers each connection had."""
        while True:
            self._ticks.append((time.time(), {line.port: line.answered for line in self._lines}))
            await asyncio.sleep(TICK)

    async def weigh(self) -> None:
        """Sample the memory of all processes."""
        pause = max(0.5, min(5.0, self._run.plan.seconds / 60))
        while True:
            await asyncio.sleep(pause)
            for kind, processes in (("supervisor", [self._server]), ("worker", workers_of(self._server))):
                for process in processes:
                    with suppress(psutil.Error, OSError, StopIteration):
                        age, taken = time.time() - process.create_time(), own(process.pid)
                        self._run.memory.append((time.time() - self._began, process.pid, kind, age, taken))

    async def load(self) -> None:
        """Ingest the second web, then switch back and forth. Raises RuntimeError if the ingest fails."""
        plan, first = self._run.plan, current(self._folder)
        self._run.snapshots.append(first)
        await asyncio.sleep(plan.seconds / 6)
        started = time.time()
        process = await asyncio.create_subprocess_exec(*ingest(self._folder, "second"), stdout=subprocess.DEVNULL)
        if await process.wait():
            raise RuntimeError("the second ingest failed; its error is on standard error")
        self._run.ingest_seconds = time.time() - started
        second = current(self._folder)
        self._run.snapshots.append(second)
        await self._follow(second)
        left = self._began + 0.9 * plan.seconds - time.time()
        for number in range(plan.switches):
            await asyncio.sleep(max(0.0, left / plan.switches))
            wanted = (first, second)[number % 2]
            self._run.seen.met.pop(wanted, None)
            await asyncio.to_thread(use, self._folder, wanted)
            await self._follow(wanted)

    async def _follow(self, snapshot: str) -> None:
        """Wait until an answer names the snapshot. It may come from a session that began with it before."""
        started = time.time()
        while snapshot not in self._run.seen.met:
            if time.time() > started + PATIENCE:
                return
            await asyncio.sleep(0.05)
        self._run.followed.append((snapshot, max(0.0, self._run.seen.met[snapshot] - started)))

    async def kill(self) -> None:
        """Kill a worker at regular intervals."""
        plan = self._run.plan
        while True:
            await asyncio.sleep(plan.kill_every)
            if (left := self._began + plan.seconds - time.time()) < plan.kill_every / 2:
                return
            workers = workers_of(self._server)
            halfway = left < plan.seconds / 2 <= left + plan.kill_every
            self._run.kills.append(killed := self._end(workers[0 if halfway else -1]))
            await self._replaced(killed, {worker.pid for worker in workers})

    def _end(self, worker: psutil.Process) -> Killed:
        """Kill a worker; stop it first, so that its unpublished requests can be counted."""
        os.kill(worker.pid, signal.SIGSTOP)
        connections = worker.net_connections(kind="tcp")
        ports = {one.raddr.port for one in connections if one.raddr and one.laddr.port == self._port}
        untold = self._untold(worker.pid, ports)
        now = time.time()
        os.kill(worker.pid, signal.SIGKILL)
        return Killed(now, worker.pid, ports, untold)

    def _untold(self, pid: int, ports: set[int]) -> int:
        """Return the number of answers since the worker published its counts.

        Answers on connections that have ended since are included, as it is no longer known which worker gave them.
        """
        told = next((self._folder / "told").glob(f"webemu-*/{pid}.json"), None)
        moment = told.stat().st_mtime if told else 0.0
        before = next((ticked for at, ticked in reversed(self._ticks) if at <= moment), {})
        now = {line.port: line.answered for line in self._lines}
        latest: dict[int, int] = {}
        for at, ticked in self._ticks:
            if at > moment:
                latest |= ticked
        latest |= now
        its = {port: number for port, number in latest.items() if port in ports or port not in now}
        return sum(number - before.get(port, 0) for port, number in its.items())

    async def _replaced(self, killed: Killed, before: set[int]) -> None:
        """Wait until the new worker has published its counts."""
        young: set[int] = set()
        while not young and time.time() < killed.time + PATIENCE:
            await asyncio.sleep(0.1)
            there = {process.pid for process in workers_of(self._server)} - before
            young = {pid for pid in there if list((self._folder / "told").glob(f"webemu-*/{pid}.json"))}
        if young:
            killed.replaced = time.time() - killed.time


async def soak(folder: Path, run: Run, mix: dict[str, list[Ask]]) -> None:
    """Serve, and run all clients and background tasks."""
    plan, loop = run.plan, asyncio.get_running_loop()
    lines: set[Line] = set()
    with serving(folder, "--workers", str(plan.workers), "--cache-mb", CACHE_MB) as (server, port):
        while len(list((folder / "told").glob("webemu-*/*.json"))) < plan.workers:
            await asyncio.sleep(0.1)
        chores = Chores(folder, run, server, port, lines)
        guests = [Guest(number, port, mix, run.seen, lines) for number in range(plan.connections)]
        started, until, cpu = time.time(), loop.time() + plan.seconds, time.process_time()
        pause = plan.connections / plan.rate
        async with asyncio.TaskGroup() as all_of:
            endless = [all_of.create_task(chore) for chore in (chores.tick(), chores.weigh())]
            switching = all_of.create_task(chores.load())

            def is_over() -> bool:
                """True once the time has passed and the switches are done, which take longer on a busy machine."""
                return loop.time() >= until and switching.done()

            ending = [switching, all_of.create_task(chores.kill())]
            ending += [all_of.create_task(guest.stay(is_over, pause)) for guest in guests]
            await asyncio.wait(ending)
            for task in endless:
                task.cancel()
        run.wall, run.client_cpu = time.time() - started, time.process_time() - cpu
        run.counted = await _counted(port)


async def _counted(port: int) -> dict[tuple[str, int], int]:
    """Return the request counts of `/metrics` by place and status.

    Workers publish with a delay, so it is read until no count changes but that of `/metrics` itself.
    """
    before, text = "", "-"
    while before != text:
        await asyncio.sleep(2.5)
        before = text
        page = await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/metrics")
        counts = re.compile(r'^webemu_requests_total(?!.*place="/metrics").*', re.MULTILINE)
        text = "\n".join(counts.findall(page.read().decode()))
    found = re.findall(r'^webemu_requests_total\{place="(.*?)",status="(\d+)"\} (\S+)', text, re.MULTILINE)
    return {(place, int(status)): int(float(number)) for place, status, number in found}


async def refer(folder: Path, run: Run) -> None:
    """Ask a fresh server of each snapshot all requests that it was asked in the run, and keep the digests."""
    for snapshot in run.snapshots:
        use(folder, snapshot)
        wanted = {ask for ask, named in run.seen.digests if named in (snapshot, "")}
        with serving(folder, "--cache-mb", "0") as (_, port):
            while True:
                with suppress(OSError):
                    line = await opened(port)
                    break
                await asyncio.sleep(0.1)
            for ask in wanted:
                line = line if line.is_open else await opened(port)
                run.references[ask, snapshot] = (await line.ask(ask.sent)).digest
            line.close()


def parsed(arguments: list[str]) -> tuple[Plan, Path | None]:
    """Parse the command line into a plan and the file for the figures."""
    usual = Plan()
    parser = argparse.ArgumentParser(
        "benchmarks.soak", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name in ("minutes", "rate", "kill_every"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=getattr(usual, name))
    for name in ("connections", "pages", "workers", "switches"):
        parser.add_argument(f"--{name}", type=int, default=getattr(usual, name))
    parser.add_argument("--json", type=Path, help="File for all figures as JSON.")
    told = vars(parser.parse_args(arguments))
    file = told.pop("json")
    return Plan(**told), file


def soaked(folder: Path, plan: Plan) -> tuple[Run, list[Check], dict[str, Any]]:
    """Do a whole run in a folder; return its observations, checks and figures."""
    run = Run(plan)
    mix = prepare(folder, plan)
    asyncio.run(soak(folder, run, mix))
    asyncio.run(refer(folder, run))
    return run, *checks(run)


def main(arguments: list[str]) -> int:
    """Run the benchmark and print its figures and checks. Return the exit status."""
    plan, file = parsed(arguments)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        _, checked, figures = soaked(Path(folder), plan)
    for name, value in figures.items():
        print(f"{name:<24} {json.dumps(value)}")
    for check in checked:
        print(f"{'ok  ' if check.holds else 'FAIL'} {check.name}: {check.said}")
    if file:
        told = [{"name": check.name, "holds": check.holds, "said": check.said} for check in checked]
        file.write_text(json.dumps({"figures": figures, "checks": told}, indent=1) + "\n")
    return 0 if all(check.holds for check in checked) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exit normally, so that the server and its folder go too
    sys.exit(main(sys.argv[1:]))
