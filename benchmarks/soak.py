"""A long run of everything at once: mixed traffic, rude clients, a new dump, switched snapshots, killed workers.

python -m benchmarks.soak [--minutes 15] [--connections 1024] [--json FILE]
python -m benchmarks.soak --minutes 60 --connections 256 --rate 100 --kill-every 0 --plot soak.svg        the long hours

Simulated clients (`benchmarks.soak_traffic`) ask a real `webemu serve` of a generated web. Meanwhile a second web is
ingested and the snapshot switched back and forth, and other clients fall silent or leave (`benchmarks.soak_rude`).
Every 20 seconds a worker is killed with SIGKILL: the youngest, and once, halfway, the eldest, so that memory is
measured in both old and new workers. Afterwards every answer is compared with that of a fresh server of the snapshot it
names. Exits with status 1 if a check fails.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from benchmarks.memory import read_anonymous_bytes
from benchmarks.soak_checks import Check, run_checks
from benchmarks.soak_plot import draw_run
from benchmarks.soak_rude import disturb
from benchmarks.soak_run import Plan, ProcessSample, SoakRun, WorkerKill
from benchmarks.soak_traffic import (
    Connection,
    SimulatedClient,
    SoakRequest,
    build_requests,
    open_connection,
)
from webemu.index.load_samples import sample_queries

COLLECTION = "soak"
"""Name of the collection."""
QUERIES, URLS = 800, 600
"""Distinct queries and URLs that are requested."""
CACHE_MB = "8"
"""Answer cache in MB. Small, so that it is full when growth is looked for."""
TICK_SECONDS = 0.2
"""Seconds between two counts of answers per connection."""
MAX_TICKS = 300
"""Counts that are remembered: they must cover the last seconds of a worker on a busy machine."""
MAX_WAIT_SECONDS = 600.0
"""Seconds to wait until a switch is seen, or a worker replaced, before the run goes on without."""


def webemu_command(*arguments: str) -> list[str]:
    """Return the command that runs `webemu_command` with these arguments."""
    return [sys.executable, "-m", "webemu.emulator.cli", *arguments]


def prepare_webs(folder: Path, plan: Plan) -> dict[str, list[SoakRequest]]:
    """Generate two webs, ingest the first, and return the requests drawn from it."""
    for name, seed in (("first", "7"), ("second", "8")):
        subprocess.run(webemu_command("generate", str(folder / name), "--pages", str(plan.pages), "--seed", seed, "-q"),
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    subprocess.run(ingest_command(folder, "first"), check=True, stdout=subprocess.DEVNULL)
    queries, pages = sample_queries(folder / COLLECTION, QUERIES, URLS, "soak")
    return build_requests(queries, [url for url, _ in pages])


def ingest_command(folder: Path, name: str) -> list[str]:
    """Return the command that ingests a web."""
    return webemu_command("ingest", str(folder / name), "--root", str(folder), "--collection", COLLECTION, "-q")


def use_snapshot(folder: Path, snapshot: str) -> None:
    """Switch the collection to a snapshot."""
    subprocess.run(webemu_command("snapshots", "use", snapshot, "--root", str(folder), "--collection", COLLECTION),
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip


def current_snapshot(folder: Path) -> str:
    """Return the id of the snapshot that is served."""
    return (folder / COLLECTION / "CURRENT").read_text().strip()


@contextmanager
def run_server(folder: Path, *arguments: str) -> Iterator[tuple[psutil.Process, int]]:
    """Run a server on a free port; yield its process and port.

    The counts that its workers publish for each other are files below `folder/told`.
    """
    (folder / "told").mkdir(exist_ok=True)
    command = webemu_command("serve", "--root", str(folder), "--collection", COLLECTION, "--port", "0", *arguments)
    environment = {**os.environ, "TMPDIR": str(folder / "told")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        match = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
        if match is None:
            raise RuntimeError("the server did not start; its error is on standard error")
        yield psutil.Process(process.pid), int(match[1])
    finally:
        process.terminate()
        process.wait(60)


def list_workers(server: psutil.Process) -> list[psutil.Process]:
    """Return the worker processes, the eldest first."""
    workers = []
    for process in server.children():
        with suppress(psutil.NoSuchProcess):
            if "spawn_main" in " ".join(process.cmdline()):
                workers.append(process)
    return sorted(workers, key=lambda process: process.create_time())


class BackgroundTasks:
    """Background tasks of a run: sampling, the second ingest, switches and kills."""

    def __init__(
        self, folder: Path, run: SoakRun, server: psutil.Process, port: int, connections: set[Connection]
    ) -> None:
        self._folder, self._run, self._server, self._port, self._connections = folder, run, server, port, connections
        self._started_at = time.time()
        self._ticks: deque[tuple[float, dict[int, int]]] = deque(maxlen=MAX_TICKS)

    async def record_ticks(self) -> None:
        """Record regularly how many answers each connection had."""
        while True:
            self._ticks.append(
                (time.time(), {connection.port: connection.answer_count for connection in self._connections})
            )
            await asyncio.sleep(TICK_SECONDS)

    async def sample_processes(self) -> None:
        """Sample memory and file descriptors of all processes."""
        pause = max(0.5, min(5.0, self._run.plan.seconds / 60))
        while True:
            await asyncio.sleep(pause)
            for kind, processes in (("supervisor", [self._server]), ("worker", list_workers(self._server))):
                for process in processes:
                    with suppress(psutil.Error, OSError, StopIteration):
                        now = time.time()
                        self._run.process_samples.append(
                            ProcessSample(
                                now - self._started_at,
                                process.pid,
                                kind,
                                now - process.create_time(),
                                read_anonymous_bytes(process.pid),
                                process.num_fds(),
                            )
                        )

    async def ingest_and_switch(self) -> None:
        """Ingest the second web, then switch back and forth. Raises RuntimeError if the ingest fails."""
        plan, first = self._run.plan, current_snapshot(self._folder)
        self._run.snapshots.append(first)
        await asyncio.sleep(plan.seconds / 6)
        started = time.time()
        process = await asyncio.create_subprocess_exec(
            *ingest_command(self._folder, "second"), stdout=subprocess.DEVNULL
        )
        if await process.wait():
            raise RuntimeError("the second ingest failed; its error is on standard error")
        self._run.ingest_seconds = time.time() - started
        second = current_snapshot(self._folder)
        self._run.snapshots.append(second)
        await self._await_snapshot(second)
        seconds_left = self._started_at + 0.9 * plan.seconds - time.time()
        for number in range(plan.switches):
            await asyncio.sleep(max(0.0, seconds_left / plan.switches))
            snapshot = (first, second)[number % 2]
            self._run.observations.first_seen_times.pop(snapshot, None)
            await asyncio.to_thread(use_snapshot, self._folder, snapshot)
            await self._await_snapshot(snapshot)

    async def _await_snapshot(self, snapshot: str) -> None:
        """Wait until an answer names the snapshot. It may come from a session that began with it before."""
        started = time.time()
        while snapshot not in self._run.observations.first_seen_times:
            if time.time() > started + MAX_WAIT_SECONDS:
                return
            await asyncio.sleep(0.05)
        self._run.seen_switches.append(
            (snapshot, max(0.0, self._run.observations.first_seen_times[snapshot] - started))
        )

    async def kill_workers(self) -> None:
        """Kill a worker at regular intervals."""
        plan = self._run.plan
        while plan.kill_every:
            await asyncio.sleep(plan.kill_every)
            if (seconds_left := self._started_at + plan.seconds - time.time()) < plan.kill_every / 2:
                return
            workers = list_workers(self._server)
            halfway = seconds_left < plan.seconds / 2 <= seconds_left + plan.kill_every
            self._run.kills.append(worker_kill := self._kill_worker(workers[0 if halfway else -1]))
            await self._await_replacement(worker_kill, {worker.pid for worker in workers})

    def _kill_worker(self, worker: psutil.Process) -> WorkerKill:
        """Kill a worker; stop it first, so that its unpublished requests can be counted."""
        os.kill(worker.pid, signal.SIGSTOP)
        connections = worker.net_connections(kind="tcp")
        ports = {
            connection.raddr.port
            for connection in connections
            if connection.raddr and connection.laddr.port == self._port
        }
        unpublished_count = self._count_unpublished(worker.pid, ports)
        now = time.time()
        os.kill(worker.pid, signal.SIGKILL)
        return WorkerKill(now, worker.pid, ports, unpublished_count)

    def _count_unpublished(self, pid: int, ports: set[int]) -> int:
        """Return the number of answers since the worker published its counts.

        Answers on connections that have ended since are included, as it is no longer known which worker gave them.
        """
        counts_file = next((self._folder / "told").glob(f"webemu-*/{pid}.json"), None)
        published_at = counts_file.stat().st_mtime if counts_file else 0.0
        before = next((counts for tick_time, counts in reversed(self._ticks) if tick_time <= published_at), {})
        now = {connection.port: connection.answer_count for connection in self._connections}
        latest: dict[int, int] = {}
        for tick_time, counts in self._ticks:
            if tick_time > published_at:
                latest |= counts
        latest |= now
        counts_by_port = {port: number for port, number in latest.items() if port in ports or port not in now}
        return sum(number - before.get(port, 0) for port, number in counts_by_port.items())

    async def _await_replacement(self, worker_kill: WorkerKill, old_pids: set[int]) -> None:
        """Wait until the new worker has published its counts."""
        ready_pids: set[int] = set()
        while not ready_pids and time.time() < worker_kill.time + MAX_WAIT_SECONDS:
            await asyncio.sleep(0.1)
            new_pids = {process.pid for process in list_workers(self._server)} - old_pids
            ready_pids = {pid for pid in new_pids if list((self._folder / "told").glob(f"webemu-*/{pid}.json"))}
        if ready_pids:
            worker_kill.replaced_after_seconds = time.time() - worker_kill.time


async def run_soak(folder: Path, run: SoakRun, requests_by_kind: dict[str, list[SoakRequest]]) -> None:
    """Serve, and run all clients and background tasks."""
    plan, loop = run.plan, asyncio.get_running_loop()
    connections: set[Connection] = set()
    with run_server(folder, "--workers", str(plan.workers), "--cache-mb", CACHE_MB) as (server, port):
        while plan.workers > 1 and len(list((folder / "told").glob("webemu-*/*.json"))) < plan.workers:
            await asyncio.sleep(0.1)
        tls = trust_authority(folder)
        background = BackgroundTasks(folder, run, server, port, connections)
        clients = [
            SimulatedClient(number, port, requests_by_kind, run.observations, connections, tls)
            for number in range(plan.connections)
        ]
        run.started_at, until, cpu = time.time(), loop.time() + plan.seconds, time.process_time()
        pause = plan.connections / plan.rate
        async with asyncio.TaskGroup() as task_group:
            endless_tasks = [
                task_group.create_task(coroutine)
                for coroutine in (background.record_ticks(), background.sample_processes())
            ]
            switching = task_group.create_task(background.ingest_and_switch())

            def is_over() -> bool:
                """True once the time has passed and the switches are done, which take longer on a busy machine."""
                return loop.time() >= until and switching.done()

            ending_tasks = [switching, task_group.create_task(background.kill_workers())]
            ending_tasks += [task_group.create_task(client.run(is_over, pause)) for client in clients]
            rude = disturb(port, plan.rude, requests_by_kind, is_over, run.rude_connections, run.rude_requests)
            ending_tasks.append(task_group.create_task(rude))
            await asyncio.wait(ending_tasks)
            for task in endless_tasks:
                task.cancel()
        run.wall, run.client_cpu = time.time() - run.started_at, time.process_time() - cpu
        run.server_counts = await _read_server_counts(port)


async def _read_server_counts(port: int) -> dict[tuple[str, int], int]:
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
    rows = re.findall(r'^webemu_requests_total\{place="(.*?)",status="(\d+)"\} (\S+)', text, re.MULTILINE)
    return {(place_label, int(status)): int(float(number)) for place_label, status, number in rows}


def trust_authority(folder: Path) -> ssl.SSLContext:
    """Return the TLS context of a client that trusts the certificate authority of the server."""
    return ssl.create_default_context(cafile=str(folder / "ca" / "ca.pem"))


async def ask_references(folder: Path, run: SoakRun) -> None:
    """Ask a fresh server of each snapshot all requests that it was asked in the run, and keep the digests."""
    for snapshot in run.snapshots:
        use_snapshot(folder, snapshot)
        requests = {request for request, named_snapshot in run.observations.digests if named_snapshot in (snapshot, "")}
        with run_server(folder, "--cache-mb", "0") as (_, port):
            tls = trust_authority(folder)
            while True:
                with suppress(OSError):
                    connection = await open_connection(port)
                    break
                await asyncio.sleep(0.1)
            host = ""
            for request in sorted(requests, key=lambda request: request.tunnel_host):
                if not connection.is_open or host != request.tunnel_host:
                    connection.close()
                    host = request.tunnel_host
                    connection = await open_connection(port, host, tls)
                run.reference_digests[request, snapshot] = (await connection.send(request.request_bytes)).digest
            connection.close()


def parse_arguments(arguments: list[str]) -> tuple[Plan, Path | None, Path | None]:
    """Parse the command line into a plan, the file for the figures and that for the plot."""
    defaults = Plan()
    parser = argparse.ArgumentParser(
        "benchmarks.soak", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name in ("minutes", "rate", "kill_every", "rude"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=getattr(defaults, name))
    for name in ("connections", "pages", "workers", "switches"):
        parser.add_argument(f"--{name}", type=int, default=getattr(defaults, name))
    parser.add_argument("--json", type=Path, help="File for all figures as JSON.")
    parser.add_argument("--plot", type=Path, help="File for curves of the run as SVG.")
    options = vars(parser.parse_args(arguments))
    json_path, plot_path = options.pop("json"), options.pop("plot")
    return Plan(**options), json_path, plot_path


def run_and_check(folder: Path, plan: Plan) -> tuple[SoakRun, list[Check], dict[str, object]]:
    """Do a whole run in a folder; return its observations, checks and figures."""
    run = SoakRun(plan)
    requests_by_kind = prepare_webs(folder, plan)
    asyncio.run(run_soak(folder, run, requests_by_kind))
    asyncio.run(ask_references(folder, run))
    return run, *run_checks(run)


def main(arguments: list[str]) -> int:
    """Run the benchmark and print its figures and checks. Return the exit status."""
    plan, json_path, plot_path = parse_arguments(arguments)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        run, check_results, figures = run_and_check(Path(folder), plan)
    for name, value in figures.items():
        print(f"{name:<24} {json.dumps(value)}")
    for check in check_results:
        print(f"{'ok  ' if check.holds else 'FAIL'} {check.name}: {check.message}")
    if json_path:
        check_rows = [{"name": check.name, "holds": check.holds, "said": check.message} for check in check_results]
        json_path.write_text(json.dumps({"figures": figures, "checks": check_rows}, indent=1) + "\n")
    if plot_path:
        plot_path.write_text(draw_run(run))
    return 0 if all(check.holds for check in check_results) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exit normally, so that the server and its folder go too
    sys.exit(main(sys.argv[1:]))
