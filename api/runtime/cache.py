"""LRU cache, in memory, of rendered responses and of work that sessions share.

Limited in bytes. Thread-safe. Every key names the snapshot, so that no entry is ever stale.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")
Key = tuple[str, str, bytes]
"""Key of a rendered response: snapshot id, path, query string."""
OVERHEAD = 400
"""Bytes that an entry costs besides its own size."""
LARGEST = 16
"""Divisor of the capacity that gives the largest entry: a value above one sixteenth of the capacity is not stored,
since it would evict too many others.
"""


class Cache:
    """An LRU cache limited to a number of megabytes; with 0 MB it stores nothing."""

    def __init__(self, megabytes: int) -> None:
        self.room = megabytes << 20
        """Capacity in bytes."""
        self.used = 0
        """Bytes in use."""
        self.hits = 0
        self.misses = 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, Future[Any]] = {}
        """Values that are being computed now, so that each is computed once."""
        self._lock = Lock()

    def get(self, key: Key) -> bytes | None:
        """Return a rendered response, or None if it is not in the cache."""
        with self._lock:
            found = self._found(key)
            self.misses += found is None
        return None if found is None else found[0]

    def put(self, key: Key, body: bytes) -> None:
        """Store a rendered response, unless it is too large.

        A copy is stored: the original was allocated among the much larger objects it was made from, and would keep
        that memory from being returned to the system.
        """
        with self._lock:
            self._keep(key, bytes(memoryview(body)), len(key[2]) + len(body))

    def holds(self, key: Hashable) -> bool:
        """True if a value is stored under a key. Not counted as a use."""
        return key in self._kept

    def made(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """Return the value under a key, computing it with `compute` if it is absent.

        Threads that ask for the same key meanwhile wait for that one computation. `size` gives the bytes of a value.
        Raises whatever `compute` raises, in all of those threads; nothing is stored then.
        """
        with self._lock:
            if (found := self._found(key)) is not None:
                made: T = found[0]
                return made
            # The first thread computes; the others find its future and wait outside the lock.
            is_made = key in self._making
            making: Future[T] = self._making.setdefault(key, Future())
            self.hits += is_made
            self.misses += not is_made
        if not is_made:
            self._make(key, making, make, size)
        return making.result()

    def _make(self, key: Hashable, making: Future[T], make: Callable[[], T], size: Callable[[T], int]) -> None:
        """Compute a value, wake the threads that wait for it, and store it unless it failed."""
        try:
            making.set_result(make())
        except BaseException as error:
            making.set_exception(error)
        with self._lock:
            del self._making[key]
            if making.exception() is None:
                self._keep(key, making.result(), size(making.result()))

    def _found(self, key: Hashable) -> tuple[Any, int] | None:
        """Return the value and size under a key and mark it as used; None if it is absent."""
        found = self._kept.get(key)
        if found is not None:
            self.hits += 1
            self._kept.move_to_end(key)
        return found

    def _keep(self, key: Hashable, value: Any, size: int) -> None:
        """Store a value of `size` bytes and evict the least recently used ones. The caller holds the lock."""
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
        """Return hits, misses, entries and bytes, for `/v1/stats`."""
        return {"hits": self.hits, "misses": self.misses, "entries": len(self._kept), "bytes": self.used}
