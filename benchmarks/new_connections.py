"""Clients that connect anew while others keep a worker busy: how long each waits, and how many are refused.

    python -m benchmarks.new_connections COLLECTION_FOLDER [NEW ...]

Tools of agents open a connection for each call, and a training step opens hundreds at once. A number of connections is
kept alive and always asks (each waits for its answer, so nothing is overloaded); then NEW clients (64 and 1,024 by
default) connect at once, from another process, and ask once each. Queries and pages differ, and the answer cache is
off. The medians of the kept connections cover the answers that they got while new clients waited. Doors: TCP and a
Unix socket (searches), CONNECT with TLS (pages). Clients are generators over non-blocking sockets, since a client
library would cost more than the server.
"""

from __future__ import annotations

import os
import selectors
import socket
import ssl
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle, islice, product
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from urllib.parse import quote, urlsplit

from webemu.api.bench.server import start_server
from webemu.emulator.config import Config
from webemu.index.load_samples import sample_queries

KEPT_COUNTS = (0, 16, 32, 64)
"""Numbers of connections that are kept alive."""
NEW_COUNTS = (64, 1024)
"""Numbers of new clients, by default."""
QUERY_COUNT = 60_000
"""Distinct queries, and pages."""
WARMUP_SECONDS = 1.0
"""Seconds that the kept connections ask before new clients come."""
ATTEMPT_COUNT = 3
"""Bursts of each kind; the one with the median ratio is printed."""

Target = tuple[str, str]
"""Host (empty for the API) and request target."""
Client = Generator[int, None, None]
"""A running client: yields the event of `selectors` that its socket waits for."""
OnAnswer = Callable[[int, float, float], None]
"""Callback that receives the status of an answer (0 if the connection broke) and when its request began and ended."""


@dataclass(frozen=True)
class Door:
    """A way to the server."""

    name: str
    address: tuple[str, int] | str
    """Host and port, or the path of a Unix socket."""
    authority: str = ""
    """File of the certificate authority if TLS is used through CONNECT; else empty."""


@dataclass
class BurstFigures:
    """Waits of the clients of one burst."""

    kept_waits: list[float] = field(default_factory=list)
    """Seconds that the kept connections waited for answers while new clients waited."""
    new_waits: list[float] = field(default_factory=list)
    """Seconds from the begin of a new connection to the end of its answer."""
    refused_count: int = 0
    """New clients without an answer of status 200."""

    @property
    def wait_ratio(self) -> float:
        """Median wait of new clients divided by that of kept connections; 0 if either is empty."""
        return median(self.new_waits) / median(self.kept_waits) if self.kept_waits and self.new_waits else 0.0


@cache
def trusting_context(authority: str) -> ssl.SSLContext:
    """Return a TLS context that trusts the authority."""
    return ssl.create_default_context(cafile=authority)


def receive(sock: socket.socket, is_whole: Callable[[bytes], bool]) -> Generator[int, None, bytes]:
    """Return what comes in, once it is whole. Raises ConnectionResetError if the connection ends before."""
    received = b""
    while not is_whole(received):
        try:
            chunk = sock.recv(1 << 18)
        except (BlockingIOError, ssl.SSLWantReadError):
            yield selectors.EVENT_READ
            continue
        if not chunk:
            raise ConnectionResetError("the connection ended before the answer")
        received += chunk
    return received


def is_answer(received: bytes) -> bool:
    """True if the bytes are a head with all of its body."""
    head, end, body = received.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return bool(end) and len(body) >= int((lengths or [b"0"])[0])


def has_head(received: bytes) -> bool:
    """True if the bytes contain the end of a head."""
    return b"\r\n\r\n" in received


def connect(door: Door, sock: socket.socket, host: str) -> Generator[int, None, socket.socket]:
    """Return the socket, connected; through CONNECT and TLS, to the host."""
    sock.setblocking(False)
    with suppress(BlockingIOError):
        sock.connect(door.address)
    yield selectors.EVENT_WRITE
    if not door.authority:
        return sock
    sock.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
    yield from receive(sock, has_head)
    sock = trusting_context(door.authority).wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
    while True:
        try:
            sock.do_handshake()
            return sock
        except ssl.SSLWantReadError:
            yield selectors.EVENT_READ


def run_client(door: Door, sock: socket.socket, targets: Iterable[Target], on_answer: OnAnswer) -> Client:
    """Ask for each target on one connection."""
    begin, connection = perf_counter(), None
    try:
        for host, path in targets:
            connection = connection or (yield from connect(door, sock, host))
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host or 'webemu'}\r\n\r\n".encode())
            answer = yield from receive(connection, is_answer)
            on_answer(int(answer.split(b" ", 2)[1]), begin, perf_counter())
            begin = perf_counter()
    except OSError:
        on_answer(0, begin, perf_counter())
    finally:
        (connection or sock).close()


def run_clients(
    door: Door, target_lists: Iterable[Iterable[Target]], on_answer: OnAnswer, is_over: Callable[[], bool]
) -> None:
    """Run a client for each list of targets until all are done, or until `is_over` is true."""
    family = socket.AF_UNIX if isinstance(door.address, str) else socket.AF_INET
    with selectors.DefaultSelector() as selector:
        for targets in target_lists:
            sock = socket.socket(family, socket.SOCK_STREAM)
            steps = run_client(door, sock, targets, on_answer)
            selector.register(sock.fileno(), next(steps), steps)
        while selector.get_map() and not is_over():
            for key, _ in selector.select(0.05):
                try:
                    if (event := next(key.data)) != key.events:
                        selector.modify(key.fd, event, key.data)
                except StopIteration:
                    selector.unregister(key.fd)


def ask_once(door: Door, targets: list[Target]) -> tuple[list[float], int, float, float]:
    """Connect anew for each target. Return the seconds of each answer, the number of refusals, begin and end."""
    seconds, refusals = list[float](), list[int]()

    def note(status: int, begin: float, end: float) -> None:
        if status == 200:
            seconds.append(end - begin)
        else:
            refusals.append(status)

    start = perf_counter()
    run_clients(door, [[target] for target in targets], note, lambda: False)
    return seconds, len(refusals), start, perf_counter()


def run_burst(
    door: Door, targets: Iterator[Target], kept_count: int, new_count: int, new_client_pool: ProcessPoolExecutor
) -> BurstFigures:
    """Connect the new clients at once beside the kept ones."""
    new_targets = list(islice(targets, new_count))
    pools = [[(host, path) for host, path in islice(targets, 200)] for _ in range(kept_count)]
    answers = list[tuple[float, float]]()
    warm_until = perf_counter() + WARMUP_SECONDS
    pending = list[Future[tuple[list[float], int, float, float]]]()

    def is_over() -> bool:
        if not pending and perf_counter() > warm_until:
            pending.append(new_client_pool.submit(ask_once, door, new_targets))
        return bool(pending) and pending[0].done()

    def note(status: int, begin: float, end: float) -> None:
        assert status == 200, f"a kept connection was answered with {status}"
        answers.append((begin, end))

    run_clients(door, map(cycle, pools), note, is_over)
    while not is_over():
        sleep(0.01)
    seconds, refused, start, end = pending[0].result()
    waits = [finish - begin for begin, finish in answers if finish >= start and begin <= end]
    return BurstFigures(waits, seconds, refused)


def print_table(door: Door, targets: Iterator[Target], sizes: list[int]) -> None:
    """Measure and print the table of a door."""
    print(f"\n{door.name}\n| kept | p50 / max, s | new at once | p50 / max, s | refused | new / kept |")
    print("|---:|---|---:|---|---:|---:|")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as new_client_pool:
        new_client_pool.submit(ask_once, door, [next(targets)]).result()  # the process starts slowly
        for new_count, kept_count in product(sizes, KEPT_COUNTS):
            attempts = [run_burst(door, targets, kept_count, new_count, new_client_pool) for _ in range(ATTEMPT_COUNT)]
            figures = sorted(attempts, key=lambda attempt: attempt.wait_ratio)[ATTEMPT_COUNT // 2]
            refused = sum(attempt.refused_count for attempt in attempts)
            print(
                f"| {kept_count} | {_format_times(figures.kept_waits)} | {new_count} | "
                f"{_format_times(figures.new_waits)} | {refused} of {ATTEMPT_COUNT * new_count} |"
                f" {figures.wait_ratio:.1f} |",
                flush=True,
            )


def _format_times(seconds: list[float]) -> str:
    """Return median and maximum as text; empty if there are none."""
    return f"{median(seconds):.3f} / {max(seconds):.3f}" if seconds else ""


def main(folder: Path, *sizes: int) -> None:
    """Start the server and measure each door."""
    queries, pages = sample_queries(folder, QUERY_COUNT, QUERY_COUNT, "new connections")
    secure = [urlsplit(url) for url, _ in pages if url.startswith("https://")]
    host = max({url.netloc for url in secure}, key=[url.netloc for url in secure].count)
    with tempfile.TemporaryDirectory() as scratch:
        path = str(Path(scratch) / "s")
        os.environ["WEBEMU_UDS"] = path
        with start_server(Config(root=folder.parent, collection=folder.name, cache_mb=0)) as server:
            searches = cycle([("", f"/v1/search?q={quote(query)}") for query in queries])
            visits = cycle([(host, url.path) for url in secure if url.netloc == host])
            address, counts = ("127.0.0.1", server.port), list(sizes) or list(NEW_COUNTS)
            print_table(Door("TCP, searches", address), searches, counts)
            print_table(Door("Unix socket, searches", path), searches, counts)
            authority = str(folder.parent / "ca" / "ca.pem")
            print_table(Door("CONNECT and TLS, pages", address, authority), visits, counts)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
