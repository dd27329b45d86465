"""Captures in index order, read lazily, and the page boundaries of long lists.

Boundaries are computed once for a snapshot, a collection and a scope, then cached for as long as the snapshot is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from webemu.api.archives.scope import Scope
from webemu.api.archives.timestamps import format_timestamp
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import Capture
from webemu.emulator.world import World

BLOCK = 3000
"""Captures in a block, as in the ZipNum files of the archives; pages are counted in blocks."""
MAX_READ = 1_000_000
"""Largest number of captures that a query may scan unless it asks for a page."""
_MAX_CACHED_SCOPES = 256
"""Number of scopes whose block boundaries are cached for one snapshot."""

Position: TypeAlias = tuple[str, int]
"""SURT key, and the index of one of its captures in order of time."""
CapturePredicate: TypeAlias = Callable[[Capture], bool]
"""True if a capture belongs to the queried collection."""


class CdxRow(NamedTuple):
    """One line of an index."""

    key: str
    capture_index: int
    """Index of the capture among those of its key, in order of time."""
    timestamp: str
    """Capture time as a 14-digit timestamp."""
    capture: Capture


def scan_rows(
    world: World, scope: Scope, is_included: CapturePredicate, start: Position | None = None
) -> Iterator[CdxRow]:
    """Yield the included captures of a scope in index order, from `start` on."""
    key, first_index = start or (scope.first, 0)
    for surt, captures in world.listing(key, scope.last):
        for index in range(first_index if surt == key else 0, len(captures)):
            if is_included(captures[index]):
                yield CdxRow(surt, index, format_timestamp(captures[index].time), captures[index])


def limit_scan(source: Iterator[CdxRow]) -> Iterator[CdxRow]:
    """Yield the same rows. Raises BadRequest, after `MAX_READ` rows, if there are more."""
    yield from islice(source, MAX_READ)
    if next(source, None):
        raise BadRequest(
            f"the query would scan more than {MAX_READ:,} captures",
            action="narrow it, or read it in pages (page=0, 1, ...)",
        )


_BLOCK_STARTS: WeakKeyDictionary[World, dict[tuple[str, Scope], tuple[Position, ...]]] = WeakKeyDictionary()
"""Block boundaries by snapshot, then by collection and scope."""


def block_starts(
    world: World, scope: Scope, is_included: CapturePredicate, collection: str = ""
) -> tuple[Position, ...]:
    """Return the position of the first row of each block of a scope; cached."""
    cache = _BLOCK_STARTS.setdefault(world.shared_base, {})
    if (starts := cache.get((collection, scope))) is None:
        first_rows = islice(scan_rows(world, scope, is_included), 0, None, BLOCK)
        starts = tuple((row.key, row.capture_index) for row in first_rows)
        if len(cache) >= _MAX_CACHED_SCOPES:  # clients choose the scopes, so the cache must not grow with them
            cache.clear()
        cache[(collection, scope)] = starts
    return starts


def read_page(
    world: World, scope: Scope, is_included: CapturePredicate, starts: tuple[Position, ...], first: int, size: int
) -> list[CdxRow]:
    """Return the captures of `size` blocks, from block number `first` on; empty past the end."""
    if first >= len(starts):
        return []
    return list(islice(scan_rows(world, scope, is_included, starts[first]), BLOCK * size))
