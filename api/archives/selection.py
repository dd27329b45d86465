"""Parameters that both CDX servers share: scope, time range, order, limit, paging and resume keys.

`parse_query` reads them; `list_captures`, `row_filter` and `sort_rows` apply them. The dialects' own parameters are in
`wayback_cdx` and `crawl_index`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nsmallest
from urllib.parse import unquote_plus

from webemu.api.archives.filters import Test
from webemu.api.archives.listing import Belongs, Row, Start, blocks, bounded, page, rows
from webemu.api.archives.parameters import Pairs, choice, digits, number, one
from webemu.api.archives.scope import Scope, scope_of
from webemu.api.archives.timestamps import moment
from webemu.emulator.errors import BadRequest
from webemu.emulator.world import World

MAX_ROWS = 100_000
"""Largest number of lines in one answer."""
PAGE = 5
"""Blocks on a page, unless `pageSize` says otherwise."""
_MAX_PAGE = 30
"""Largest accepted `pageSize`, in blocks."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Parsed CDX query."""

    scope: Scope
    since: str
    until: str
    """Inclusive bounds of the capture time, as leading digits of a timestamp; empty means unbounded."""
    sort: str
    """Order of the rows: regular (SURT key, then time), reverse or closest."""
    closest: int
    """Time to sort by distance from, in seconds since the epoch; 0 if the order is not closest."""
    limit: int
    """Number of rows; 0 means as many as allowed, a negative number means the last ones."""
    offset: int
    page: int
    """Number of the page, from 0; -1 if the client did not ask for a page."""
    size: int
    """Blocks on a page."""


def selection(pairs: Pairs) -> Selection:
    """Parse the shared parameters of a CDX query. Raises BadRequest on a bad value."""
    closest = digits(pairs, "closest")
    sort = choice(pairs, "sort", ("", "regular", "reverse", "closest", "default"))
    if sort == "closest" and not closest:
        raise BadRequest("sort=closest needs the parameter closest", action="add closest=YYYYMMDDhhmmss")
    return Selection(
        scope_of(pairs),
        digits(pairs, "from"),
        digits(pairs, "to"),
        # As in pywb, `closest` without `sort` sorts by distance too.
        sort if sort in ("reverse", "closest") else "closest" if closest else "regular",
        int(moment(closest).timestamp()) if closest else 0,
        number(pairs, "limit", 0, -MAX_ROWS),
        number(pairs, "offset", 0, 0),
        number(pairs, "page", -1, -1),
        min(_MAX_PAGE, number(pairs, "pageSize", PAGE, 1)),
    )


def listed(
    world: World, asked: Selection, belongs: Belongs, collection: str = "", start: Start | None = None
) -> Iterator[Row]:
    """Yield the captures of the query's scope, or of one page of it, in index order.

    `collection` names what `is_included` selects, for the cache of page boundaries. Raises BadRequest on a page past
    the last one, and while iterating if the scan grows too long.
    """
    if asked.page < 0:
        return bounded(rows(world, asked.scope, belongs, start))
    starts = blocks(world, asked.scope, belongs, collection)
    if asked.page >= (last := max(1, pages(len(starts), asked.size))):
        raise BadRequest(f"Page {asked.page} invalid: First Page is 0, Last Page is {last - 1}")
    return iter(page(world, asked.scope, belongs, starts, asked.page * asked.size, asked.size))


def pages(count: int, size: int) -> int:
    """Return how many pages `count` blocks make at `size` blocks a page."""
    return -(-count // size)


def passing(asked: Selection, tests: list[Test]) -> Test:
    """Return a test that accepts rows inside the query's time range that pass all `tests`."""

    def passes(row: Row) -> bool:
        # A bound may be shorter than a timestamp: `to=2020` includes all of 2020, hence the prefix test.
        if row.stamp < asked.since or (row.stamp > asked.until and not row.stamp.startswith(asked.until)):
            return False
        return all(test(row) for test in tests)

    return passes


def ordered(found: Iterator[Row], asked: Selection, reach: int) -> Iterator[Row]:
    """Yield rows in the query's order, at least the first `limit` of them.

    Reverse and closest orders hold at most `limit` rows in memory; the regular order streams.
    """
    if asked.sort == "reverse":
        return reversed(deque(found, reach))
    if asked.sort == "closest":
        return iter(nsmallest(reach, found, key=lambda row: abs(row.capture.time - asked.closest)))
    return found


def reach(asked: Selection, collapses: bool) -> int:
    """Return how many rows must be sorted to answer the query. Collapsing may drop any of them, so it needs all."""
    if collapses or asked.limit <= 0:
        return MAX_ROWS
    return min(MAX_ROWS, asked.offset + asked.limit + 1)


def resumed(pairs: Pairs, scope: Scope) -> Start | None:
    """Return the position after a `resumeKey`, or None if the query has none.

    The key reads `urlkey timestamp!capture_index`, escaped or not. Raises BadRequest if it is malformed or outside the
    scope.
    """
    if not (text := one(pairs, "resumeKey")):
        return None
    text = text if " " in text else unquote_plus(text)
    key, _, rest = text.rpartition(" ")
    _, _, place = rest.partition("!")
    if not (scope.holds(key) and place.isascii() and place.isdigit()):
        raise BadRequest(
            f"resumeKey={text[:80]!r} does not belong to this query", action="take it from an answer to the same query"
        )
    return key, int(place[:12]) + 1


def resume_key(row: Row) -> str:
    """Return the resume key that continues after a row; the inverse of `parse_resume_key`."""
    return f"{row.key} {row.stamp}!{row.place}"
