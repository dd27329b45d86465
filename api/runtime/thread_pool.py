"""Threads for work that would hold the event loop for too long: files, conversions, batches.

A batch never queues more work than there are threads, so that single requests get their turn beside it. When too much
work is waiting, or a request waited too long, it is refused with 503 instead of joining a growing queue.
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
"""Requests that may wait or run at the same time in one process."""
PATIENCE = 5.0
"""Longest time in seconds that work may wait for a thread."""
BATCH = 16
"""Weight of a batch against the limit, in requests."""
CHUNK = 8
"""Members of a batch that a thread handles in one go."""


class Pool:
    """A fixed number of threads with a bounded queue."""

    def __init__(self, threads: int, limit: int = LIMIT) -> None:
        self._threads = threads
        self._limit = limit
        self._waiting = 0
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="webemu")

    async def run(self, function: Callable[[], Answered]) -> Answered:
        """Call the function in a thread and return its result.

        Raises:
            Overloaded: too much work is waiting, or no thread was free in time.
        """
        with self._place(1):
            return await self._run(partial(_in_time, perf_counter(), function))

    async def map(self, function: Callable[[Asked], Answered], asked: Sequence[Asked]) -> list[Answered]:
        """Call the function on each item, using all threads; return the results in order. Raises Overloaded as `run`
        does.
        """
        chunks = [asked[i : i + CHUNK] for i in range(0, len(asked), CHUNK)]
        done: list[list[Answered]] = [[] for _ in chunks]
        turns = iter(range(len(chunks)))  # shared by the workers below: each takes the next chunk that is left

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
        """Count `weight` requests as waiting while the context is open. Raises Overloaded if the limit would be
        exceeded.
        """
        if self._waiting + weight > self._limit:
            raise Overloaded(
                f"{self._waiting} requests are waiting, the limit is {self._limit}", action="retry after a second"
            )
        self._waiting += weight
        try:
            yield
        finally:
            self._waiting -= weight

    def figures(self) -> dict[str, int]:
        """Return the number of threads and of waiting requests, for `/v1/stats`."""
        return {"threads": self._threads, "waiting": self._waiting}

    def close(self) -> None:
        """Cancel queued work and let running work finish in the background."""
        self._executor.shutdown(wait=False, cancel_futures=True)


async def begun(future: Future[Any]) -> None:
    """Wait until a future is done, whether it succeeded or failed; never raise its error.

    Shielded: several requests may wait for the same future, and one that is cancelled must not cancel it for the
    others.
    """
    with suppress(Exception):
        await asyncio.shield(asyncio.wrap_future(future))


def _in_time(since: float, function: Callable[[], Answered]) -> Answered:
    """Call the function, or raise Overloaded if its turn came too late."""
    if (waited := perf_counter() - since) > PATIENCE:
        raise Overloaded(f"no thread was free for {waited:.1f} s", action="retry after a second")
    return function()


def _each(function: Callable[[Asked], Answered], asked: Sequence[Asked]) -> list[Answered]:
    return [function(one) for one in asked]
