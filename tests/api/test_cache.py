"""The cache stays inside its room and drops what was asked longest ago."""

from hypothesis import given
from hypothesis import strategies as st

from api.cache import LARGEST, OVERHEAD, Cache, Key


def key(name: str) -> Key:
    return ("snapshot", "/v1/search", name.encode())


def test_what_was_asked_longest_ago_goes_first() -> None:
    cache = Cache(1)
    body = b"x" * ((1 << 20) // LARGEST - OVERHEAD - 10)
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
        assert cache.used <= cache.room
    kept = [body for name in "abcdefgh" if (body := cache.get(key(name))) is not None]
    assert cache.used == sum(len(body) + len(key("a")[2]) + OVERHEAD for body in kept)
