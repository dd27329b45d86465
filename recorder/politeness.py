"""Keeps to what sites ask of programs: robots.txt (RFC 9309), few connections at a time, waits (`Retry-After`).

robots.txt is for programs that read pages by themselves. It is not asked for requests that carry a key or cookies of a
user, nor for other methods than GET and HEAD: those are calls of a service that somebody has an account with.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from urllib.robotparser import RobotFileParser

from webemu.emulator.exchange_keys import is_secret_header, redact_url

AGENT = "webemu"
"""Name that rules of robots.txt may address."""
CONNECTIONS_PER_HOST = 6
"""Requests to one host at a time: as many as browsers send over HTTP/1.1."""
MAX_WAIT_SECONDS = 60.0
"""Longest time that a host is left alone because it asked for it."""
FetchRobots = Callable[[str], Awaitable[tuple[int, bytes]]]
"""Function that returns status and body of the robots.txt at a URL; the status is 0 if there was no response."""


def is_call_of_service(method: str, url: str, headers: Mapping[bytes, bytes]) -> bool:
    """True if a request is no reading of a public page: it has another method than GET and HEAD, or carries a key."""
    return method not in ("GET", "HEAD") or redact_url(url) != url or any(map(is_secret_header, headers))


class Politeness:
    """State of all hosts that were asked."""

    def __init__(self, fetch_robots: FetchRobots, obeys_robots: bool = True) -> None:
        self._fetch_robots = fetch_robots
        self._obeys_robots = obeys_robots
        self._robots: dict[str, asyncio.Task[RobotFileParser]] = {}
        self._slots: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(CONNECTIONS_PER_HOST))
        self._free_at: dict[str, float] = {}

    async def allows(self, origin: str, url: str) -> bool:
        """True if the robots.txt of an origin (`https://host`) allows a URL; it is read once."""
        if not self._obeys_robots:
            return True
        if origin not in self._robots:
            self._robots[origin] = asyncio.create_task(self._read_robots(f"{origin}/robots.txt"))
        rules = await asyncio.shield(self._robots[origin])
        return rules.can_fetch(AGENT, url)

    async def _read_robots(self, url: str) -> RobotFileParser:
        rules = RobotFileParser(url)
        status, body = await self._fetch_robots(url)
        if status >= 500:  # RFC 9309, section 2.3.1.4: unreachable rules forbid everything
            rules.disallow_all = True  # type: ignore[attr-defined]
        elif 200 <= status < 300:
            rules.parse(body.decode("utf-8", "replace").removeprefix("\ufeff").splitlines())
        else:
            rules.allow_all = True  # type: ignore[attr-defined]
        return rules

    @asynccontextmanager
    async def take_turn(self, host: str) -> AsyncIterator[None]:
        """Wait until a host may be asked, and hold one of its connections within the context."""
        async with self._slots[host]:
            while (wait := self._free_at.get(host, 0.0) - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            yield

    def note_response(self, host: str, status: int, retry_after: bytes) -> None:
        """Leave a host alone for as long as a 429 or 503 asks for."""
        if status in (429, 503) and retry_after.isdigit():
            self._free_at[host] = time.monotonic() + min(float(retry_after), MAX_WAIT_SECONDS)
