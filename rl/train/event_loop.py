"""Where episodes are played while a trainer, which is synchronous, waits: an event loop in a thread, one client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable
from types import TracebackType
from typing import Any, Self, TypeVar

from webemu.agent_client import AsyncClient

T = TypeVar("T")

AT_ONCE = 128
"""Coroutines of one call that run at the same time: thousands of episodes at once make a busy server shed them."""


class Room:
    """Runs coroutines from a synchronous caller, those of one call side by side."""

    def __init__(self, server: str, timeout: float = 90) -> None:
        # The episodes retry by themselves: the client would retry weather.
        self.client = AsyncClient(server, timeout=timeout, retries=0)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="episodes")
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine gives. It is cancelled if the caller is interrupted."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()  # without effect on what is done

    def all(self, works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        """Return what the coroutines give, in order. The first error ends the others, and is raised when they are."""
        return self.run(_gathered(works))

    def close(self) -> None:
        self.run(_ended(self.client))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _gathered(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    results: dict[int, T] = {}
    waiting = enumerate(works)

    async def work() -> None:
        for number, coroutine in waiting:
            results[number] = await coroutine

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        for _, coroutine in waiting:
            coroutine.close()
    return [results[number] for number in sorted(results)]


async def _ended(client: AsyncClient) -> None:
    """Cancel what still runs and wait for it: each task that a loop is closed over complains."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await client.close()
    await asyncio.get_running_loop().shutdown_asyncgens()
