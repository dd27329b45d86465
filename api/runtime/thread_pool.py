"""Threads for what takes longer than the event loop may be held: files, conversions, batches.

A batch never queues more than it has threads for, so that single asks find their turn beside it. Beyond a bound of
waiting work, and of waiting, the answer is 503 rather than a queue that only grows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

from webemu.emulator.errors import Overloaded

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")

LIMIT = 1024
"""Asks that may wait or run at once, in one process."""
PATIENCE = 5.0
"""Seconds that one may wait for a thread."""
BATCH = 16
"""A batch counts as so many."""
CHUNK = 8
"""Members of a batch done in one go."""


class Pool:
    """A fixed number of threads."""

    def __init__(self, threads: int, limit: int = LIMIT) -> None:
        self._threads = threads
        self._limit = limit
        self._waiting = 0
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="webemu")

    async def run(self, function: Callable[[], Answered]) -> Answered:
        """What the function answers, from a thread. Raises Overloaded."""
        with self._place(1):
            return await self._run(partial(_in_time, perf_counter(), function))

    async def map(self, function: Callable[[Asked], Answered], asked: Sequence[Asked]) -> list[Answered]:
        """What the function answers to each, in order, from all threads. Raises Overloaded."""
        chunks = [asked[i : i + CHUNK] for i in range(0, len(asked), CHUNK)]
        done: list[list[Answered]] = [[] for _ in chunks]
        turns = iter(range(len(chunks)))

        async def work() -> None:
            for turn in turns:
                done[turn] = await self._run(partial(_each, function, chunks[turn]))

        with self._place(BATCH):
            async with asyncio.TaskGroup() as workers:
                for _ in range(min(self._threads, len(chunks))):
                    workers.create_task(work())
        return [one for chunk in done for one in chunk]

    async def _run(self, function: Callable[[], Answered]) -> Answered:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function)

    @contextmanager
    def _place(self, weight: int) -> Iterator[None]:
        if self._waiting + weight > self._limit:
            raise Overloaded(f"{self._waiting} requests are waiting already", action="retry after a second")
        self._waiting += weight
        try:
            yield
        finally:
            self._waiting -= weight

    def figures(self) -> dict[str, int]:
        """For `/v1/stats`."""
        return {"threads": self._threads, "waiting": self._waiting}

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


async def begun(future: Future[Any]) -> None:
    """Wait until a future is done, well or not; others may wait for it too, so that nobody ends it by leaving."""
    with suppress(Exception):
        await asyncio.shield(asyncio.wrap_future(future))


def _in_time(since: float, function: Callable[[], Answered]) -> Answered:
    if (waited := perf_counter() - since) > PATIENCE:
        raise Overloaded(f"no thread was free for {waited:.1f} s", action="retry after a second")
    return function()


def _each(function: Callable[[Asked], Answered], asked: Sequence[Asked]) -> list[Answered]:
    return [function(one) for one in asked]
