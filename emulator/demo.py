"""The command `webemu demo`: runs other commands one after another and prints each first, so that it also teaches.

It imports no other package of webemu. On a signal it ends the running command with all its processes.
"""

from __future__ import annotations

import http.client
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from webemu.emulator.config import load_config

PAGES, SEED = 2000, 7
TASKS = 12
GRACE_SECONDS = 20.0
"""Seconds that a command has to end by itself after SIGINT."""
START_SECONDS = 60.0
"""Seconds that the server has to become healthy."""
TRY_TEXT = """
The server is up at {address} until Ctrl-C. To try, in another terminal:

    {webemu} search mayor of the town --server {address}
    curl '{address}/v1/search?q=mayor+of+the+town&size=3'
    {webemu} sql "SELECT * FROM hosts" --collection {collection} --root {root}
    {address}/docs in a browser
"""


def demo(
    root: Annotated[Path | None, typer.Option(help="Folder of all collections. [default: webemu-data]")] = None,
    port: Annotated[
        int | None, typer.Option(help="Server port; a free one is used if it is taken. [default: 8800]")
    ] = None,
    pages: Annotated[int, typer.Option(help="Number of pages to generate.", min=100)] = PAGES,
    seed: Annotated[int, typer.Option(help="Seed of the generated web.")] = SEED,
    once: Annotated[bool, typer.Option("--once", help="Exit at the end instead of keeping the server up.")] = False,
) -> None:
    """Generate a small synthetic web, serve it, and let an agent use it."""
    config = load_config({"root": root, "port": port})
    name = "demo" if (pages, seed) == (PAGES, SEED) else f"demo-{pages}-{seed}"
    web, marker = config.root / f"{name}-web", config.root / f"{name}-web.done"
    collection_options = ["--root", str(config.root), "--collection", name]
    runner = CommandRunner()
    try:
        if not marker.exists():
            runner.run("generate", str(web), "--pages", str(pages), "--seed", str(seed))
            marker.touch()  # only now is the web complete: an interrupted run generates it again
        runner.run("ingest", str(web), *collection_options)
        free = str(free_port(config.port))
        address = f"http://127.0.0.1:{free}"
        server = runner.start("serve", *collection_options, "--host", "127.0.0.1", "--port", free)
        runner.wait_until_healthy(server, int(free))
        runner.run("quiz", str(web / "tasks.jsonl"), "--limit", str(TASKS), "--show", "1", "--server", address)
        if not once:
            print(
                TRY_TEXT.format(
                    webemu=command_name(), address=address, collection=name, root=shlex.quote(str(config.root))
                ),
                flush=True,
            )
            runner.wait(server, until_stopped=True)
    except DemoInterrupted as interruption:
        raise typer.Exit(interruption.code) from None
    finally:
        runner.close()


def command_name() -> str:
    """Return the command name to print: the path it was called by if it is not on the PATH."""
    return shlex.quote(sys.argv[0]) if Path(sys.argv[0]).name == "webemu" and not shutil.which("webemu") else "webemu"


class DemoInterrupted(Exception):
    """Raised to end the demo early; `code` is its exit status."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class CommandRunner:
    """Runs webemu commands, each in a process group of its own, so that all its processes can be ended together.

    Signals are only recorded and checked between polls: an exception inside `Popen` could lose a process that has just
    started.
    """

    def __init__(self) -> None:
        self._stopped_by = 0
        self._running: list[subprocess.Popen[bytes]] = []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._record_signal)

    def _record_signal(self, number: int, _: object) -> None:
        self._stopped_by = number

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Print a command and start it in the background."""
        print(f"\n$ {shlex.join(['webemu', *arguments])}", flush=True)
        # -P keeps the working directory off the module path: a folder named `api` there would shadow our package.
        command = [sys.executable, "-P", "-m", "webemu.emulator.cli", *arguments]
        process = subprocess.Popen(
            command, start_new_session=True
        )  # Ctrl-C must reach only this process, which ends it
        self._running.append(process)
        return process

    def run(self, *arguments: str) -> None:
        """Run a command to its end. Raises DemoInterrupted if it fails."""
        self.wait(self.start(*arguments))

    def wait(self, process: subprocess.Popen[bytes], *, until_stopped: bool = False) -> None:
        """Wait for a process to end.

        Raises DemoInterrupted if it fails or on a signal. With `until_stopped` a signal is the expected end, with
        status 0.
        """
        while process.poll() is None:
            self._pause(is_success=until_stopped)
        self._stop(process)
        if process.returncode or until_stopped:
            raise DemoInterrupted(max(1, process.returncode))

    def wait_until_healthy(self, server: subprocess.Popen[bytes], port: int) -> None:
        """Wait for the server to answer. Raises DemoInterrupted if it ends or does not become healthy in time."""
        deadline = time.monotonic() + START_SECONDS
        while not is_healthy(port):
            if server.poll() is not None:
                raise DemoInterrupted(max(1, server.returncode))
            if time.monotonic() > deadline:
                print(
                    f"webemu: the server is not healthy after {START_SECONDS:g} s; see its messages above",
                    file=sys.stderr,
                )
                raise DemoInterrupted(1)
            self._pause()

    def _pause(self, *, is_success: bool = False) -> None:
        """Sleep briefly. Raises DemoInterrupted if a signal came; with status 0 if `is_success`."""
        if self._stopped_by:
            raise DemoInterrupted(0 if is_success else 128 + self._stopped_by)
        time.sleep(0.05)

    def close(self) -> None:
        """End all commands that still run, the last one first."""
        for process in reversed(self._running.copy()):
            self._stop(process)

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        """End a command with SIGINT, then kill whatever is left of its process group."""
        if process.poll() is None:
            _signal_group(process, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS)
        _signal_group(process, signal.SIGKILL)
        process.wait()
        self._running.remove(process)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal a whole process group, which may outlive its leader."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def is_healthy(port: int) -> bool:
    """True if a server answers /health on this port. Not through urllib, which would use the user's proxy."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def free_port(preferred: int) -> int:
    """Return the preferred port, or a free one if it is taken."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return int(probe.getsockname()[1])
    return preferred
