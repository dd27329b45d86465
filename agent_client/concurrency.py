"""Limits the number of concurrent requests of one client."""

from __future__ import annotations

import asyncio
from collections import deque

MAX_CONCURRENT_REQUESTS = 512
"""Maximum number of concurrent requests; further ones wait in order."""


class ConcurrencyLimiter:
    """A fair semaphore as an async context manager.

    `asyncio.Semaphore` searches all waiters at every release, which is slow with many of them.
    """

    def __init__(self) -> None:
        self._free = MAX_CONCURRENT_REQUESTS
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._free:
            self._free -= 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # the slot was handed over at the same moment
                self._release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._release()

    def _release(self) -> None:
        """Wake the first waiter that was not cancelled, or free the slot."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1
