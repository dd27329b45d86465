"""The command `webemu serve`: listening sockets, and one or more uvicorn processes behind them."""

from __future__ import annotations

import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from contextlib import nullcontext, suppress
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
import uvicorn

from webemu.api.proxy.authority import ensure
from webemu.api.proxy.dns_server import check
from webemu.api.proxy.listener import BACKLOG, listen
from webemu.api.proxy.protocol_sniffer import Gate
from webemu.api.proxy.unix import listening
from webemu.api.runtime import batch_sharing
from webemu.api.runtime.live_snapshot import current_id, problem, reader_line
from webemu.api.runtime.ray_cluster import serve_on
from webemu.api.runtime.supervisor import Server, Supervisor
from webemu.emulator.config import Config, load
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import existing
from webemu.emulator.logs import event, settings

log = logging.getLogger("webemu.serve")

KEEP_ALIVE = 120
"""Seconds that an idle connection stays open. Longer than clients keep theirs, so that the client closes it and never
sends a request on a connection that is just being closed.
"""
GRACE = 15
"""Seconds that running requests have to finish when the server is told to stop."""
HUNG = 30
"""Seconds without a sign of life after which a worker is killed. A dead worker is noticed immediately; this limit is
for hung ones, and a worker that is merely busy must not die together with all its requests.
"""
PERIOD = 0.5
"""Seconds between two checks that the parent process is alive."""


def serve(
    collection: Annotated[str | None, typer.Option(help="Collection to serve. [default: default]")] = None,
    root: Annotated[Path | None, typer.Option(help="Folder of all collections. [default: webemu-data]")] = None,
    host: Annotated[str | None, typer.Option(help="Address to bind to. [default: 127.0.0.1]")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 takes a free one. [default: 8800]", min=0, max=65535)
    ] = None,
    web_ports: Annotated[
        str | None,
        typer.Option(help="Further ports, such as 80,443, for programs that use no proxy. [default: none]"),
    ] = None,
    uds: Annotated[
        str | None, typer.Option(help="Unix socket to listen on as well, for this user only. [default: none]")
    ] = None,
    dns_port: Annotated[
        int | None,
        typer.Option(
            help="DNS port; captured host names resolve to this server; 0 disables it. [default: 0]", min=0, max=65535
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Number of serving processes. [default: 1]", min=1)] = None,
    cache_mb: Annotated[
        int | None, typer.Option(help="Cache of rendered responses, in MB per process. [default: 64]")
    ] = None,
    log_format: Annotated[
        str | None, typer.Option(help="Format of the log on standard error: text or json. [default: text]")
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Ray cluster to serve on, with `workers` replicas: auto, HOST:PORT or ray://HOST:PORT.",
        ),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(
            help="With --ray: number of partitions that `webemu snapshots split` made; each gets two replicas.", min=2
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for a collection that does not exist yet.")] = False,
    parent: Annotated[int, typer.Option(hidden=True, help="Process id; the server stops when that process ends.")] = 0,
) -> None:
    """Serve a collection over HTTP: search, fetch, find; documented at /docs.

    The server follows the collection: a new snapshot is served a second after it is built, without dropping a request.

    \b
    Example:
      webemu serve --collection demo --workers 4
      webemu serve --collection demo --uds web.sock      then: webemu search --server unix://web.sock river
      webemu serve --collection mine --log-format json 2>server.log
      webemu serve --collection mine --ray auto --workers 4
    """
    flags = {"root": root, "collection": collection, "host": host, "port": port, "web_ports": web_ports, "uds": uds}
    flags |= {"dns_port": dns_port, "workers": workers, "cache_mb": cache_mb, "log_format": log_format}
    config = load(flags)
    if ray:
        _require(config, wait)
        serve_on(ray, config, parts)
        return
    if parts:
        raise BadRequest("--parts works on a Ray cluster only", action="name the cluster with --ray ADDRESS")
    listeners = [listen(config.host, port) for port in (config.port, *config.further_ports)]
    if config.dns_port:
        check(config.host, config.dns_port)
    _require(config, wait)
    ensure(config.root)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # an exception, so that the file of a Unix socket is removed
    with listening(config.socket_path) if config.socket_path else nullcontext() as local:
        announce(config, listeners)
        # Worker processes read their configuration from the environment: see `webemu.api.app.from_environment`.
        for field in fields(config):
            os.environ[f"WEBEMU_{field.name.upper()}"] = str(getattr(config, field.name))
        if parent:
            threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
        with suppress(KeyboardInterrupt):
            _run(config, [*listeners, *([local] if local else [])])


def _require(config: Config, wait: bool) -> None:
    """Raise BadRequest if the collection does not exist, unless the server is told to wait for it."""
    if not wait:
        existing(config, "--wait waits for it")


def _end_with(parent: int) -> None:
    """Stop this server when the process that started it is gone: that process may be killed before it can stop the
    server.
    """
    while os.getppid() == parent:
        time.sleep(PERIOD)
    os.kill(os.getpid(), signal.SIGTERM)


def _run(config: Config, listeners: list[socket.socket]) -> None:
    """Run uvicorn on the listening sockets, under a supervisor if there are several workers."""
    how = uvicorn.Config(
        "webemu.api.app:from_environment",
        factory=True,
        interface="asgi3",
        loop="webemu.api.proxy.accepting:AcceptingLoop" if find_spec("uvloop") else "auto",
        http=Gate,
        ws="none",
        lifespan="on",
        workers=config.workers,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        timeout_worker_healthcheck=HUNG,
        access_log=False,
        proxy_headers=False,  # X-Forwarded-* headers of clients are not trusted
        server_header=False,
        log_config=settings(config.log_format),
    )
    _log_start(config, listeners)
    if config.workers > 1:
        with tempfile.TemporaryDirectory(prefix="webemu-") as folder:
            os.environ[batch_sharing.FOLDER] = folder
            Supervisor(how, listeners).run()
    else:
        Server(how).run(listeners)


def _log_start(config: Config, listeners: list[socket.socket]) -> None:
    """Log what is served and on which addresses."""
    places = [_place(listener.getsockname()) for listener in listeners]
    told = event("server_started", collection=config.collection, listening=places, workers=config.workers)
    log.info("serving %s on %s", config.collection, ", ".join(places), extra=told)


def _place(address: Any) -> str:
    """Return the address of a socket as people write it: `host:port`, or the path of a Unix socket."""
    if isinstance(address, (str, bytes)):
        return str(Path(os.fsdecode(address)).absolute())
    return f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"


def _ingest(config: Config) -> str:
    """Return the command that fills the collection."""
    return f"webemu ingest SOURCE... --root {config.root} --collection {config.collection}"


def announce(config: Config, listeners: list[socket.socket]) -> None:
    """Print what is served, where, and a command to try it; then the ports of the emulated web, and warnings."""
    name, port = listeners[0].getsockname()[:2]
    address = f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
    snapshot = current_id(config.folder)
    why_not = problem(config.folder, snapshot) if snapshot else None
    gc.collect()  # closes what `problem` opened: LMDB must not open a file twice in one process
    holds = f"snapshot {snapshot}" if snapshot else f"no snapshot yet: {_ingest(config)} builds one"
    tried = f"   try: curl '{address}/v1/search?q=river'"
    if why_not:
        holds, tried = f"nothing is served: {why_not[0]}", ""
    print(f"webemu: {config.collection} ({holds}) on {address}{tried}", flush=True)
    if why_not:
        print(f"  -> {why_not[1]}", file=sys.stderr)
    doors = [str(listener.getsockname()[1]) for listener in listeners[1:]]
    doors += [f"{config.dns_port} (DNS)"] if config.dns_port else []
    if doors:
        print(f"webemu: the emulated web by host name on {name}, port {', '.join(doors)}", flush=True)
    if config.socket_path:
        path = config.socket_path.absolute()
        print(f"webemu: also for this user on unix://{quote(str(path))}", flush=True)
    print(f"webemu: reader of result records: {reader_line()}", flush=True)
    if not ipaddress.ip_address(name.partition("%")[0]).is_loopback:
        print(
            f"webemu: {name} is not a loopback address: anyone who can reach it can read the collection",
            file=sys.stderr,
        )
