"""The command `webemu serve`: one listening socket, one or more uvicorn processes behind it."""

from __future__ import annotations

import errno
import ipaddress
import os
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
import uvicorn
from uvicorn.supervisors import Multiprocess

from api.doors.authority import ensure
from api.doors.gate import Gate
from api.served import current_id
from emulator.config import Config, load
from emulator.errors import BadRequest

BACKLOG = 4096
KEEP_ALIVE = 120
"""Seconds that an idle connection stays: longer than clients keep theirs, so that the client is who closes."""
GRACE = 15
"""Seconds that requests have to end when the server is told to stop."""
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}


def serve(
    collection: Annotated[str | None, typer.Option(help="Collection to serve. [default: default]")] = None,
    root: Annotated[Path | None, typer.Option(help="Folder of all collections. [default: webemu-data]")] = None,
    host: Annotated[str | None, typer.Option(help="Address to bind to. [default: 127.0.0.1]")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port; 0 takes a free one. [default: 8800]", min=0, max=65535)
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Serving processes. [default: 1]", min=1)] = None,
    cache_mb: Annotated[int | None, typer.Option(help="Rendered answers kept, MB per process. [default: 64]")] = None,
) -> None:
    """Serve a collection over HTTP: search, fetch, find; documented at /docs.

    The server follows the collection: a new snapshot is served a second after it is built, and no request is dropped.
    """
    flags = {"root": root, "collection": collection, "host": host, "port": port}
    config = load({**flags, "workers": workers, "cache_mb": cache_mb})
    listener = listen(config.host, config.port)
    ensure(config.root)
    announce(config, listener)
    for field in fields(config):
        os.environ[f"WEBEMU_{field.name.upper()}"] = str(getattr(config, field.name))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with suppress(KeyboardInterrupt):
        _run(config.workers, listener)


def _run(workers: int, listener: socket.socket) -> None:
    settings = uvicorn.Config(
        "api.app:from_environment",
        factory=True,
        interface="asgi3",
        loop="auto",
        http=Gate,
        ws="none",
        lifespan="on",
        workers=workers,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        log_config=LOGGING,
    )
    if workers > 1:
        Multiprocess(settings, [listener]).run()
    else:
        uvicorn.Server(settings).run([listener])


def listen(host: str, port: int) -> socket.socket:
    """A listening socket: from now on clients wait rather than being refused. Raises BadRequest."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        action = "choose another address with --host and --port"
        if error.errno == errno.EADDRINUSE:
            action = "another server runs there: choose another --port, or --port 0 for a free one"
        raise BadRequest(f"cannot listen on {host}:{port}: {error.strerror}", action=action) from error
    listener.set_inheritable(True)
    return listener


def announce(config: Config, listener: socket.socket) -> None:
    """One line that says what is served where and how to try it."""
    name, port = listener.getsockname()[:2]
    address = f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
    snapshot = current_id(config.folder)
    holds = f"snapshot {snapshot}" if snapshot else "no snapshot yet: webemu ingest builds one"
    print(f"webemu: {config.collection} ({holds}) on {address}   try: curl '{address}/v1/search?q=river'", flush=True)
    if not ipaddress.ip_address(name.partition("%")[0]).is_loopback:
        print(f"webemu: {name} is not a loopback address: whoever reaches it reads the collection", file=sys.stderr)
