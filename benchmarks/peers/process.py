"""A peer's server as a process on a free port, for as long as it is used."""

from __future__ import annotations

import http.client
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from webemu.api.bench.server import Server, end

PATIENCE = 3600.0
"""Seconds to come up: it may build an index first."""


class NotRunning(Exception):
    """A peer cannot be measured; says why."""


@contextmanager
def running(command: Sequence[str], folder: Path, path: str) -> Iterator[Server]:
    """Run a command, in which `{port}` is a free port, until it answers at a path; what it says goes to `folder`/log.

    Raises NotRunning where it ends instead.
    """
    folder.mkdir(parents=True, exist_ok=True)
    port, log = free_port(), folder / "log"
    with log.open("w") as file:
        try:
            written = [part.replace("{port}", str(port)) for part in command]
            process = subprocess.Popen(written, cwd=_place(command, folder), stdout=file, stderr=file)
        except OSError as error:
            raise NotRunning(str(error)) from error
        try:
            _wait(process, port, path, log)
            yield Server("127.0.0.1", port, [psutil.Process(process.pid)])
        finally:
            end(process)


def _place(command: Sequence[str], folder: Path) -> Path | None:
    """A module of ours is run from here, any other program where its files are."""
    return None if "-m" in command else folder


def _wait(process: subprocess.Popen[bytes], port: int, path: str, log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not _answers(port, path):
        if process.poll() is not None:
            last = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
            raise NotRunning(last[-1] if last else f"it ended with status {process.returncode} and said nothing")
        if time.monotonic() > until:
            raise NotRunning(f"no answer in {PATIENCE:.0f} seconds, see {log}")
        time.sleep(0.1)


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
