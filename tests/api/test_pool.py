"""Batches keep their order and leave room for others; too much waiting work is refused."""

import asyncio
import threading

import pytest

from webemu.api.runtime import thread_pool as pools
from webemu.api.runtime.thread_pool import BATCH_WEIGHT, ThreadPool
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
            return True

        batch = asyncio.create_task(pool.map(work, range(10_000)))
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
