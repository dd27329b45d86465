"""The measured server: one started here for a collection, or a running one; and its CPU time and memory."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import psutil

from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest, EmulatorError, Overloaded

SERVER_TIMEOUT_SECONDS, SHUTDOWN_SECONDS = 120.0, 30.0
"""Seconds that a server has to come up or answer a request, and to end."""


@dataclass(frozen=True)
class Usage:
    """Resources that all processes of a server have used since they started."""

    cpu_seconds: float
    """CPU seconds."""
    bytes_read: int
    """Bytes read from disk."""

    def __sub__(self, earlier: Usage) -> Usage:
        return Usage(self.cpu_seconds - earlier.cpu_seconds, self.bytes_read - earlier.bytes_read)


class Server:
    """Address of a server, and its processes if they run on this machine."""

    def __init__(self, host: str, port: int, roots: list[psutil.Process], startup_seconds: float = 0.0) -> None:
        self.host, self.port, self._roots = host, port, roots
        self.startup_seconds = startup_seconds
        """Seconds from its start to its first answer; 0 if it ran before."""

    @property
    def is_local(self) -> bool:
        """True if the server's processes run on this machine, so that they can be measured."""
        return bool(self._roots)

    def iterate_processes(self) -> Iterator[psutil.Process]:
        """Yield the server's processes and all their children."""
        for root in self._roots:
            with suppress(psutil.NoSuchProcess):
                yield from (root, *root.children(recursive=True))

    def measure_usage(self) -> Usage:
        """Return the resources used so far; children that have ended count through their parents."""
        cpu, read = 0.0, 0
        for process in self.iterate_processes():
            with suppress(psutil.Error):
                cpu += sum(process.cpu_times()[:4])  # user, system, and both of ended children
                read += process.io_counters().read_bytes if hasattr(process, "io_counters") else 0
        return Usage(cpu, read)

    def resident_bytes(self) -> int:
        """Return the resident bytes (RSS) of all processes; files mapped by several count once for each."""
        resident = 0
        for process in self.iterate_processes():
            with suppress(psutil.Error):
                resident += process.memory_info().rss
        return resident

    def private_memory(self) -> tuple[int, int]:
        """Return two sums over all processes: anonymous bytes, and bytes that no other process shares (USS)."""
        anonymous, unshared = 0, 0
        for process in self.iterate_processes():
            with suppress(psutil.Error):
                memory = process.memory_full_info()
                anonymous += memory.rss - getattr(memory, "shared", 0)
                unshared += memory.uss
        return anonymous, unshared

    def served_snapshot(self) -> str:
        """Return the name of the served snapshot. Raises EmulatorError unless this is a webemu server that is ready."""
        status, body = self._get("/health")
        if status != 200:
            raise Overloaded(
                f"{self.host}:{self.port}/health answered with status {status}",
                action="check that `webemu serve` runs there",
            )
        try:
            return str(json.loads(body)["snapshot"])
        except (ValueError, KeyError, TypeError):
            address = f"{self.host}:{self.port}"
            raise BadRequest(
                f"{address}/health names no snapshot", action="check that `webemu serve` runs there"
            ) from None

    def _get(self, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=SERVER_TIMEOUT_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError as error:
            raise Overloaded(f"{self.host}:{self.port}: {error}", action="start one: webemu serve") from error
        finally:
            connection.close()

    def is_ready(self) -> bool:
        """True if the server answers and has a snapshot open."""
        with suppress(EmulatorError):
            return bool(self.served_snapshot())
        return False


def find_server(url: str) -> Server:
    """Return the server at a URL, with the processes that listen on its port if it is local. Raises BadRequest."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname or parts.path.strip("/"):
        raise BadRequest(f"{url!r} is not a server address", action="write it as http://127.0.0.1:8800")
    port = parts.port or 80
    listening_pids = set()
    with suppress(psutil.Error):
        for listener in psutil.net_connections("tcp"):
            if (
                listener.status == psutil.CONN_LISTEN
                and listener.laddr
                and listener.laddr.port == port
                and listener.pid
            ):
                listening_pids.add(listener.pid)
    # Forked workers listen on the same port: keep only those without a listening ancestor.
    processes = [psutil.Process(pid) for pid in listening_pids] if _is_local(parts.hostname) else []
    return Server(
        parts.hostname,
        port,
        [listener for listener in processes if not listening_pids & {p.pid for p in listener.parents()}],
    )


def _is_local(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


@contextmanager
def start_server(config: Config) -> Iterator[Server]:
    """Start a server of the collection on a free port and stop it on exit.

    Raises SnapshotError or Overloaded if it does not come up within `SERVER_TIMEOUT_SECONDS`.
    """
    start_time = time.perf_counter()
    # -P: our packages have plain names, so a folder `api` in the current directory would shadow ours.
    command = [sys.executable, "-P", "-m", "webemu.emulator.cli", "serve", "--port", "0", "--parent", str(os.getpid())]
    command += ["--root", str(config.root), "--collection", config.collection, "--host", "127.0.0.1"]
    command += ["--workers", str(config.workers), "--cache-mb", str(config.cache_mb)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        first_line = process.stdout.readline()
        port = first_line.partition("http://127.0.0.1:")[2].partition(" ")[0]
        if not port:
            raise Overloaded("the server could not be started", action="read its message above, or run `webemu serve`")
        server = Server("127.0.0.1", int(port), [psutil.Process(process.pid)])
        while not server.is_ready():
            if process.poll() is not None or time.perf_counter() - start_time > SERVER_TIMEOUT_SECONDS:
                raise Overloaded(
                    "the server ended, or did not answer in time", action="run `webemu serve` and read its message"
                )
            time.sleep(0.01)
        server.startup_seconds = time.perf_counter() - start_time
        yield server
    finally:
        stop_process(process)


def stop_process(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Terminate a process, by force after `SHUTDOWN_SECONDS`."""
    process.terminate()
    try:
        process.wait(SHUTDOWN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
