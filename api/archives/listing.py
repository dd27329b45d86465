"""Captures in the order of an index, read as far as they are asked for; and the pages that a long list has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from webemu.api.archives.scope import Scope
from webemu.api.archives.timestamps import stamp
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import Capture
from webemu.emulator.world import World

BLOCK = 3000
"""Captures of a block, as in the ZipNum files of the archives; pages are counted in blocks."""
MAX_READ = 1_000_000
"""Captures that a query may go through unless it asks for a page."""
_KEPT = 256

Start: TypeAlias = tuple[str, int]
"""A key, and which of its captures."""
Belongs: TypeAlias = Callable[[Capture], bool]
"""Whether a capture is of the collection that is asked."""


class Row(NamedTuple):
    """One line of an index."""

    key: str
    place: int
    """Which of the key's captures it is, in the order of time."""
    stamp: str
    capture: Capture


def rows(world: World, scope: Scope, belongs: Belongs, start: Start | None = None) -> Iterator[Row]:
    """What a scope holds, from a start on."""
    key, place = start or (scope.first, 0)
    for surt, captures in world.listing(key, scope.last):
        for number in range(place if surt == key else 0, len(captures)):
            if belongs(captures[number]):
                yield Row(surt, number, stamp(captures[number].time), captures[number])


def bounded(listed: Iterator[Row]) -> Iterator[Row]:
    """The same. Raises BadRequest when it has become too much for one answer."""
    yield from islice(listed, MAX_READ)
    if next(listed, None):
        raise BadRequest(f"the query goes through more than {MAX_READ:,} captures", action="narrow it, or ask by page")


_STARTS: WeakKeyDictionary[World, dict[tuple[str, Scope], tuple[Start, ...]]] = WeakKeyDictionary()


def blocks(world: World, scope: Scope, belongs: Belongs, collection: str = "") -> tuple[Start, ...]:
    """Where each block begins; counted once for a snapshot, a collection and a scope."""
    known = _STARTS.setdefault(world.base, {})
    if (starts := known.get((collection, scope))) is None:
        every = islice(rows(world, scope, belongs), 0, None, BLOCK)
        starts = tuple((row.key, row.place) for row in every)
        if len(known) >= _KEPT:
            known.clear()
        known[(collection, scope)] = starts
    return starts


def page(world: World, scope: Scope, belongs: Belongs, starts: tuple[Start, ...], first: int, size: int) -> list[Row]:
    """The captures of `size` blocks from the `first` on."""
    if first >= len(starts):
        return []
    return list(islice(rows(world, scope, belongs, starts[first]), BLOCK * size))
