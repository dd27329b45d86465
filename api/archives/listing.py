"""Captures in index order, read lazily, and the page boundaries of long lists.

Boundaries are computed once for a snapshot, a collection and a scope, then cached for as long as the snapshot is open.
"""

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
"""Captures in a block, as in the ZipNum files of the archives; pages are counted in blocks."""
MAX_READ = 1_000_000
"""Largest number of captures that a query may scan unless it asks for a page."""
_KEPT = 256
"""Number of scopes whose block boundaries are cached for one snapshot."""

Start: TypeAlias = tuple[str, int]
"""SURT key, and the index of one of its captures in order of time."""
Belongs: TypeAlias = Callable[[Capture], bool]
"""True if a capture belongs to the queried collection."""


class Row(NamedTuple):
    """One line of an index."""

    key: str
    place: int
    """Index of the capture among those of its key, in order of time."""
    stamp: str
    """Capture time as a 14-digit timestamp."""
    capture: Capture


def rows(world: World, scope: Scope, belongs: Belongs, start: Start | None = None) -> Iterator[Row]:
    """Yield the included captures of a scope in index order, from `start` on."""
    key, place = start or (scope.first, 0)
    for surt, captures in world.listing(key, scope.last):
        for number in range(place if surt == key else 0, len(captures)):
            if belongs(captures[number]):
                yield Row(surt, number, stamp(captures[number].time), captures[number])


def bounded(listed: Iterator[Row]) -> Iterator[Row]:
    """Yield the same rows. Raises BadRequest, after `MAX_READ` rows, if there are more."""
    yield from islice(listed, MAX_READ)
    if next(listed, None):
        raise BadRequest(
            f"the query would scan more than {MAX_READ:,} captures",
            action="narrow it, or read it in pages (page=0, 1, ...)",
        )


_STARTS: WeakKeyDictionary[World, dict[tuple[str, Scope], tuple[Start, ...]]] = WeakKeyDictionary()
"""Block boundaries by snapshot, then by collection and scope."""


def blocks(world: World, scope: Scope, belongs: Belongs, collection: str = "") -> tuple[Start, ...]:
    """Return the position of the first row of each block of a scope; cached."""
    known = _STARTS.setdefault(world.base, {})
    if (starts := known.get((collection, scope))) is None:
        every = islice(rows(world, scope, belongs), 0, None, BLOCK)
        starts = tuple((row.key, row.place) for row in every)
        if len(known) >= _KEPT:  # clients choose the scopes, so the cache must not grow with them
            known.clear()
        known[(collection, scope)] = starts
    return starts


def page(world: World, scope: Scope, belongs: Belongs, starts: tuple[Start, ...], first: int, size: int) -> list[Row]:
    """Return the captures of `size` blocks, from block number `first` on; empty past the end."""
    if first >= len(starts):
        return []
    return list(islice(rows(world, scope, belongs, starts[first]), BLOCK * size))
