"""A closed-loop HTTP load: N keep-alive connections, each sends the next path when its answer is in.

Plain asyncio streams, since a client library would cost more than the server. Run as a process of its own:
python -m benchmarks.load HOST PORT CONNECTIONS SECONDS < paths; prints one JSON object.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time


async def connection(host: str, port: int, requests: itertools.cycle[bytes], until: float, times: list[float]) -> int:
    """Requests answered with 200 on one connection; the seconds each took go to `times`."""
    reader, writer = await asyncio.open_connection(host, port)
    good = 0
    while time.perf_counter() < until:
        started = time.perf_counter()
        writer.write(next(requests))
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - started)
        good += head.startswith(b"HTTP/1.1 200")
    writer.close()
    return good


async def load(host: str, port: int, connections: int, seconds: float, paths: list[str]) -> dict[str, float]:
    requests = itertools.cycle([f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode() for path in paths])
    times: list[float] = []
    started = time.perf_counter()
    runs = [connection(host, port, requests, started + seconds, times) for _ in range(connections)]
    good = sum(await asyncio.gather(*runs))
    wall = time.perf_counter() - started
    times.sort()
    return {
        "requests": len(times),
        "good": good,
        "wall_s": wall,
        "p50_ms": 1e3 * times[len(times) // 2],
        "p99_ms": 1e3 * times[int(len(times) * 0.99)],
    }


if __name__ == "__main__":
    name, port, connections, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    print(json.dumps(asyncio.run(load(name, port, connections, seconds, sys.stdin.read().split()))))
