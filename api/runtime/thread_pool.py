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
from typing import TypeVar

from webemu.emulator.errors import Overloaded

Item = TypeVar("Item")
Output = TypeVar("Output")

MAX_WAITING = 1024
"""Requests that may wait or run at the same time in one process."""
MAX_QUEUE_SECONDS = 5.0
"""Longest time in seconds that work may wait for a thread."""
BATCH_WEIGHT = 16
"""Weight of a batch against the limit, in requests."""
CHUNK_SIZE = 8
"""Members of a batch that a thread handles in one go."""


class ThreadPool:
    """A fixed number of threads with a bounded queue."""

    def __init__(self, threads: int, limit: int = MAX_WAITING) -> None:
        self._threads = threads
        self._limit = limit
        self._waiting = 0
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="webemu")

    async def run(self, function: Callable[[], Output]) -> Output:
        """Call the function in a thread and return its result.

        Raises:
            Overloaded: too much work is waiting, or no thread was free in time.
        """
        with self._admit(1):
            return await self._run_in_executor(partial(_run_unless_overdue, perf_counter(), function))

    async def map(self, function: Callable[[Item], Output], items: Sequence[Item]) -> list[Output]:
        """Call the function on each item, using all threads; return the results in order. Raises Overloaded as `run`
        does.
        """
        chunks = [items[i : i + CHUNK_SIZE] for i in range(0, len(items), CHUNK_SIZE)]
        outputs: list[list[Output]] = [[] for _ in chunks]
        chunk_numbers = iter(range(len(chunks)))  # shared by the workers below: each takes the next chunk that is left

        async def work() -> None:
            for number in chunk_numbers:
                outputs[number] = await self._run_in_executor(partial(_apply_to_each, function, chunks[number]))

        with self._admit(BATCH_WEIGHT):
            async with asyncio.TaskGroup() as workers:
                for _ in range(min(self._threads, len(chunks))):
                    workers.create_task(work())
        return [one for chunk in outputs for one in chunk]

    async def _run_in_executor(self, function: Callable[[], Output]) -> Output:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function)

    @contextmanager
    def _admit(self, weight: int) -> Iterator[None]:
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


async def wait_until_done(future: Future[Output]) -> None:
    """Wait until a future is done, whether it succeeded or failed; never raise its error.

    Shielded: several requests may wait for the same future, and one that is cancelled must not cancel it for the
    others.
    """
    with suppress(Exception):
        await asyncio.shield(asyncio.wrap_future(future))


def _run_unless_overdue(queued_at: float, function: Callable[[], Output]) -> Output:
    """Call the function, or raise Overloaded if its turn came too late."""
    if (queue_seconds := perf_counter() - queued_at) > MAX_QUEUE_SECONDS:
        raise Overloaded(f"no thread was free for {queue_seconds:.1f} s", action="retry after a second")
    return function()


def _apply_to_each(function: Callable[[Item], Output], items: Sequence[Item]) -> list[Output]:
    return [function(one) for one in items]
