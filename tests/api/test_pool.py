"""Batches keep their order and leave room for others; too much waiting work is refused."""

import asyncio
import threading
import time

import pytest

from webemu.api.runtime import thread_pool as pools
from webemu.api.runtime.thread_pool import BATCH_WEIGHT, ThreadPool
from webemu.emulator.cancellation import until_cancelled
from webemu.emulator.errors import Overloaded


def test_answers_come_in_the_order_asked_whatever_ends_first() -> None:
    async def go() -> None:
        pool = ThreadPool(3)
        assert await pool.map(lambda number: number * number, range(1000)) == [n * n for n in range(1000)]
        assert await pool.map(str, []) == []

    asyncio.run(go())


def test_a_single_ask_does_not_wait_for_the_end_of_a_batch() -> None:
    async def go() -> None:
        pool, started, single_done = ThreadPool(1), threading.Event(), threading.Event()

        def work(number: int) -> bool:
            started.set()
            single_done.wait(10)
            time.sleep(0.001)
            return True

        batch = asyncio.create_task(pool.map(work, range(300)))
        await asyncio.to_thread(started.wait)
        single = asyncio.create_task(pool.run(lambda: "single"))
        await asyncio.sleep(0)
        single_done.set()
        assert await single == "single"
        assert not batch.done()
        assert all(await batch)

    asyncio.run(go())


def test_beyond_the_bound_the_answer_is_503_and_places_are_given_back() -> None:
    async def go() -> None:
        pool, go_on = ThreadPool(1, limit=BATCH_WEIGHT), threading.Event()
        waiting = [asyncio.create_task(pool.run(go_on.wait)) for _ in range(BATCH_WEIGHT)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await pool.run(go_on.wait)
        with pytest.raises(Overloaded):
            await pool.map(str, [1])
        go_on.set()
        await asyncio.gather(*waiting)
        assert await pool.map(str, [1]) == ["1"]

    asyncio.run(go())


def test_a_failure_gives_the_place_back() -> None:
    async def go() -> None:
        pool = ThreadPool(1, limit=1)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await pool.run(lambda: 1 // 0)

    asyncio.run(go())


def test_what_waited_too_long_for_a_thread_is_refused_and_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "MAX_QUEUE_SECONDS", 0.05)
    done: list[str] = []

    async def go() -> None:
        pool, go_on = ThreadPool(1), threading.Event()
        first = asyncio.create_task(pool.run(go_on.wait))
        late = asyncio.create_task(pool.run(lambda: done.append("late")))
        await asyncio.sleep(0.2)
        go_on.set()
        assert await first
        with pytest.raises(Overloaded):
            await late
        await pool.run(lambda: done.append("in time"))

    asyncio.run(go())
    assert done == ["in time"]


def test_a_batch_without_a_client_ends_within_its_turn() -> None:
    finished: list[int] = []

    def work(number: int) -> None:
        time.sleep(0.01)
        finished.append(number)

    async def go() -> None:
        pool = ThreadPool(2)
        batch = asyncio.create_task(pool.map(work, range(1000)))
        await asyncio.sleep(0.1)
        batch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await batch
        await asyncio.sleep(0.1)
        count = len(finished)
        await asyncio.sleep(0.2)
        assert count == len(finished) < 1000
        assert pool.figures()["waiting"] == 0

    asyncio.run(go())


def test_one_piece_of_work_ends_where_it_looks() -> None:
    finished: list[int] = []

    def work() -> None:
        for number in until_cancelled(range(10_000)):
            finished.append(number)
            time.sleep(0.005)

    async def go() -> None:
        pool = ThreadPool(1)
        task = asyncio.create_task(pool.run(work))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await pool.run(lambda: list(until_cancelled("ab"))) == ["a", "b"]

    asyncio.run(go())
    assert len(finished) < 10_000
