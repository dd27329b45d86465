"""How many requests of one client are under way at once."""

from __future__ import annotations

import asyncio
from collections import deque

AT_ONCE = 512
"""Further requests wait their turn."""


class Turns:
    """`asyncio.Semaphore` without its search through all who wait at every release."""

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
            if not turn.cancelled():  # it was given at the same moment
                self._pass_on()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
