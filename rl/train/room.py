"""Where episodes are played while a trainer, which is synchronous, waits: an event loop in a thread, one client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable
from types import TracebackType
from typing import Any, Self, TypeVar

from agent_client import AsyncClient

T = TypeVar("T")


class Room:
    """Runs coroutines from a synchronous caller, all those of one call at the same time."""

    def __init__(self, server: str, timeout: float = 90) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="episodes")
        self._thread.start()
        self.client = self.run(_opened(server, timeout))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def all(self, works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        return self.run(_gathered(works))

    def close(self) -> None:
        self.run(self.client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _opened(server: str, timeout: float) -> AsyncClient:
    return AsyncClient(server, timeout=timeout, retries=0)


async def _gathered(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    return await asyncio.gather(*works)
