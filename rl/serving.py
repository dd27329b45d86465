"""A server for the length of a task: the one at a URL, or one of our own on a free port over a collection."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from webemu.agent_client import Client
from webemu.agent_client.errors import BadRequest, InfrastructureError

OPENING = 8
"""Times that a server of one's own is asked again while it opens its snapshot: about a minute in all."""
PATIENCE = 30.0
"""Seconds that a server has to end."""


@contextmanager
def serving(
    url: str | None = None, root: Path | None = None, collection: str | None = None, workers: int = 1
) -> Iterator[str]:
    """The address of a running server. Raises BadRequest on a URL that is none, InfrastructureError where none can be
    started."""
    if url:
        if not url.startswith(("http://", "https://", "unix://")):
            raise BadRequest(f"{url!r} is no address of a server", action="write it as http://127.0.0.1:8800")
        yield url
        return
    place = [*(("--root", str(root)) if root else ()), *(("--collection", collection) if collection else ())]
    # -P: the rooms have plain names, and a folder `api` where the user stands must not be taken for ours.
    command = [
        sys.executable,
        "-P",
        "-m",
        "webemu.emulator.cli",
        "serve",
        *place,
        "--port",
        "0",
        "--workers",
        str(workers),
    ]
    command += ["--parent", str(os.getpid())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = _address(process)
        with Client(address, retries=OPENING) as client:
            client.health()
        yield address
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[str]) -> str:
    """From the line with which a server says that it is up."""
    assert process.stdout is not None
    said = process.stdout.readline()
    _, found, rest = said.partition("http://")
    if found and "nothing is served" in said:
        raise InfrastructureError(said.removeprefix("webemu: ").strip(), action="see its message above")
    if not found:
        raise InfrastructureError(
            f"no server could be started (exit status {process.wait()})",
            action="see its message above; `webemu serve` starts one by hand, for --server URL",
        )
    return f"http://{rest.partition(' ')[0].strip()}"
