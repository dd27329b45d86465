"""Server for the duration of a command: one that already runs, or a new one on a free port over a collection."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from webemu.agent_client import Client
from webemu.agent_client.errors import BadRequest, InfrastructureError

OPENING_RETRIES = 8
"""Retries of the first request while a new server opens its snapshot; about a minute in all."""
STOP_TIMEOUT_SECONDS = 30.0
"""Seconds that a server has to stop before it is killed."""


@contextmanager
def run_server(
    url: str | None = None, root: Path | None = None, collection: str | None = None, workers: int = 1
) -> Iterator[str]:
    """Yield the address of a running server. Without `url`, a server is started and stopped at the end.

        with run_server(collection="mine") as address, Client(address) as client:
            client.health()

    Raises: BadRequest if `url` is not an address, InfrastructureError if no server could be started.
    """
    if url:
        if not url.startswith(("http://", "https://", "unix://")):
            raise BadRequest(
                f"the server address must begin with http://, https:// or unix://, got {url!r}",
                action="write it as http://127.0.0.1:8800",
            )
        yield url
        return
    location_options = [*(("--root", str(root)) if root else ()), *(("--collection", collection) if collection else ())]
    # -P keeps the working directory out of sys.path: a folder `api` there must not shadow our package of that name.
    command = [
        sys.executable,
        "-P",
        "-m",
        "webemu.emulator.cli",
        "serve",
        *location_options,
        "--port",
        "0",
        "--workers",
        str(workers),
    ]
    command += ["--parent", str(os.getpid())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = _read_address(process)
        with Client(address, retries=OPENING_RETRIES) as client:
            client.health()
        yield address
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _read_address(process: subprocess.Popen[str]) -> str:
    """Return the address in the first line that a new server prints.

    Raises: InfrastructureError if the server ended, or serves no collection.
    """
    assert process.stdout is not None
    first_line = process.stdout.readline()
    _, scheme, address = first_line.partition("http://")
    if scheme and "nothing is served" in first_line:
        raise InfrastructureError(first_line.removeprefix("webemu: ").strip(), action="read its message above")
    if not scheme:
        raise InfrastructureError(
            f"no server could be started (exit status {process.wait()})",
            action="read its message above, or start one with `webemu serve` and name it with --server URL",
        )
    return f"http://{address.partition(' ')[0].strip()}"
