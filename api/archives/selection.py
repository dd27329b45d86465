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

from webemu.api.archives.filters import RowTest
from webemu.api.archives.listing import (
    CapturePredicate,
    CdxRow,
    Position,
    block_starts,
    limit_scan,
    read_page,
    scan_rows,
)
from webemu.api.archives.parameters import Pairs, choice_value, first_value, int_value, timestamp_value
from webemu.api.archives.scope import Scope, parse_scope
from webemu.api.archives.timestamps import parse_timestamp
from webemu.emulator.errors import BadRequest
from webemu.emulator.world import World

MAX_ROWS = 100_000
"""Largest number of lines in one answer."""
DEFAULT_PAGE_BLOCKS = 5
"""Blocks on a page, unless `pageSize` says otherwise."""
_MAX_PAGE_BLOCKS = 30
"""Largest accepted `pageSize`, in blocks."""


@dataclass(frozen=True, slots=True)
class CdxQuery:
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
    page_size: int
    """Blocks on a page."""


def parse_query(pairs: Pairs) -> CdxQuery:
    """Parse the shared parameters of a CDX query. Raises BadRequest on a bad value."""
    closest = timestamp_value(pairs, "closest")
    sort = choice_value(pairs, "sort", ("", "regular", "reverse", "closest", "default"))
    if sort == "closest" and not closest:
        raise BadRequest("sort=closest needs the parameter closest", action="add closest=YYYYMMDDhhmmss")
    return CdxQuery(
        parse_scope(pairs),
        timestamp_value(pairs, "from"),
        timestamp_value(pairs, "to"),
        # As in pywb, `closest` without `sort` sorts by distance too.
        sort if sort in ("reverse", "closest") else "closest" if closest else "regular",
        int(parse_timestamp(closest).timestamp()) if closest else 0,
        int_value(pairs, "limit", 0, -MAX_ROWS),
        int_value(pairs, "offset", 0, 0),
        int_value(pairs, "page", -1, -1),
        min(_MAX_PAGE_BLOCKS, int_value(pairs, "pageSize", DEFAULT_PAGE_BLOCKS, 1)),
    )


def list_captures(
    world: World, query: CdxQuery, is_included: CapturePredicate, collection: str = "", start: Position | None = None
) -> Iterator[CdxRow]:
    """Yield the captures of the query's scope, or of one page of it, in index order.

    `collection` names what `is_included` selects, for the cache of page boundaries. Raises BadRequest on a page past
    the last one, and while iterating if the scan grows too long.
    """
    if query.page < 0:
        return limit_scan(scan_rows(world, query.scope, is_included, start))
    starts = block_starts(world, query.scope, is_included, collection)
    if query.page >= (page_count := max(1, count_pages(len(starts), query.page_size))):
        raise BadRequest(f"Page {query.page} invalid: First Page is 0, Last Page is {page_count - 1}")
    return iter(read_page(world, query.scope, is_included, starts, query.page * query.page_size, query.page_size))


def count_pages(count: int, size: int) -> int:
    """Return how many pages `count` blocks make at `size` blocks a page."""
    return -(-count // size)


def row_filter(query: CdxQuery, tests: list[RowTest]) -> RowTest:
    """Return a test that accepts rows inside the query's time range that pass all `tests`."""

    def passes(row: CdxRow) -> bool:
        # A bound may be shorter than a timestamp: `to=2020` includes all of 2020, hence the prefix test.
        if row.timestamp < query.since or (row.timestamp > query.until and not row.timestamp.startswith(query.until)):
            return False
        return all(test(row) for test in tests)

    return passes


def sort_rows(source: Iterator[CdxRow], query: CdxQuery, limit: int) -> Iterator[CdxRow]:
    """Yield rows in the query's order, at least the first `limit` of them.

    Reverse and closest orders hold at most `limit` rows in memory; the regular order streams.
    """
    if query.sort == "reverse":
        return reversed(deque(source, limit))
    if query.sort == "closest":
        return iter(nsmallest(limit, source, key=lambda row: abs(row.capture.time - query.closest)))
    return source


def scan_limit(query: CdxQuery, collapses: bool) -> int:
    """Return how many rows must be sorted to answer the query. Collapsing may drop any of them, so it needs all."""
    if collapses or query.limit <= 0:
        return MAX_ROWS
    return min(MAX_ROWS, query.offset + query.limit + 1)


def parse_resume_key(pairs: Pairs, scope: Scope) -> Position | None:
    """Return the position after a `resumeKey`, or None if the query has none.

    The key reads `urlkey timestamp!capture_index`, escaped or not. Raises BadRequest if it is malformed or outside the
    scope.
    """
    if not (text := first_value(pairs, "resumeKey")):
        return None
    text = text if " " in text else unquote_plus(text)
    key, _, after_key = text.rpartition(" ")
    _, _, index_text = after_key.partition("!")
    if not (scope.contains(key) and index_text.isascii() and index_text.isdigit()):
        raise BadRequest(
            f"resumeKey={text[:80]!r} does not belong to this query", action="take it from an answer to the same query"
        )
    return key, int(index_text[:12]) + 1


def format_resume_key(row: CdxRow) -> str:
    """Return the resume key that continues after a row; the inverse of `parse_resume_key`."""
    return f"{row.key} {row.timestamp}!{row.capture_index}"
