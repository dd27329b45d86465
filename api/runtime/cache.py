"""LRU cache, in memory, of rendered responses and of work that sessions share.

Limited in bytes. Thread-safe. Every key names the snapshot, so that no entry is ever stale. What lacks partitions of
the index (`webemu.emulator.missing_parts`) is not stored.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from webemu.emulator.missing_parts import collect_missing_parts, report_missing_parts

T = TypeVar("T")
Key = tuple[str, str, bytes]
"""Key of a rendered response: snapshot id, path, query string."""
ENTRY_OVERHEAD_BYTES = 400
"""Bytes that an entry costs besides its own size."""
MAX_ENTRY_DIVISOR = 16
"""Divisor of the capacity that gives the largest entry: a value above one sixteenth of the capacity is not stored,
since it would evict too many others.
"""


class _Entry(NamedTuple):
    """A stored value, and the bytes that it counts for."""

    value: Any
    size: int


class Cache:
    """An LRU cache limited to a number of megabytes; with 0 MB it stores nothing."""

    def __init__(self, megabytes: int) -> None:
        self.capacity_bytes = megabytes << 20
        """Capacity in bytes."""
        self.used_bytes = 0
        """Bytes in use."""
        self.hits = 0
        self.misses = 0
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._pending: dict[Hashable, Future[Any]] = {}
        """Values that are being computed now, so that each is computed once."""
        self._lock = Lock()

    def get(self, key: Key) -> bytes | None:
        """Return a rendered response, or None if it is not in the cache."""
        with self._lock:
            entry = self._lookup(key)
            self.misses += entry is None
        return None if entry is None else entry.value

    def put(self, key: Key, body: bytes) -> None:
        """Store a rendered response, unless it is too large.

        A copy is stored: the original was allocated among the much larger objects it was made from, and would keep
        that memory from being returned to the system.
        """
        with self._lock:
            self._store(key, bytes(memoryview(body)), len(key[2]) + len(body))

    def contains(self, key: Hashable) -> bool:
        """True if a value is stored under a key. Not counted as a use."""
        return key in self._entries

    def get_or_compute(self, key: Hashable, compute: Callable[[], T], size: Callable[[T], int]) -> T:
        """Return the value under a key, computing it with `compute` if it is absent.

        Threads that ask for the same key meanwhile wait for that one computation, and report the same missing
        partitions. `size` gives the bytes of a value.
        Raises whatever `compute` raises, in all of those threads; nothing is stored then.
        """
        with self._lock:
            if (entry := self._lookup(key)) is not None:
                cached: T = entry.value
                return cached
            # The first thread computes; the others find its future and wait outside the lock.
            is_pending = key in self._pending
            future: Future[tuple[T, set[int]]] = self._pending.setdefault(key, Future())
            self.hits += is_pending
            self.misses += not is_pending
        if not is_pending:
            self._compute(key, future, compute, size)
        value, missing = future.result()
        report_missing_parts(missing)
        return value

    def _compute(
        self,
        key: Hashable,
        future: Future[tuple[T, set[int]]],
        compute: Callable[[], T],
        size: Callable[[T], int],
    ) -> None:
        """Compute a value, wake the threads that wait for it, and store it unless it failed or lacks partitions."""
        try:
            with collect_missing_parts() as missing:
                value = compute()
            future.set_result((value, missing))
        except BaseException as error:
            future.set_exception(error)
        with self._lock:
            del self._pending[key]
            if future.exception() is None and not future.result()[1]:
                self._store(key, future.result()[0], size(future.result()[0]))

    def _lookup(self, key: Hashable) -> _Entry | None:
        """Return the entry under a key and mark it as used; None if it is absent."""
        entry = self._entries.get(key)
        if entry is not None:
            self.hits += 1
            self._entries.move_to_end(key)
        return entry

    def _store(self, key: Hashable, value: object, size: int) -> None:
        """Store a value of `size` bytes and evict the least recently used ones. The caller holds the lock."""
        size += ENTRY_OVERHEAD_BYTES
        if size * MAX_ENTRY_DIVISOR > self.capacity_bytes:
            return
        if (old_entry := self._entries.pop(key, None)) is not None:
            self.used_bytes -= old_entry.size
        self._entries[key] = _Entry(value, size)
        self.used_bytes += size
        while self.used_bytes > self.capacity_bytes:
            self.used_bytes -= self._entries.popitem(last=False)[1].size

    def figures(self) -> dict[str, int]:
        """Return hits, misses, entries and bytes, for `/v1/stats`."""
        return {"hits": self.hits, "misses": self.misses, "entries": len(self._entries), "bytes": self.used_bytes}
