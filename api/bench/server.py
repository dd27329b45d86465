"""The server that is measured: one of our own over a collection, or one that runs; its processor time and memory."""

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
from typing import Any
from urllib.parse import urlsplit

import psutil

from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest, EmulatorError, Overloaded

PATIENCE, GRACE = 120.0, 30.0
"""Seconds that a server has to answer, and to end."""


@dataclass(frozen=True)
class Usage:
    """What all processes of a server used since they began."""

    cpu: float
    """Seconds."""
    read: int
    """Bytes that came from disk."""

    def __sub__(self, before: Usage) -> Usage:
        return Usage(self.cpu - before.cpu, self.read - before.read)


class Server:
    """Where it listens, and its processes if they are on this machine."""

    def __init__(self, host: str, port: int, roots: list[psutil.Process], started: float = 0.0) -> None:
        self.host, self.port, self._roots = host, port, roots
        self.started = started
        """Seconds from its start to its first answer; 0 where it ran before."""

    @property
    def is_here(self) -> bool:
        return bool(self._roots)

    def processes(self) -> Iterator[psutil.Process]:
        for root in self._roots:
            with suppress(psutil.NoSuchProcess):
                yield from (root, *root.children(recursive=True))

    def usage(self) -> Usage:
        """Workers that died are counted by who waited for them."""
        cpu, read = 0.0, 0
        for process in self.processes():
            with suppress(psutil.Error):
                cpu += sum(process.cpu_times()[:4])
                read += process.io_counters().read_bytes if hasattr(process, "io_counters") else 0
        return Usage(cpu, read)

    def resident(self) -> int:
        """Bytes with mapped files, those of shared files once for each process (RSS)."""
        return sum(one.rss for one in self._memory("memory_info"))

    def own(self) -> tuple[int, int]:
        """Bytes of no file; bytes that no other process has, files that it alone mapped among them (USS)."""
        found = list(self._memory("memory_full_info"))
        return sum(one.rss - getattr(one, "shared", 0) for one in found), sum(one.uss for one in found)

    def _memory(self, method: str) -> Iterator[Any]:
        for process in self.processes():
            with suppress(psutil.Error):
                yield getattr(process, method)()

    def snapshot(self) -> str:
        """What it serves. Raises EmulatorError unless it is a webemu server that is ready."""
        status, body = self._get("/health")
        if status != 200:
            raise Overloaded(f"{self.host}:{self.port}/health answers {status}", action="is it `webemu serve`?")
        try:
            return str(json.loads(body)["snapshot"])
        except (ValueError, KeyError, TypeError):
            where = f"{self.host}:{self.port}"
            raise BadRequest(f"{where}/health names no snapshot", action="is it `webemu serve`?") from None

    def _get(self, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError as error:
            raise Overloaded(f"{self.host}:{self.port}: {error}", action="start one: webemu serve") from error
        finally:
            connection.close()

    def ready(self) -> bool:
        """Whether it answers and has a snapshot open."""
        with suppress(EmulatorError):
            return bool(self.snapshot())
        return False


def running(url: str) -> Server:
    """The server at a URL; its processes are those that listen on its port, and what they started."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname or parts.path.strip("/"):
        raise BadRequest(f"{url!r} is no address of a server", action="write it as http://127.0.0.1:8800")
    port = parts.port or 80
    found = set()
    with suppress(psutil.Error):
        for one in psutil.net_connections("tcp"):
            if one.status == psutil.CONN_LISTEN and one.laddr and one.laddr.port == port and one.pid:
                found.add(one.pid)
    processes = [psutil.Process(pid) for pid in found] if _is_local(parts.hostname) else []
    return Server(parts.hostname, port, [one for one in processes if not found & {p.pid for p in one.parents()}])


def _is_local(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


@contextmanager
def started(config: Config) -> Iterator[Server]:
    """A server of the collection on a free port, for as long as it is used. Raises SnapshotError, Overloaded."""
    begun = time.perf_counter()
    # -P: the rooms have plain names, and a folder `api` where the user stands must not be taken for ours.
    command = [sys.executable, "-P", "-m", "webemu.emulator.cli", "serve", "--port", "0", "--parent", str(os.getpid())]
    command += ["--root", str(config.root), "--collection", config.collection, "--host", "127.0.0.1"]
    command += ["--workers", str(config.workers), "--cache-mb", str(config.cache_mb)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        port = said.partition("http://127.0.0.1:")[2].partition(" ")[0]
        if not port:
            raise Overloaded("the server could not be started", action="see its message above; or try `webemu serve`")
        server = Server("127.0.0.1", int(port), [psutil.Process(process.pid)])
        while not server.ready():
            if process.poll() is not None or time.perf_counter() - begun > PATIENCE:
                raise Overloaded("the server does not come up", action="try `webemu serve` and see what it says")
            time.sleep(0.01)
        server.started = time.perf_counter() - begun
        yield server
    finally:
        end(process)


def end(process: subprocess.Popen[Any]) -> None:
    """Have it end, by force if it must be."""
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
