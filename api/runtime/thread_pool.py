"""Threads for work that would hold the event loop for too long: files, conversions, batches.

A batch works in short turns and never queues more of them than there are threads, so that single requests get their
turn beside it. When too much work is waiting, or a request waited too long, it is refused with 503 instead of joining a
growing queue. Work whose client has left ends (`webemu.emulator.cancellation`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from time import perf_counter
from typing import TypeVar

from webemu.emulator.cancellation import Cancellation, until_cancelled
from webemu.emulator.errors import Overloaded

Item = TypeVar("Item")
Output = TypeVar("Output")

MAX_WAITING = 1024
"""Requests that may wait or run at the same time in one process."""
MAX_QUEUE_SECONDS = 5.0
"""Longest time in seconds that work may wait for a thread."""
BATCH_WEIGHT = 16
"""Weight of a batch against the limit, in requests."""
TURN_SECONDS = 0.03
"""Seconds for which a batch keeps a thread before others get their turn."""


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
        cancellation = Cancellation()
        with self._admit(1), _cancelled_with_its_task(cancellation):
            return await self._run_in_executor(
                partial(_run_unless_overdue, perf_counter(), partial(cancellation.run, function))
            )

    async def map(self, function: Callable[[Item], Output], items: Sequence[Item]) -> list[Output]:
        """Call the function on each item, using all threads; return the results in order. Raises Overloaded as `run`
        does.
        """
        outputs: dict[int, Output] = {}
        cancellation, numbers = Cancellation(), iter(range(len(items)))  # shared by all threads: each takes the next

        def work_for_a_turn() -> bool:
            """Return True if items may be left."""
            turn_end = perf_counter() + TURN_SECONDS
            for number in until_cancelled(numbers):
                outputs[number] = function(items[number])
                if perf_counter() > turn_end:
                    return True
            return False

        async def work() -> None:
            while await self._run_in_executor(partial(cancellation.run, work_for_a_turn)):
                pass

        with self._admit(BATCH_WEIGHT), _cancelled_with_its_task(cancellation):
            async with asyncio.TaskGroup() as workers:
                for _ in range(min(self._threads, len(items))):
                    workers.create_task(work())
        return [outputs[number] for number in range(len(items))]

    async def _run_in_executor(self, function: Callable[[], Output]) -> Output:
        in_context = partial(copy_context().run, function)
        return await asyncio.get_running_loop().run_in_executor(self._executor, in_context)

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


@contextmanager
def _cancelled_with_its_task(cancellation: Cancellation) -> Iterator[None]:
    """Cancel the work in threads if the task that waits for it is cancelled, or fails."""
    try:
        yield
    except BaseException:
        cancellation.is_cancelled = True
        raise
