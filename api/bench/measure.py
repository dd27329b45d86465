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

from tqdm import tqdm

from webemu.api.bench.figures import cost_figures, is_success, merge_samples, summarize
from webemu.api.bench.load import PROGRESS_SECONDS, LoadPlan, Request, Samples, run_process
from webemu.api.bench.report import LoadReport, RemoteServerFigures, ServerFigures
from webemu.api.bench.server import Server, Usage
from webemu.emulator.errors import Overloaded

SHUTDOWN_SECONDS = 10.0
"""Seconds that a load process has to end."""


@dataclass(frozen=True)
class Traffic:
    """Parameters of the load; see `webemu.api.bench.load.LoadPlan`."""

    connections: int
    rate: float = 0.0
    seconds: float = 0.0
    clients: int = 1
    """Number of processes that send."""
    seed: str = ""
    authority: str = ""

    def plans(self, server: Server, requests: Sequence[Request]) -> list[LoadPlan]:
        """Divide requests, connections and rate evenly over the processes; return the plan of each."""
        plans = []
        for client_index in range(self.clients):
            # Rounding differs by process, so that the parts add up to all connections.
            connections = (self.connections + client_index) // self.clients
            client_requests, seed = requests[client_index :: self.clients], f"{self.seed}/{client_index}"
            plan_arguments = server.host, server.port, client_requests, connections
            plans.append(LoadPlan(*plan_arguments, self.rate / self.clients, self.seconds, seed, self.authority))
        return plans


@dataclass(frozen=True)
class LoadResult:
    """Samples of a run, and the resources that the server used."""

    samples: Samples
    """Samples of all processes, merged."""
    usage: Usage
    """Resources that the server used during the run."""
    peak_resident_bytes: int
    """Peak of the server's resident bytes, mapped files included, sampled once a second."""
    private_memory: tuple[int, int]
    """Server memory after the run: anonymous bytes and unshared bytes, see `ServerOption.private_memory`."""
    is_local: bool
    """True if the server runs on this machine; otherwise its resources are unknown."""
    clients: int
    """Number of processes that sent."""

    def report(self, queries_per_request: float = 0) -> LoadReport:
        """Return the figures of the load, the server and the client.

        `queries_per_request` is the mean number of queries in a request, for the rate of batches; 0 if it is not of
        interest.
        """
        load = summarize(self.samples)
        return {
            "load": load,
            "server": self._server_figures(load["good"], queries_per_request),
            "client": cost_figures(load["good"], self.samples.cpu, self.samples.wall),
        }

    def _server_figures(self, good: int, queries_per_request: float) -> ServerFigures | RemoteServerFigures:
        """Return what the server spent for `good` answers."""
        if not self.is_local:
            return {"cpu_s": None, "queries_per_core_s": 0}
        cost = cost_figures(good, self.usage.cpu_seconds, self.samples.wall)
        batch = queries_per_request if queries_per_request > 1 else 0
        return {
            **cost,
            "anonymous_mb": round(self.private_memory[0] / 1e6, 2),
            "own_mb": round(self.private_memory[1] / 1e6, 2),
            "resident_mb": round(self.peak_resident_bytes / 1e6, 2),
            "disk_mb": round(self.usage.bytes_read / 1e6, 3),
            "queries_per_core_s": round(batch * cost["per_core_s"], 1),
        }


@contextmanager
def start_processes(plans: Sequence[LoadPlan]) -> Iterator[list[Pipe]]:
    """Start a load process for each plan and yield the pipes to them; stop the processes on exit."""
    context = get_context("spawn")  # a forked child would inherit threads and sockets
    started_processes: list[BaseProcess] = []
    pipes: list[Pipe] = []
    try:
        for plan in plans:
            parent_pipe, child_pipe = context.Pipe()
            started_processes.append(context.Process(target=run_process, args=(plan, child_pipe), daemon=True))
            started_processes[-1].start()
            child_pipe.close()
            pipes.append(parent_pipe)
        yield pipes
        for process in started_processes:
            process.join(SHUTDOWN_SECONDS)
    finally:
        for process in started_processes:
            process.terminate()


def _receive(pipe: Pipe) -> Samples | int:
    """Receive a message of a load process: its number of answers so far, or its samples once it is done.

    Raises: Overloaded if the process failed.
    """
    message: Samples | int | Exception
    try:
        message = pipe.recv()
    except EOFError:
        message = RuntimeError("it ended without a message")
    if isinstance(message, Exception):
        raise Overloaded(
            f"the load process failed: {message}",
            action="check that the server is up, and that `ulimit -n` allows all connections",
        )
    return message


def run_load(server: Server, requests: Sequence[Request], traffic: Traffic, label: str, quiet: bool) -> LoadResult:
    """Send all requests and return what was measured; `quiet` hides the progress bar labelled `label`.

    Raises Overloaded if a load process fails or no request is answered with a 2xx.
    """
    with start_processes(traffic.plans(server, requests)) as pipes:
        for pipe in pipes:
            _receive(pipe)
        before, resident = server.measure_usage(), server.resident_bytes()
        for pipe in pipes:
            pipe.send(None)
        samples_by_pipe: dict[Pipe, Samples] = {}
        counts: dict[Pipe, int] = {}
        sampled_at = time.monotonic()
        total = None if traffic.seconds else len(requests)
        with tqdm(total=total, desc=label, unit=" answers", disable=quiet, leave=False) as bar:
            while len(samples_by_pipe) < len(pipes):
                readable = wait([one for one in pipes if one not in samples_by_pipe], PROGRESS_SECONDS)
                for pipe in (one for one in pipes if one in readable):
                    message = _receive(pipe)
                    if isinstance(message, Samples):
                        samples_by_pipe[pipe] = message
                    else:
                        counts[pipe] = message
                        bar.update(sum(counts.values()) - bar.n)
                if time.monotonic() - sampled_at > 1:
                    sampled_at, resident = time.monotonic(), max(resident, server.resident_bytes())
        usage = server.measure_usage() - before
    samples = merge_samples([samples_by_pipe[pipe] for pipe in pipes])
    if not any(map(is_success, samples.statuses)):
        statuses = sorted(set(samples.statuses))
        raise Overloaded(
            f"none of {len(samples.statuses):,} requests got a 2xx answer: {summarize(samples)['errors'] or statuses}",
            action="check that this is a webemu server of the same collection",
        )
    return LoadResult(
        samples,
        usage,
        max(resident, server.resident_bytes()),
        server.private_memory(),
        server.is_local,
        traffic.clients,
    )
