"""Parses times and dates as people and archives write them, into UTC.

Only parsing: `World` decides which capture a time selects.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from webemu.emulator.errors import BadRequest

_DIGITS = re.compile(r"\d{4,14}")
_PARTIAL = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")


def parse_time(text: str) -> datetime:
    """Return a time as an aware UTC datetime.

    Accepts RFC 3339, `YYYY[-MM[-DD]]`, and prefixes of `YYYYMMDDhhmmss` (Memento, RFC 7089, and CDX). Missing parts
    are the earliest: a year means its first second. Raises BadRequest on anything else.

        parse_time("2024-11")  # 2024-11-01 00:00:00+00:00
    """
    text = text.strip()
    try:
        if _DIGITS.fullmatch(text) and len(text) % 2 == 0:
            pad = "00000101000000"
            return datetime.strptime(text + pad[len(text) :], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        if match := _PARTIAL.fullmatch(text):
            year, month, day = (int(part) if part else 1 for part in match.groups())
            return datetime(year, month, day, tzinfo=UTC)
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadRequest(
            f"{text[:60]!r} is not a time", action="write it as 2024-11-30, 2024-11-30T12:00:00Z or 20241130120000"
        ) from error


def parse_date_range(text: str) -> tuple[date, date] | None:
    """Return the first and last day of a year, month or day, as `before:` and `after:` take it; None if it is none of
    these.
    """
    match = _PARTIAL.fullmatch(text)
    if not match:
        return None
    year, month, day = (int(part) if part else 0 for part in match.groups())
    try:
        first = date(year, month or 1, day or 1)
        last_month = month or 12
        return first, date(year, last_month, day or calendar.monthrange(year, last_month)[1])
    except (ValueError, calendar.IllegalMonthError):
        return None


_EPOCH = date(1970, 1, 1)


def to_day_number(day: date) -> int:
    """Return the days since 1970-01-01, as the snapshot's date columns store them."""
    return (day - _EPOCH).days


@lru_cache(maxsize=65_536)
def format_day(number: int) -> str:
    """Return YYYY-MM-DD of a day number."""
    return (_EPOCH + timedelta(days=number)).isoformat()
