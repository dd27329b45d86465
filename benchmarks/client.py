"""Cost of a request for the client: over TCP, a Unix socket and no socket, with agent_client and with httpx, in one
run.

python -m benchmarks.client [SECONDS] [--collection FOLDER]

First requests per client core-second: the server is a separate process and answers every request with the same 2 KB of
results, so that only the clients differ. Without a socket the application runs in the client's process, and its share
is counted. With a collection, also the p50 and p99 of one caller that searches (distinct queries, the server's cache
off) and opens pages of it, from `webemu serve` and from an app in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypedDict

import httpx

from webemu.agent_client import AsyncClient, Client
from webemu.agent_client.asgi import Application, Message, Receive, Send

CONNECTIONS = (1, 32, 256)
"""Connections of the asynchronous clients."""
THREADS = (1, 32)
"""Threads of the synchronous clients."""
PATH = "/v1/search?q=river+port&page=1&size=10"
"""Request target of every search."""
QUERIES, PAGES = 500, 2000
"""Searches and page views of one caller that are timed."""


def build_search_response() -> bytes:
    """Return a search response of about 2 KB."""
    result = {"url": "https://example.org/path/to/a-page", "title": "A page about a river port", "date": "2024-11-30"}
    results = [result | {"rank": rank, "snippet": "the port " * 9, "score": 7.25} for rank in range(1, 11)]
    body = {"query": "river port", "page": 1, "size": 10, "as_of": None, "snapshot": "5d0c"}
    return json.dumps(body | {"results": results, "more": True}).encode()


CONTENT = build_search_response()
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(CONTENT))]


class Echo(asyncio.Protocol):
    """Server protocol that answers each request head (no bodies, no pipelining) with the recorded bytes."""

    answer = b"HTTP/1.1 200 OK\r\n" + b"".join(b"%b: %b\r\n" % one for one in HEADERS) + b"\r\n" + CONTENT

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.waiting = b""

    def data_received(self, data: bytes) -> None:
        """Answer once the request head is complete."""
        self.waiting += data
        if self.waiting.endswith(b"\r\n\r\n"):
            self.waiting = b""
            self.transport.write(self.answer)


class ClientOptions(TypedDict, total=False):
    """Target of a client: an address, or an application in this process."""

    base_url: str
    app: Application


async def echo(scope: Message, receive: Receive, send: Send) -> None:
    """Answer with the recorded bytes, as an ASGI application without a lifespan."""
    assert scope["type"] == "http"
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": CONTENT})


def serve_echo(port: Connection, path: str) -> None:
    """Serve TCP and the Unix socket at `path` until the process is ended; send the TCP port through `port`."""

    async def forever() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Echo, "127.0.0.1", 0, backlog=1024)
        await loop.create_unix_server(Echo, path, backlog=1024)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


async def measure_async(ask: Callable[[], Awaitable[object]], connections: int, seconds: float) -> float:
    """Return the requests per core-second of `connections` tasks that each ask one request after the other."""
    count = 0

    async def worker(until: float) -> None:
        nonlocal count
        while time.perf_counter() < until:
            await ask()
            count += 1

    await asyncio.gather(*(ask() for _ in range(connections)))
    started = time.process_time()
    until = time.perf_counter() + seconds
    await asyncio.gather(*(worker(until) for _ in range(connections)))
    return count / (time.process_time() - started)


def measure_threads(ask: Callable[[], object], threads: int, seconds: float) -> float:
    """Return the requests per core-second of threads that each ask one request after the other."""
    counts = [0] * threads
    until = time.perf_counter() + seconds

    def worker(number: int) -> None:
        while time.perf_counter() < until:
            ask()
            counts[number] += 1

    started = time.process_time()
    workers = [threading.Thread(target=worker, args=(number,)) for number in range(threads)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    return sum(counts) / (time.process_time() - started)


async def measure_async_client(client_options: ClientOptions, connections: int, seconds: float) -> float:
    """Return the requests per core-second of `AsyncClient`; `client_options` holds its arguments."""
    async with AsyncClient(**client_options) as client:
        return await measure_async(lambda: client.search("river port"), connections, seconds)


async def measure_httpx(
    transport: httpx.AsyncBaseTransport | None, url: str, connections: int, seconds: float
) -> float:
    """Return the requests per core-second of `httpx.AsyncClient`."""
    limits = httpx.Limits(max_connections=512, max_keepalive_connections=512)
    async with httpx.AsyncClient(transport=transport, limits=limits, timeout=30) as client:

        async def ask() -> object:
            return (await client.get(url + PATH)).json()

        return await measure_async(ask, connections, seconds)


def print_costs(url: str, path: str, seconds: float) -> None:
    """Measure the requests per client core-second of each client and connection; print them as they come."""
    print(f"requests per client core-second; {len(Echo.answer)} bytes an answer")
    client_options: dict[str, ClientOptions] = {
        "TCP": {"base_url": url}, "Unix socket": {"base_url": f"unix://{path}"}, "in process": {"app": echo}
    }  # fmt: skip
    httpx_transports: dict[str, Callable[[], httpx.AsyncBaseTransport | None]] = {
        "TCP": lambda: None,
        "Unix socket": lambda: httpx.AsyncHTTPTransport(uds=path, limits=httpx.Limits(max_connections=512)),
        "in process": lambda: httpx.ASGITransport(echo),
    }
    for connection, options in client_options.items():
        for connections in CONNECTIONS:
            rate = asyncio.run(measure_async_client(options, connections, seconds))
            print(f"{connection:<12} {'AsyncClient.search':<19} {connections:>4} at once {rate:>8,.0f}", flush=True)
            rate = asyncio.run(measure_httpx(httpx_transports[connection](), url, connections, seconds))
            print(f"{connection:<12} {'httpx.AsyncClient':<19} {connections:>4} at once {rate:>8,.0f}", flush=True)
    for connection, options in client_options.items():
        local = httpx.HTTPTransport(uds=path) if connection == "Unix socket" else None
        with Client(**options) as client, httpx.Client(transport=local) as bare:
            for threads in THREADS:
                rate = measure_threads(lambda client=client: client.search("river port"), threads, seconds)  # type: ignore[misc]
                print(f"{connection:<12} {'Client.search':<19} {threads:>4} threads {rate:>8,.0f}", flush=True)
                if connection != "in process":  # httpx cannot call an application from threads
                    rate = measure_threads(lambda bare=bare: bare.get(url + PATH).json(), threads, seconds)  # type: ignore[misc]
                    print(f"{connection:<12} {'httpx.Client':<19} {threads:>4} threads {rate:>8,.0f}", flush=True)


@contextmanager
def serve_collection(folder: Path, path: str) -> Iterator[str]:
    """Run `webemu serve` for a collection, its answer cache off, and yield its URL."""
    options = ["--root", str(folder.parent), "--collection", folder.name, "--port", "0", "--uds", path]
    command = [sys.executable, "-P", "-m", "webemu.emulator.cli", "serve", *options, "--cache-mb", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield "http://" + process.stdout.readline().partition("http://")[2].partition(" ")[0]
    finally:
        process.terminate()
        process.wait()


def draw_requests(client: Client) -> tuple[list[str], list[str]]:
    """Return distinct queries of two words from titles of the collection, and URLs of its pages."""
    results = [result for word in ("list", "file", "index", "server") for result in client.search(word, 1, 100).results]
    words = sorted({word for result in results for word in re.findall("[a-z]{4,}", result.title.lower())})
    rng = random.Random(1)
    pairs = {" ".join(rng.sample(words, 2)): None for _ in range(3 * QUERIES)}
    return list(pairs)[:QUERIES], [result.url for result in results]


def format_times(name: str, seconds: list[float]) -> str:
    """Return a line with the p50 and p99 of some times."""
    seconds.sort()
    p50, p99 = (1e3 * seconds[int(len(seconds) * share)] for share in (0.5, 0.99))
    return f"{name} p50 {p50:.3f} ms, p99 {p99:.3f} ms"


def time_calls(ask: Callable[[str], object], subjects: list[str], number: int) -> list[float]:
    """Return the seconds of each request, asked one after the other."""
    durations = []
    for turn in range(number):
        started = time.perf_counter()
        ask(subjects[turn % len(subjects)])
        durations.append(time.perf_counter() - started)
    return durations


async def time_async_calls(ask: Callable[[str], Awaitable[object]], subjects: list[str], number: int) -> list[float]:
    """Return the seconds of each request, awaited one after the other."""
    durations = []
    for turn in range(number):
        started = time.perf_counter()
        await ask(subjects[turn % len(subjects)])
        durations.append(time.perf_counter() - started)
    return durations


async def measure_async_latency(client_options: ClientOptions, queries: list[str], pages: list[str]) -> str:
    """Measure searches and page views of one `AsyncClient`; return them as text."""
    async with AsyncClient(**client_options) as client:
        await time_async_calls(client.open, pages, len(pages))
        search_line = format_times("search", await time_async_calls(client.search, queries, QUERIES))
        return f"{search_line}; {format_times('page', await time_async_calls(client.open, pages, PAGES))}"


def measure_latency(client_options: ClientOptions, queries: list[str], pages: list[str]) -> str:
    """Measure searches and page views of one `Client`; return them as text."""
    with Client(**client_options) as client:
        time_calls(client.open, pages, len(pages))
        search_line = format_times("search", time_calls(client.search, queries, QUERIES))
        return f"{search_line}; {format_times('page', time_calls(client.open, pages, PAGES))}"


def measure_httpx_latency(client: httpx.Client, queries: list[str], pages: list[str]) -> str:
    """Measure searches and page views of one `httpx.Client`; return them as text."""

    def search(query: str) -> object:
        return client.get("/v1/search", params={"q": query}).json()

    def page(url: str) -> object:
        return client.get("/v1/fetch", params={"url": url}).json()

    with client:
        search_line = format_times("search", time_calls(search, queries, QUERIES))
        return f"{search_line}; {format_times('page', time_calls(page, pages, PAGES))}"


def print_latencies(folder: Path, path: str) -> None:
    """Measure the times of one caller for each client and connection; print them as they come."""
    from webemu.api.app import create_app  # imported only if needed: the rest needs no server
    from webemu.emulator.config import Config

    config = Config(root=folder.parent, collection=folder.name, cache_mb=0)
    print(f"one caller, {QUERIES} distinct searches and {PAGES} page views of {folder.name}")
    with serve_collection(folder, path) as url:
        with Client(url) as client:
            queries, pages = draw_requests(client)
            time_calls(client.search, queries, QUERIES)  # brings the index into memory
        for connection, base_url in {"TCP": url, "Unix socket": f"unix://{path}"}.items():
            local = httpx.HTTPTransport(uds=path) if connection != "TCP" else None
            bare = httpx.Client(transport=local, base_url=url)
            print(
                f"{connection:<12} Client       {measure_latency({'base_url': base_url}, queries, pages)}", flush=True
            )
            print(
                f"{connection:<12} AsyncClient  "
                f"{asyncio.run(measure_async_latency({'base_url': base_url}, queries, pages))}",
                flush=True,
            )
            print(f"{connection:<12} httpx.Client {measure_httpx_latency(bare, queries, pages)}", flush=True)
    with Client(app=create_app(config)) as warm:
        time_calls(warm.search, queries, QUERIES)
    print(f"in process   Client       {measure_latency({'app': create_app(config)}, queries, pages)}", flush=True)
    print(
        f"in process   AsyncClient  {asyncio.run(measure_async_latency({'app': create_app(config)}, queries, pages))}"
    )


def main() -> None:
    """Parse the command line and run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=2.0, help="seconds of each measurement (default: 2)")
    parser.add_argument("--collection", type=Path, help="folder of a collection; also measures the times of one caller")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="webemu") as folder:
        parent_end, child_end = multiprocessing.Pipe()
        path = f"{folder}/echo.sock"
        server = multiprocessing.get_context("spawn").Process(target=serve_echo, args=(child_end, path), daemon=True)
        server.start()
        print_costs(f"http://127.0.0.1:{parent_end.recv()}", path, arguments.seconds)
        server.terminate()
        if arguments.collection:
            print_latencies(arguments.collection, f"{folder}/web.sock")


if __name__ == "__main__":
    main()
