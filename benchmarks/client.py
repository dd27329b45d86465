"""What a request costs the client: requests per client core-second of ours and of plain httpx, in the same run.

python -m benchmarks.client [SECONDS]

The server is a process of its own and gives every request the same 2 KB of results: only the clients differ.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection

import httpx

from agent_client import AsyncClient, Client

CONNECTIONS = (1, 32, 256)
THREADS = (1, 32)
PATH = "/v1/search?q=river+port&page=1&size=10"


def recorded() -> bytes:
    """A search answer of about 2 KB with its HTTP head."""
    result = {"url": "https://example.org/path/to/a-page", "title": "A page about a river port", "date": "2024-11-30"}
    results = [result | {"rank": rank, "snippet": "the port " * 9, "score": 7.25} for rank in range(1, 11)]
    body = {"query": "river port", "page": 1, "size": 10, "as_of": None, "snapshot": "5d0c"}
    content = json.dumps(body | {"results": results, "more": True}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


class Echo(asyncio.Protocol):
    """Answers each request head (no bodies, no pipelining) with the recorded bytes."""

    answer = recorded()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.waiting = b""

    def data_received(self, data: bytes) -> None:
        self.waiting += data
        if self.waiting.endswith(b"\r\n\r\n"):
            self.waiting = b""
            self.transport.write(self.answer)


def serve(port: Connection) -> None:
    """Runs until its process is ended; sends the port it took."""

    async def forever() -> None:
        server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0, backlog=1024)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


async def asynchronous(ask: Callable[[], Awaitable[object]], connections: int, seconds: float) -> float:
    """Requests per core-second of `connections` tasks that ask one after the other."""
    done = 0

    async def worker(until: float) -> None:
        nonlocal done
        while time.perf_counter() < until:
            await ask()
            done += 1

    await asyncio.gather(*(ask() for _ in range(connections)))
    started = time.process_time()
    until = time.perf_counter() + seconds
    await asyncio.gather(*(worker(until) for _ in range(connections)))
    return done / (time.process_time() - started)


def threaded(ask: Callable[[], object], threads: int, seconds: float) -> float:
    """`asynchronous` for threads."""
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


async def ours(url: str, connections: int, seconds: float) -> float:
    async with AsyncClient(url) as client:
        return await asynchronous(lambda: client.search("river port"), connections, seconds)


async def plain(url: str, connections: int, seconds: float) -> float:
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=512, max_keepalive_connections=512)) as client:

        async def ask() -> object:
            return (await client.get(url + PATH, timeout=30)).json()

        return await asynchronous(ask, connections, seconds)


def main(seconds: float = 2.0) -> None:
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{here.recv()}"
    print(f"requests per client core-second; {len(Echo.answer)} bytes an answer")
    for name, run in (("AsyncClient.search", ours), ("httpx.AsyncClient", plain)):
        for connections in CONNECTIONS:
            print(f"{name:<20} {connections:>4} connections {asyncio.run(run(url, connections, seconds)):>8,.0f}")
    with Client(url) as client, httpx.Client() as bare:
        for threads in THREADS:
            rate = threaded(lambda: client.search("river port"), threads, seconds)
            print(f"{'Client.search':<20} {threads:>4} threads     {rate:>8,.0f}")
            rate = threaded(lambda: bare.get(url + PATH).json(), threads, seconds)
            print(f"{'httpx.Client':<20} {threads:>4} threads     {rate:>8,.0f}")
    server.terminate()


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
