"""Parameters of Brave's searches: the query, its paging and its dates. One that is out of bounds is refused."""

from __future__ import annotations

from datetime import date

from webemu.api.dialects.dialect import get_number, get_text
from webemu.api.dialects.search import SearchParams, date_days_ago
from webemu.api.http.request import Request
from webemu.emulator.errors import BadRequest
from webemu.emulator.world import World

MAX_CHARS, MAX_WORDS, LAST_PAGE = 400, 50, 9
"""Limits of a query, and the highest `offset`."""
_AGE_DAYS = {"pd": 1, "pw": 7, "pm": 31, "py": 365}
"""Days of the values of `freshness`."""


def read_query(params: dict[str, object]) -> str:
    """Return the query. Raises BadRequest if it is missing or too long."""
    query = get_text(params, "q")
    if not query.strip():
        raise BadRequest("Field required", reason="bad-q")
    if len(query) > MAX_CHARS or len(query.split()) > MAX_WORDS:
        raise BadRequest(f"At most {MAX_CHARS} characters and {MAX_WORDS} words are allowed", reason="bad-q")
    return query


def read_search_params(world: World, request: Request, params: dict[str, object], max_count: int) -> SearchParams:
    """Return filters and paging from the parameters. Raises BadRequest if one is out of bounds."""
    count = get_bounded_number(params, "count", 20, 1, max_count)
    page = get_bounded_number(params, "offset", 0, 0, LAST_PAGE)
    after, before = _read_dates(world, request, get_text(params, "freshness"))
    return SearchParams(page * count, count, after, before)


def get_bounded_number(params: dict[str, object], name: str, default: int, minimum: int, maximum: int) -> int:
    """Return a parameter as a number. Raises BadRequest if it is out of bounds, where other services clamp."""
    bounded = get_number(params, name, default, -1, 1_000_000)  # wider than any limit, so that clamping hides nothing
    if not minimum <= bounded <= maximum:
        raise BadRequest(f"Input should be from {minimum} to {maximum}", reason=f"bad-{name}")
    return bounded


def _read_dates(world: World, request: Request, freshness: str) -> tuple[date | None, date | None]:
    """Return the first and last day of `freshness`: an age such as `pw`, or two days with `to` between them.

    Raises: BadRequest if it is neither.
    """
    if not freshness:
        return None, None
    if freshness in _AGE_DAYS:
        return date_days_ago(world, _AGE_DAYS[freshness], request.session.at_time), None
    try:
        first, last = (date.fromisoformat(end) for end in freshness.split("to"))
    except ValueError:
        raise BadRequest("Input should be pd, pw, pm, py or a span of dates", reason="bad-freshness") from None
    return first, last
