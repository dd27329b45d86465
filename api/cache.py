"""Rendered answers kept in memory, the least recently asked dropped first, bounded in bytes.

Asked and filled by the event loop only, hence without a lock. A key names the snapshot, so nothing is ever stale.
"""

from __future__ import annotations

from collections import OrderedDict

Key = tuple[str, str, bytes]
"""Snapshot, path, query string."""
OVERHEAD = 400
"""Bytes that an entry costs beside its key and body."""
LARGEST = 16
"""An answer over one sixteenth of the whole room is not kept: it would drive out too many others."""


class Cache:
    """An LRU of bodies. A room of 0 MB keeps nothing."""

    def __init__(self, megabytes: int) -> None:
        self.room = megabytes << 20
        self.used = 0
        self.hits = 0
        self.misses = 0
        self._bodies: OrderedDict[Key, bytes] = OrderedDict()

    def get(self, key: Key) -> bytes | None:
        """The body, now the most recently asked, or None."""
        body = self._bodies.get(key)
        if body is None:
            self.misses += 1
            return None
        self.hits += 1
        self._bodies.move_to_end(key)
        return body

    def put(self, key: Key, body: bytes) -> None:
        """Keep it, if there is room for its like."""
        size = _size(key, body)
        if size * LARGEST > self.room:
            return
        if (before := self._bodies.pop(key, None)) is not None:
            self.used -= _size(key, before)
        self._bodies[key] = body
        self.used += size
        while self.used > self.room:
            self.used -= _size(*self._bodies.popitem(last=False))

    def figures(self) -> dict[str, int]:
        """For `/v1/stats`."""
        return {"hits": self.hits, "misses": self.misses, "entries": len(self._bodies), "bytes": self.used}


def _size(key: Key, body: bytes) -> int:
    return len(key[2]) + len(body) + OVERHEAD
