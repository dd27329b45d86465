"""The command `webemu record -- CMD`: run CMD with its requests led through a proxy that records the live web.

This is the only command that connects outward for a program. It serves nobody but that program: the proxy is bound to
127.0.0.1 and ends with it.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
import uvicorn

from webemu.api.app import create_app
from webemu.api.proxy.authority import TlsContextCache
from webemu.api.proxy.client_flags import describe_flags
from webemu.api.proxy.command import build_exports
from webemu.api.proxy.protocol_sniffer import ProtocolSniffer
from webemu.api.runtime.live_snapshot import current_id
from webemu.emulator.config import Config, load_config
from webemu.emulator.errors import EmulatorError
from webemu.emulator.extras import missing_package_error
from webemu.emulator.logs import logging_config
from webemu.emulator.options import RootOption
from webemu.recorder.archive import Archive
from webemu.recorder.recording_app import RecordingApp, Tally
from webemu.recorder.upstream import Upstream, parse_resolve

START_SECONDS = 60.0
"""Seconds that the proxy has to start: it opens the collection first."""
FORWARDED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def record(
    command: Annotated[list[str], typer.Argument(metavar="CMD...", help="Command with its arguments, after `--`.")],
    collection: Annotated[
        str | None, typer.Option(help="Collection that answers what it has. [default: default]")
    ] = None,
    root: RootOption = None,
    out: Annotated[Path, typer.Option(help="Folder for the WARC file.")] = Path("recordings"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask the live web also for what the collection has.")] = False,
    ignore_robots: Annotated[
        bool, typer.Option("--ignore-robots", help="Read pages that robots.txt forbids to programs.")
    ] = False,
    resolve: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT:ADDRESS[:PORT]", help="Address of a host name, as for curl; may be repeated."),
    ] = None,
    trust: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Further certificate authorities to trust, in PEM.")
    ] = None,
) -> None:
    """Run a command on the live web and record all that it asks, so that it can be run again sealed.

    This is the only command that connects outward. Requests that the collection cannot answer go to the live web; with
    --fresh all do. Requests and responses, also those of search services, are written as a WARC file. Keys and cookies
    that the command sends are not written; what servers answer is. robots.txt is obeyed for pages.

    The command finds the proxy and its certificate authority in environment variables, like programs after
    `webemu env`; its own server on localhost is asked directly. Its exit status is passed on.

    \b
        webemu record --out recordings -- python agent.py
        webemu ingest recordings --collection taped
        webemu run --collection taped -- python agent.py
    """
    if not find_spec("h2"):
        raise missing_package_error("`webemu record`", ["h2"])
    config = load_config({"collection": collection, "root": root})
    archive = Archive(out / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}.warc.gz")
    has_collection = not fresh and current_id(config.collection_folder) is not None
    upstream = Upstream(parse_resolve(resolve or ()), trust)
    certificates = TlsContextCache(config.root)
    app = RecordingApp(
        archive, upstream, certificates, create_app(config) if has_collection else None, not ignore_robots
    )
    with RecordingProxy(app, config) as address:
        status = run_command(command, {**os.environ, **build_exports(config.root, address)})
    print(describe_tally(app.tally, archive.path, config, command), file=sys.stderr)
    raise typer.Exit(status)


class RecordingProxy:
    """Proxy server in a thread of this process. A context manager, whose value is its address."""

    def __init__(self, app: RecordingApp, config: Config) -> None:
        self._app = app
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        uvicorn_config = uvicorn.Config(
            app,
            interface="asgi3",
            http=ProtocolSniffer,
            ws="none",
            lifespan="on",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=5,
            log_config=logging_config(config.log_format),
            log_level="warning",
        )
        self._server = uvicorn.Server(uvicorn_config)
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._is_over = threading.Event()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._is_over.set()

    async def _serve(self) -> None:
        try:
            await self._server.serve([self._socket])
        finally:
            await self._app.close()

    def __enter__(self) -> str:
        self._thread.start()
        for _ in range(int(START_SECONDS / 0.05)):
            if self._server.started or self._is_over.wait(0.05):
                break
        if not self._server.started:
            raise EmulatorError("the recording proxy did not start; see its messages above")
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(30)
        self._socket.close()


def run_command(command: list[str], environment: dict[str, str]) -> int:
    """Run the command, forward signals to it, and return its exit status as a shell reports it."""
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        print(f"webemu: cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126

    def forward(number: int, _frame: object) -> None:
        if number != signal.SIGINT:  # Ctrl-C of a terminal reaches the command without us
            process.send_signal(number)

    earlier = {number: signal.signal(number, forward) for number in FORWARDED_SIGNALS}
    try:
        status = process.wait()
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def describe_tally(tally: Tally, path: Path, config: Config, command: list[str]) -> str:
    """Return what was recorded and what was not, and how to replay it."""
    hosts = f"{len(tally.hosts)} host" + ("s" if len(tally.hosts) != 1 else "")
    lines = [f"webemu: recorded {tally.exchanges} exchanges with {hosts}, {tally.bytes / 1e6:.1f} MB, in {path}"]
    if tally.from_collection:
        lines.append(f"webemu: {tally.from_collection} requests were answered by the collection {config.collection}")
    lines += [f"webemu: {count} not recorded: {reason}" for reason, count in sorted(tally.dropped.items())]
    if not tally.exchanges and not tally.from_collection:
        lines.append("  -> the command asked nothing through the proxy; flags for clients that ignore its variables:")
        lines += [f"     {line}" for line in describe_flags(config.root / "ca", "PROXY")]
    else:
        options = f"--root {shlex.quote(str(config.root))} --collection {config.collection}"
        lines.append(f"  -> webemu ingest {path} {options}")
        lines.append(f"     webemu run {options} -- {shlex.join(command)[:200]}")
    return "\n".join(lines)
