"""What was worked out once and may be asked again, kept in memory: the least recently asked is dropped first.

Bounded in bytes, whatever is kept. Thread-safe. A key names the snapshot, so nothing is ever stale.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")
Key = tuple[str, str, bytes]
"""Of a rendered answer: snapshot, path, query string."""
OVERHEAD = 400
"""Bytes that an entry costs beside what it weighs."""
LARGEST = 16
"""What is over one sixteenth of the whole room is not kept: it would drive out too many others."""


class Cache:
    """An LRU with a room of so many megabytes; one of 0 MB keeps nothing."""

    def __init__(self, megabytes: int) -> None:
        self.room = megabytes << 20
        self.used = 0
        self.hits = 0
        self.misses = 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, Future[Any]] = {}
        self._lock = Lock()

    def get(self, key: Key) -> bytes | None:
        """A rendered answer, or None."""
        with self._lock:
            found = self._found(key)
            self.misses += found is None
        return None if found is None else found[0]

    def put(self, key: Key, body: bytes) -> None:
        """Keep a rendered answer, if there is room for its like.

        A copy of it: it was made beside what it was made of, many times larger, and would hold that place open.
        """
        with self._lock:
            self._keep(key, bytes(memoryview(body)), len(key[2]) + len(body))

    def holds(self, key: Hashable) -> bool:
        return key in self._kept

    def made(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """What is kept under a key, else what is made now; who asks meanwhile waits for it. Raises what `make` does."""
        with self._lock:
            if (found := self._found(key)) is not None:
                made: T = found[0]
                return made
            is_made = key in self._making
            making: Future[T] = self._making.setdefault(key, Future())
            self.hits += is_made
            self.misses += not is_made
        if not is_made:
            self._make(key, making, make, size)
        return making.result()

    def _make(self, key: Hashable, making: Future[T], make: Callable[[], T], size: Callable[[T], int]) -> None:
        try:
            making.set_result(make())
        except BaseException as error:
            making.set_exception(error)
        with self._lock:
            del self._making[key]
            if making.exception() is None:
                self._keep(key, making.result(), size(making.result()))

    def _found(self, key: Hashable) -> tuple[Any, int] | None:
        found = self._kept.get(key)
        if found is not None:
            self.hits += 1
            self._kept.move_to_end(key)
        return found

    def _keep(self, key: Hashable, value: Any, size: int) -> None:
        size += OVERHEAD
        if size * LARGEST > self.room:
            return
        if (before := self._kept.pop(key, None)) is not None:
            self.used -= before[1]
        self._kept[key] = (value, size)
        self.used += size
        while self.used > self.room:
            self.used -= self._kept.popitem(last=False)[1][1]

    def figures(self) -> dict[str, int]:
        """For `/v1/stats`."""
        return {"hits": self.hits, "misses": self.misses, "entries": len(self._kept), "bytes": self.used}
