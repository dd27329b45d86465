"""Limits the number of concurrent requests of one client."""

from __future__ import annotations

import asyncio
from collections import deque

AT_ONCE = 512
"""Maximum number of concurrent requests; further ones wait in order."""


class Turns:
    """A fair semaphore as an async context manager.

    `asyncio.Semaphore` searches all waiters at every release, which is slow with many of them.
    """

    def __init__(self) -> None:
        self._free = AT_ONCE
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the slot was handed over at the same moment
                self._pass_on()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        """Wake the first waiter that was not cancelled, or free the slot."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
