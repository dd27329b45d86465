"""A world whose searches and views are computed once for all sessions that see the same web.

It lies below whatever belongs to one session: weather, budget and ledger act on every request anew, so an answer is
the same whether it was cached or computed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from sys import getsizeof
from typing import Protocol, TypeVar

from webemu.emulator.ports import Pending
from webemu.emulator.types import Capture, Query, Results, View
from webemu.emulator.world import World

T = TypeVar("T")
HIT = 350
"""Memory of a hit besides its texts, in bytes."""


class Memory(Protocol):
    """Port: a bounded, thread-safe cache that computes each value once. `webemu.api.runtime.cache` implements it."""

    def made(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """Return the cached value, or compute and cache it. Concurrent callers wait for one computation.

        `size` returns the memory of a value in bytes. Raises what `make` raises.
        """

    def holds(self, key: Hashable) -> bool:
        """True if a value is cached under the key."""
        ...


class Shared(World):
    """A world with a cache.

    `name` identifies what this world shows; `is_long` is True if its searches may be slow even when the ranker's are
    not.
    """

    def __init__(self, world: World, name: Hashable, memory: Memory, is_long: bool) -> None:
        super().__init__(world.snapshot, world.finder, world.shelf, world.figures(), world.engines)
        self.share = world.share
        self._base = world.base
        self.name = name
        self._memory = memory
        self._is_long = is_long

    @property
    def base(self) -> World:
        return self._base

    def search(self, query: Query) -> Results:
        """Return one page of results, computed or cached. Raises BadRequest if the engine is unknown."""
        if self.heard:
            self.heard(query.text)
        return self._memory.made((self.name, query), partial(self._searched, query), _size)

    def view(self, capture: Capture, view: View) -> tuple[str, str]:
        """Return (title, content) of a capture, computed or cached. Raises ViewUnavailable or PayloadError."""
        if view == "text":  # reading it is faster than the cache
            return super().view(capture, view)
        # A rendered page does not depend on the policy, so the key names only the snapshot.
        key = (self.snapshot, view, capture)
        return self._memory.made(key, partial(super().view, capture, view), _size_of_view)

    def finds_at_once(self, query: Query, as_kept: bool) -> bool:
        """True if a search may run on the event loop; `as_kept` is True if a cached answer will do."""
        is_long = self._is_long or self.is_long(query)
        return not is_long or (as_kept and self._memory.holds((self.name, query)))

    def pending(self, query: Query) -> BlockingIOError:
        """Return the error for a search that cannot run on the event loop, with its async work if there is any."""
        ready = self.ready(query) if self.is_long(query) else None
        return Pending(ready) if ready else BlockingIOError()

    def shows_at_once(self, capture: Capture, view: View) -> bool:
        """True if a page may be rendered on the event loop."""
        return view == "text" or self._memory.holds((self.snapshot, view, capture))


def _size(results: Results) -> int:
    """Return the approximate memory of results, in bytes."""
    texts = sum(len(hit.url_json) + len(hit.title_json) + len(hit.snippet_json) for hit in results.hits)
    return HIT * len(results.hits) + texts


def _size_of_view(made: tuple[str, str]) -> int:
    """Return the memory of a rendered page, in bytes."""
    return sum(map(getsizeof, made))
