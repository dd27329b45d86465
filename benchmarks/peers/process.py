"""A peer's server as a process on a free port, for as long as it is needed."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

from webemu.api.bench.server import Server, stop_process

MAX_START_SECONDS = 3600.0
"""Seconds for a server to come up: it may build an index first."""


class NotRunning(Exception):
    """Raised if a peer cannot be measured; the message is the reason."""


@contextmanager
def run_server(command: Sequence[str], folder: Path, path: str) -> Iterator[Server]:
    """Run a command until it answers at `path`. In it `{port}` becomes a free port; its output goes to `folder`/log.

    Raises NotRunning if it ends instead.
    """
    folder.mkdir(parents=True, exist_ok=True)
    port, log = find_free_port(), folder / "log"
    with log.open("w") as file:
        try:
            arguments = [part.replace("{port}", str(port)) for part in command]
            process = subprocess.Popen(arguments, cwd=_working_folder(command, folder), stdout=file, stderr=file)
        except OSError as error:
            raise NotRunning(str(error)) from error
        try:
            _wait_until_ready(process, port, path, log)
            yield Server("127.0.0.1", port, [psutil.Process(process.pid)])
        finally:
            stop_process(process)


def _working_folder(command: Sequence[str], folder: Path) -> Path | None:
    """Return the working directory: the current one (None) for a module of webemu, else the program's folder."""
    return None if "-m" in command else folder


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, path: str, log: Path) -> None:
    """Wait until the server answers. Raises NotRunning if it ends, or after `MAX_START_SECONDS` seconds."""
    until = time.monotonic() + MAX_START_SECONDS
    while not _answers(port, path):
        if process.poll() is not None:
            log_lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
            raise NotRunning(
                log_lines[-1] if log_lines else f"the process ended with status {process.returncode} and no output"
            )
        if time.monotonic() > until:
            raise NotRunning(f"no answer in {MAX_START_SECONDS:.0f} seconds, see {log}")
        time.sleep(0.1)


def _answers(port: int, path: str) -> bool:
    """True if a request is answered without a server error."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=10, trust_env=False).status_code < 500
    except httpx.HTTPError:
        return False


def find_free_port() -> int:
    """Return a TCP port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
