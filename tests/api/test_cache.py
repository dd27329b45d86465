"""The cache stays inside its room and drops what was asked longest ago."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webemu.api.runtime.cache import ENTRY_OVERHEAD_BYTES, MAX_ENTRY_DIVISOR, Cache, Key


def key(name: str) -> Key:
    return ("snapshot", "/v1/search", name.encode())


def test_what_was_asked_longest_ago_goes_first() -> None:
    cache = Cache(1)
    body = b"x" * ((1 << 20) // MAX_ENTRY_DIVISOR - ENTRY_OVERHEAD_BYTES - 10)
    for name in "abcdefghijklmnop":
        cache.put(key(name), body)
    assert cache.get(key("a")) == body
    cache.put(key("new"), body)
    cache.put(key("newer"), body)
    assert cache.get(key("a")) == body
    assert cache.get(key("b")) is None
    assert (cache.hits, cache.misses) == (2, 1)


def test_another_snapshot_is_another_answer() -> None:
    cache = Cache(1)
    cache.put(("one", "/v1/search", b"q=a"), b"1")
    assert cache.get(("two", "/v1/search", b"q=a")) is None


def test_no_room_keeps_nothing() -> None:
    cache = Cache(0)
    cache.put(key("a"), b"")
    assert cache.get(key("a")) is None


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 200_000)), max_size=60))
def test_the_room_is_never_exceeded_and_always_counted(puts: list[tuple[str, int]]) -> None:
    cache = Cache(1)
    for name, size in puts:
        cache.put(key(name), b"x" * size)
        assert cache.used_bytes <= cache.capacity_bytes
    bodies = [body for name in "abcdefgh" if (body := cache.get(key(name))) is not None]
    assert cache.used_bytes == sum(len(body) + len(key("a")[2]) + ENTRY_OVERHEAD_BYTES for body in bodies)


def test_what_many_want_at_once_is_made_once() -> None:
    cache, calls, start = Cache(1), [], Barrier(8)

    def make() -> str:
        calls.append(1)
        sleep(0.05)
        return "worked out"

    def ask(_: int) -> str:
        start.wait()
        return cache.get_or_compute("key", make, len)

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(ask, range(8))) == {"worked out"}
    assert (len(calls), cache.contains("key"), cache.misses, cache.hits) == (1, True, 1, 7)


def test_what_cannot_be_made_is_raised_to_all_and_not_kept() -> None:
    cache, start = Cache(1), Barrier(4)

    def make() -> str:
        sleep(0.05)
        raise KeyError("no such page")

    def ask(_: int) -> str:
        start.wait()
        with pytest.raises(KeyError, match="no such page"):
            cache.get_or_compute("key", make, len)
        return cache.get_or_compute("other", lambda: "works", len)

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(ask, range(4))) == {"works"}
    assert not cache.contains("key")


def test_what_is_made_without_room_is_answered_and_not_kept() -> None:
    cache, numbers = Cache(0), iter(range(2))
    assert [cache.get_or_compute("key", lambda: next(numbers), lambda _: 1) for _ in range(2)] == [0, 1]


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 200_000)), max_size=60))
def test_the_room_holds_whatever_is_kept_in_it(entries: list[tuple[str, int]]) -> None:
    cache = Cache(1)
    for name, size in entries:
        cache.put(key(name), b"x" * (size // 2))
        cache.get_or_compute(name, lambda: name, lambda _: size)  # noqa: B023
        assert 0 <= cache.used_bytes <= cache.capacity_bytes
