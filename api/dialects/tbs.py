"""Google's parameter `tbs`, which other services pass on.

`qdr:w` is the last week; `cdr:1,cd_min:1/31/2024,cd_max:2/28/2024` is a range of dates.
"""

from __future__ import annotations

import re
from datetime import date

from webemu.api.dialects.search import date_days_ago
from webemu.api.http.request import Request
from webemu.emulator.world import World

_DAYS_OF_UNIT = {"h": 1 / 24, "d": 1.0, "w": 7.0, "m": 30.0, "y": 365.0}
_AGE = re.compile(r"qdr:([hdwmy])(\d{0,3})")
_RANGE_END = re.compile(r"cd_(min|max):(\d{1,2})/(\d{1,2})/(\d{4})")


def parse_dates(world: World, request: Request, tbs: str) -> tuple[date | None, date | None]:
    """Return the first and last day of the range; None for an end that is missing or is not a date."""
    if age := _AGE.search(tbs):
        return date_days_ago(world, _DAYS_OF_UNIT[age[1]] * int(age[2] or 1), request.session.at_time), None
    ends: dict[str, date] = {}
    for end, month, day, year in _RANGE_END.findall(tbs):
        try:
            ends[end] = date(int(year), int(month), int(day))
        except ValueError:
            continue
    return ends.get("min"), ends.get("max")
