"""A world whose searches and views are computed once for all sessions that see the same web.

It lies below whatever belongs to one session: weather, budget and ledger act on every request anew, so an answer is
the same whether it was cached or computed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from sys import getsizeof
from typing import Protocol, TypeVar

from webemu.emulator import inline_work
from webemu.emulator.ports import SearchNotReady
from webemu.emulator.types import Capture, Query, Results, View
from webemu.emulator.world import World

T = TypeVar("T")
HIT_BYTES = 350
"""Memory of a hit besides its texts, in bytes."""


class ComputeCache(Protocol):
    """Port: a bounded, thread-safe cache that computes each value once. `webemu.api.runtime.cache` implements it."""

    def get_or_compute(self, key: Hashable, compute: Callable[[], T], size: Callable[[T], int]) -> T:
        """Return the cached value, or compute and cache it. Concurrent callers wait for one computation.

        `size` returns the memory of a value in bytes. Raises what `compute` raises.
        """

    def contains(self, key: Hashable) -> bool:
        """True if a value is cached under the key."""
        ...


class CachedWorld(World):
    """A world with a cache.

    `name` identifies what this world shows; `is_slow` is True if its searches may be slow even when the ranker's are
    not. `on_query` is called with the text of each search.
    """

    def __init__(
        self,
        world: World,
        name: Hashable,
        cache: ComputeCache,
        is_slow: bool,
        on_query: Callable[[str], None] | None = None,
    ) -> None:
        hooks = replace(world.hooks, on_query=on_query)
        super().__init__(world.snapshot, world.ranker, world.page_store, world.figures(), world.engines, hooks)
        self._shared_base = world.shared_base
        self.name = name
        self._cache = cache
        self._is_slow = is_slow

    @property
    def shared_base(self) -> World:
        return self._shared_base

    def search(self, query: Query) -> Results:
        """Return one page of results, computed or cached.

        Raises: BadRequest if the engine is unknown; BlockingIOError on an event loop if it takes too long.
        """
        inline_work.require_short((query,))
        return self.search_anyhow(query)

    def search_anyhow(self, query: Query) -> Results:
        """Return what `search` does, on an event loop too, however long it takes: for callers that have checked that
        before they charged the search.
        """
        if on_query := self.hooks.on_query:
            on_query(query.text)
        results = self._cache.get_or_compute((self.name, query), partial(self._run_search, query), _results_size)
        self._report_if_vain(results)
        return results

    def view(self, capture: Capture, view: View, wait: bool = True) -> tuple[str, str]:
        """Return (title, content) of a capture, computed or cached.

        Raises: ViewUnavailable; PayloadError; BlockingIOError if `wait` is false and it has to be rendered.
        """
        # A rendered page does not depend on the policy, so the key names only the snapshot.
        key = (self.snapshot, view, capture)
        try:  # reading what is kept is faster than the cache
            return super().view(capture, view, wait=False)
        except BlockingIOError:
            if not wait and not self._cache.contains(key):
                raise
        return self._cache.get_or_compute(key, partial(super().view, capture, view), _view_size)

    def can_search_inline(self, query: Query, allow_cached: bool) -> bool:
        """True if a search may run on the event loop; `allow_cached` is True if a cached answer will do."""
        is_slow = self._is_slow or self.is_slow(query)
        return not is_slow or (allow_cached and self._cache.contains((self.name, query)))

    def not_ready_error(self, query: Query) -> BlockingIOError:
        """Return the error for a search that cannot run on the event loop, with its async work if there is any."""
        future = self.start_async(query) if self.is_slow(query) else None
        return SearchNotReady(future) if future else BlockingIOError()


def _results_size(results: Results) -> int:
    """Return the approximate memory of results, in bytes."""
    texts = sum(len(hit.url_json) + len(hit.title_json) + len(hit.snippet_json) for hit in results.hits)
    return HIT_BYTES * len(results.hits) + texts


def _view_size(view: tuple[str, str]) -> int:
    """Return the memory of a rendered page, in bytes."""
    return sum(map(getsizeof, view))
