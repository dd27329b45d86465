"""The parameter `freshness` of services that grew out of Bing's API: `oneWeek`, a day, or a range of days."""

from __future__ import annotations

from datetime import date

from webemu.api.dialects.search import date_days_ago
from webemu.api.http.request import Request
from webemu.emulator.world import World

_AGE_DAYS = {"oneDay": 1, "oneWeek": 7, "oneMonth": 30, "oneYear": 365}
_RANGE_MARK = ".."


def parse_freshness(world: World, request: Request, freshness: str) -> tuple[date | None, date | None]:
    """Return the first and last day that count; None for an end that is open, or for a value that names no time.

    parse_freshness(world, request, "2024-01-01..2024-01-31")    # (date(2024, 1, 1), date(2024, 1, 31))
    """
    if freshness in _AGE_DAYS:
        return date_days_ago(world, _AGE_DAYS[freshness], request.session.at_time), None
    first, mark, last = freshness.partition(_RANGE_MARK)
    try:
        first_day = date.fromisoformat(first.strip())
        return first_day, date.fromisoformat(last.strip()) if mark else first_day
    except ValueError:
        return None, None
