"""A world whose work is done once for all sessions that see it alike: searches, and pages made readable.

It lies beneath what is a session's own: weather, budget and ledger draw, count and write down each request anew. So an
answer is the same whether its work was remembered or done.
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
"""Bytes that a hit costs beside its texts."""


class Memory(Protocol):
    """Port: what is kept of work that was done, within bounds. Thread-safe."""

    def made(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """What is kept under a key, else what is made now; who asks meanwhile waits for it. Raises what `make` does."""

    def holds(self, key: Hashable) -> bool: ...


class Shared(World):
    """A world with a memory. `name` is of this world alone; `is_long` where a search may take long."""

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
        if self.heard:
            self.heard(query.text)
        return self._memory.made((self.name, query), partial(self._searched, query), _size)

    def view(self, capture: Capture, view: View) -> tuple[str, str]:
        if view == "text":  # quicker read than remembered
            return super().view(capture, view)
        # What a page looks like is not the policy's: all sessions on a snapshot share it.
        key = (self.snapshot, view, capture)
        return self._memory.made(key, partial(super().view, capture, view), _size_of_view)

    def finds_at_once(self, query: Query, as_kept: bool) -> bool:
        """Whether a search may be done in the event loop; `as_kept` where what is remembered of it will do."""
        is_long = self._is_long or self.is_long(query)
        return not is_long or (as_kept and self._memory.holds((self.name, query)))

    def pending(self, query: Query) -> BlockingIOError:
        """Why a search cannot be done at once."""
        ready = self.ready(query) if self.is_long(query) else None
        return Pending(ready) if ready else BlockingIOError()

    def shows_at_once(self, capture: Capture, view: View) -> bool:
        """Whether a page may be shown in the event loop."""
        return view == "text" or self._memory.holds((self.snapshot, view, capture))


def _size(results: Results) -> int:
    texts = sum(len(hit.url_json) + len(hit.title_json) + len(hit.snippet_json) for hit in results.hits)
    return HIT * len(results.hits) + texts


def _size_of_view(made: tuple[str, str]) -> int:
    return sum(map(getsizeof, made))
