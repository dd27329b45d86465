"""Clients of `benchmarks.soak` that behave badly: they fall silent, leave before the answer, or never read it.

None of their answers is compared; the others' must be as they are without them. A peer that vanishes without a packet
cannot be made on one machine: to the server it is one that falls silent.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import NamedTuple

from benchmarks.soak_traffic import SoakRequest

SILENT_SECONDS = 90.0
"""Seconds for which a silent client stays, unless the server ends the connection before."""
UNREAD_REQUESTS = 30
"""Requests that a client sends at once to one connection, of which it reads nothing."""


class RudeBehaviour(NamedTuple):
    """A way in which one connection behaves badly."""

    name: str
    request_bytes: bytes
    """Bytes that it sends."""
    seconds: float
    """Seconds until it leaves without having read anything."""
    request_counts: Counter[str]
    """Whole requests among these bytes, by the place under which the server counts those that it answers."""


def draw_behaviour(random: Random, requests_by_kind: dict[str, list[SoakRequest]]) -> RudeBehaviour:
    """Draw what a connection does."""

    def draw(kind: str) -> SoakRequest:
        return random.choice(requests_by_kind[kind])

    def silent(name: str, request_bytes: bytes) -> RudeBehaviour:
        return RudeBehaviour(name, request_bytes, SILENT_SECONDS, Counter())

    def leaving(name: str, requests: Sequence[SoakRequest], seconds: float) -> RudeBehaviour:
        sent = b"".join(request.request_bytes for request in requests)
        return RudeBehaviour(name, sent, seconds, Counter(request.place_label for request in requests))

    search, retrieve, page = draw("search"), draw("retrieve"), draw("connect")
    return random.choice(
        [
            silent("says nothing", b""),
            silent("half a head", search.request_bytes[:-2]),
            silent("half a body", retrieve.request_bytes[:-20]),
            silent("half a handshake", f"CONNECT {page.tunnel_host}:443 HTTP/1.1\r\n\r\n".encode() + b"\x16\x03\x01"),
            leaving("leaves a search", [search], 0.0),
            leaving("leaves a batch", [retrieve], 0.02),
            leaving("leaves a call", [draw("mcp")], 0.002),
            leaving("reads nothing", [draw("raw") for _ in range(UNREAD_REQUESTS)], SILENT_SECONDS),
        ]
    )


async def _behave(port: int, behaviour: RudeBehaviour) -> None:
    """Connect, send, stay for the time given, and reset the connection."""
    with suppress(OSError):
        transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, "127.0.0.1", port)
        transport.pause_reading()
        try:
            transport.write(behaviour.request_bytes)
            await asyncio.sleep(behaviour.seconds)
        finally:
            transport.abort()


async def disturb(
    port: int,
    rate: float,
    requests_by_kind: dict[str, list[SoakRequest]],
    is_over: Callable[[], bool],
    connections: Counter[str],
    request_counts: Counter[str],
) -> None:
    """Open `rate` such connections per second until the run is over, and count them and the requests they sent."""
    random, loop = Random("rude"), asyncio.get_running_loop()
    running: set[asyncio.Task[None]] = set()
    until_next = loop.time()
    while rate and not is_over():
        until_next += random.expovariate(rate)
        await asyncio.sleep(max(0.0, until_next - loop.time()))
        behaviour = draw_behaviour(random, requests_by_kind)
        connections[behaviour.name] += 1
        request_counts.update(behaviour.request_counts)
        task = loop.create_task(_behave(port, behaviour))
        running.add(task)
        task.add_done_callback(running.discard)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
