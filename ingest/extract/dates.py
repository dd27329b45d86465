"""Publication dates in the forms that documents use: ISO 8601 and its look-alikes, RFC 2822, English month names.

The time of a capture is read elsewhere (`webemu.ingest.times`).
"""

from __future__ import annotations

import re
from datetime import date

EARLIEST = date(1990, 1, 1)
"""First day of the Web's first year; earlier publication dates are not believed."""
_NUMERIC = re.compile(r"\s*(\d{4})([-/.]?)(\d{1,2})\2(\d{1,2})(?!\d)|\s*(\d{4})(\d\d)(\d\d)\d{4,6}(?!\d)")
_DAY_MONTH = re.compile(r"(?:^|\D)(\d{1,2})(?:st|nd|rd|th)?[\s-]+([A-Za-z]{3})[a-z]*\.?,?[\s-]+(\d{4})(?!\d)")
_MONTH_DAY = re.compile(r"([A-Za-z]{3})[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})(?!\d)")
_MONTHS = {name: 1 + i for i, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split())}


def parse_day(text: str, latest: date | None = None) -> date | None:
    """Return the calendar day that a text names, in its own time zone.

    None if the text is unreadable or the day is not between 1990 and `latest`.

        parse_day("Tue, 03 Mar 2020 10:00:00 GMT")  # date(2020, 3, 3)
    """
    text = text[:100]
    year = month = day = 0
    if match := _NUMERIC.match(text):
        year, month, day = (int(match[n]) for n in ((1, 3, 4) if match[1] else (5, 6, 7)))
    elif match := _DAY_MONTH.search(text):
        year, month, day = int(match[3]), _MONTHS.get(match[2].lower(), 0), int(match[1])
    elif match := _MONTH_DAY.search(text):
        year, month, day = int(match[3]), _MONTHS.get(match[1].lower(), 0), int(match[2])
    try:
        day_named = date(year, month, day)
    except ValueError:
        return None
    return day_named if day_named >= EARLIEST and (latest is None or day_named <= latest) else None
