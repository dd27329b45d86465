"""Event loop in a thread, with one client, on which a synchronous trainer plays its episodes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Self, TypeVar

from webemu.agent_client import AsyncClient

T = TypeVar("T")

MAX_CONCURRENT = 128
"""Coroutines of one call that run at the same time. A busy server would reject some of thousands of episodes."""


class EventLoopThread:
    """Event loop in a thread of its own, which runs coroutines for a synchronous caller.

    with EventLoopThread("http://127.0.0.1:8800") as loop_thread:
        observations = loop_thread.gather(episode.reset(task) for episode, task in pairs)
    """

    def __init__(self, server: str, timeout: float = 90) -> None:
        # Episodes retry outages themselves; the client would also retry injected weather.
        self.client = AsyncClient(server, timeout=timeout, retries=0)
        self._loop, self._slots = asyncio.new_event_loop(), asyncio.Semaphore(MAX_CONCURRENT)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="episodes")
        self._thread.start()

    def run(self, coroutine: Coroutine[object, None, T]) -> T:
        """Run a coroutine and return its result. It is cancelled if the caller is interrupted."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()  # no effect on a finished future

    def gather(self, coroutines: Iterable[Coroutine[object, None, T]]) -> list[T]:
        """Run coroutines concurrently and return their results in order. The first error cancels the others, and is
        raised once they have ended.
        """
        return self.run(_gather(coroutines))

    def start(self, coroutine: Coroutine[object, None, T]) -> Future[T]:
        """Begin a coroutine, which runs beside the caller, and return its future result (see `collect`)."""
        return asyncio.run_coroutine_threadsafe(self._run_in_slot(coroutine), self._loop)

    def collect(self, futures: Sequence[Future[T]]) -> list[T]:
        """Wait for coroutines that were begun and return their results in order. The first error cancels the others."""
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()  # no effect on a finished future

    async def _run_in_slot(self, coroutine: Coroutine[object, None, T]) -> T:
        try:
            async with self._slots:
                return await coroutine
        finally:
            coroutine.close()  # one that never started would warn that it was never awaited

    def close(self) -> None:
        """Cancel what still runs, close the client and stop the loop."""
        self.run(_shut_down(self.client))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _gather(coroutines: Iterable[Coroutine[object, None, T]]) -> list[T]:
    results: dict[int, T] = {}
    remaining = enumerate(coroutines)

    async def work() -> None:
        for number, coroutine in remaining:
            results[number] = await coroutine

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(MAX_CONCURRENT):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        # Coroutines that never started would warn that they were never awaited.
        for _, coroutine in remaining:
            coroutine.close()
    return [results[number] for number in sorted(results)]


async def _shut_down(client: AsyncClient) -> None:
    """Cancel all remaining tasks and wait for them, since asyncio warns about tasks that are pending when a loop is
    closed.
    """
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await client.close()
    await asyncio.get_running_loop().shutdown_asyncgens()
