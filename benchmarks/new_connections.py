"""Clients that connect anew beside others that keep a worker busy: how long each waits, and who is refused.

    python -m benchmarks.new_connections COLLECTION_FOLDER [NEW ...]

Tools of agents open a connection for each call, and a step of training opens hundreds at once. A number of connections
is kept alive and always asks (each waits for its answer, so nothing is overloaded); then NEW clients (64 and 1,024
unless given) connect at once and ask once each. Every query and page is another, the answer cache is off. The medians
of the kept are of the answers that they got while new clients waited. Doors: TCP and a Unix socket (searches), CONNECT
with TLS (pages).
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from time import perf_counter
from urllib.parse import quote, urlsplit

from api.bench.server import started
from emulator.config import Config
from index.asked import generated

KEPT = (0, 16, 32, 64)
NEW = (64, 1024)
QUERIES = 60_000
PAUSE = 1.0
"""Seconds between two bursts, and before the first."""
ATTEMPTS = 3
"""Bursts of each kind; the one with the median ratio is printed."""

Target = tuple[str, str]
"""Host (empty for the API) and request target."""


class Connection:
    """A connection through one of the doors."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, target: Target) -> int:
        """Return the status of the answer once its body is read. Raises OSError if the connection breaks."""
        host, path = target
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: {host or 'webemu'}\r\n\r\n".encode())
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = next(
                (line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")),
                b"0",
            )
            await self._reader.readexactly(int(length))
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError("the connection ended before the answer") from error
        return int(head.split(b" ", 2)[1])

    def close(self) -> None:
        self._writer.transport.abort()


@dataclass
class Door:
    """A way to the server, and what is asked there."""

    name: str
    targets: Iterator[Target]
    port: int = 0
    path: str = ""
    authority: Path | None = None

    async def connect(self, host: str) -> Connection:
        """Open a connection; through CONNECT and TLS, to the host."""
        if self.path:
            return Connection(*await asyncio.open_unix_connection(self.path))
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        if self.authority:
            writer.write(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            await writer.start_tls(self._context, server_hostname=host)
        return Connection(reader, writer)

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority))


@dataclass
class Figures:
    """What the clients of one burst saw."""

    kept: list[float] = field(default_factory=list)
    """Seconds that the kept connections waited for answers while new clients waited."""
    new: list[float] = field(default_factory=list)
    """Seconds from the first packet of a new connection to its answer."""
    refused: int = 0

    @property
    def ratio(self) -> float:
        return median(self.new) / median(self.kept) if self.kept and self.new else 0.0


async def keep_asking(door: Door, times: list[tuple[float, float]]) -> None:
    """Ask for ever on one connection, and note when each answer came and how long it took."""
    host, _ = target = next(door.targets)
    connection = await door.connect(host)
    try:
        while True:
            start = perf_counter()
            await connection.ask(target)
            times.append((perf_counter(), perf_counter() - start))
            target = host, next(target[1] for target in door.targets if target[0] == host)
    finally:
        connection.close()


async def ask_once(door: Door, figures: Figures) -> None:
    start, target = perf_counter(), next(door.targets)
    try:
        connection = await door.connect(target[0])
        status = await connection.ask(target)
        connection.close()
    except OSError:
        status = 0
    if status == 200:
        figures.new.append(perf_counter() - start)
    else:
        figures.refused += 1


async def burst(door: Door, kept: int, new: int) -> Figures:
    """Connect the new clients at once beside the kept ones."""
    figures, times = Figures(), list[tuple[float, float]]()
    async with asyncio.TaskGroup() as tasks:
        keepers = [tasks.create_task(keep_asking(door, times)) for _ in range(kept)]
        await asyncio.sleep(PAUSE)
        start = perf_counter()
        await asyncio.gather(*(ask_once(door, figures) for _ in range(new)))
        end = perf_counter()
        for keeper in keepers:
            keeper.cancel()
    figures.kept = [seconds for moment, seconds in times if start <= moment and moment - seconds <= end]
    return figures


def table(door: Door, sizes: list[int]) -> None:
    print(f"\n{door.name}\n| kept | p50 / max, s | new at once | p50 / max, s | refused | new / kept |")
    print("|---:|---|---:|---|---:|---:|")
    for new in sizes:
        for kept in KEPT:
            attempts = [asyncio.run(burst(door, kept, new)) for _ in range(ATTEMPTS)]
            figures = sorted(attempts, key=lambda attempt: attempt.ratio)[ATTEMPTS // 2]
            refused = sum(attempt.refused for attempt in attempts)
            print(
                f"| {kept} | {_times(figures.kept)} | {new} | {_times(figures.new)} | {refused} of {ATTEMPTS * new} |"
                f" {figures.ratio:.1f} |",
                flush=True,
            )


def _times(seconds: list[float]) -> str:
    return f"{median(seconds):.3f} / {max(seconds):.3f}" if seconds else ""


def main(folder: Path, *sizes: int) -> None:
    queries, pages = generated(folder, QUERIES, QUERIES, "new connections")
    secure = [urlsplit(url) for url, _ in pages if url.startswith("https://")]
    hosts = sorted({url.netloc for url in secure})
    secure = [url for url in secure if url.netloc == hosts[0]] or secure
    with tempfile.TemporaryDirectory() as scratch:
        socket_path = str(Path(scratch) / "s")
        os.environ["WEBEMU_UDS"] = socket_path
        config = Config(root=folder.parent, collection=folder.name, cache_mb=0)
        with started(config) as server:
            searches = (("", f"/v1/search?q={quote(query)}") for _ in range(1000) for query in queries)
            visits = ((url.netloc, url.path) for _ in range(1000) for url in secure)
            authority = folder.parent / "ca" / "ca.pem"
            for door in (
                Door("TCP, searches", searches, port=server.port),
                Door("Unix socket, searches", searches, path=socket_path),
                Door("CONNECT and TLS, pages", visits, port=server.port, authority=authority),
            ):
                table(door, list(sizes) or list(NEW))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
