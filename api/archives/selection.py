"""What every CDX query can say: which captures, of what time, in which order, how many, which page."""

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
"""Lines of one answer."""
PAGE = 5
"""Blocks of a page, unless `pageSize` says otherwise."""
_MAX_PAGE = 30


@dataclass(frozen=True, slots=True)
class Selection:
    """A query, understood."""

    scope: Scope
    since: str
    until: str
    """Both inclusive, some of the fourteen digits."""
    sort: str
    """regular, reverse or closest."""
    closest: int
    limit: int
    """0: as many as there may be; negative: the last ones."""
    offset: int
    page: int
    """-1: no pages."""
    size: int


def selection(pairs: Pairs) -> Selection:
    """Raises BadRequest."""
    closest = digits(pairs, "closest")
    sort = choice(pairs, "sort", ("", "regular", "reverse", "closest", "default"))
    if sort == "closest" and not closest:
        raise BadRequest("sort=closest needs closest", action="add closest=YYYYMMDDhhmmss")
    return Selection(
        scope_of(pairs),
        digits(pairs, "from"),
        digits(pairs, "to"),
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
    """Captures of the scope, or of one page of it. Raises BadRequest on a page that there is not."""
    if asked.page < 0:
        return bounded(rows(world, asked.scope, belongs, start))
    starts = blocks(world, asked.scope, belongs, collection)
    if asked.page >= (last := max(1, pages(len(starts), asked.size))):
        raise BadRequest(f"Page {asked.page} invalid: First Page is 0, Last Page is {last - 1}")
    return iter(page(world, asked.scope, belongs, starts, asked.page * asked.size, asked.size))


def pages(count: int, size: int) -> int:
    return -(-count // size)


def passing(asked: Selection, tests: list[Test]) -> Test:
    """Whether a row is of the time asked for and passes all filters."""

    def passes(row: Row) -> bool:
        if row.stamp < asked.since or (row.stamp > asked.until and not row.stamp.startswith(asked.until)):
            return False
        return all(test(row) for test in tests)

    return passes


def ordered(found: Iterator[Row], asked: Selection, reach: int) -> Iterator[Row]:
    """In the order asked for, at least the first `reach` of them; never are more than that in memory."""
    if asked.sort == "reverse":
        return reversed(deque(found, reach))
    if asked.sort == "closest":
        return iter(nsmallest(reach, found, key=lambda row: abs(row.capture.time - asked.closest)))
    return found


def reach(asked: Selection, collapses: bool) -> int:
    """How many rows of the order are looked at."""
    if collapses or asked.limit <= 0:
        return MAX_ROWS
    return min(MAX_ROWS, asked.offset + asked.limit + 1)


def resumed(pairs: Pairs, scope: Scope) -> Start | None:
    """Where a `resumeKey` goes on: `urlkey timestamp!place`, escaped or not. Raises BadRequest on any other."""
    if not (text := one(pairs, "resumeKey")):
        return None
    text = text if " " in text else unquote_plus(text)
    key, _, rest = text.rpartition(" ")
    _, _, place = rest.partition("!")
    if not (scope.holds(key) and place.isascii() and place.isdigit()):
        raise BadRequest(f"resumeKey={text[:80]!r} is of no answer to this query")
    return key, int(place[:12]) + 1


def resume_key(row: Row) -> str:
    return f"{row.key} {row.stamp}!{row.place}"
