"""The time of a capture: read from WARC-Date as leniently as is unambiguous, else from other dates of the record.

Publication dates that pages declare are read elsewhere (`webemu.ingest.extract.dates`).
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime

from webemu.ingest.extract.dates import EARLIEST, parse_day

UNKNOWN = datetime(1970, 1, 1)
"""Time of a capture that nothing dates. Such a capture is visible at every time the web is looked at."""
FLAWS = ("bad-date", "no-date")
"""Drop reasons of an unreadable and of a missing WARC-Date; `determine_capture_time` indexes this pair."""
_MAX_DATE = 200
"""Characters of a date that are parsed."""
_DATE = re.compile(
    r"(\d{4})(?:-?(\d\d)(?:-?(\d\d)(?:[T _]*(\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d+)|(\d{1,6}))?)?)?)?)?)?"
    r" *(Z|UTC|GMT|[+-][\d:]+)?",
    re.ASCII,
)
_PLAIN_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
"""Form in which nearly all writers write a time, and which Python parses in a fraction of the time."""
_ZONE = re.compile(r"([+-])(\d\d):?(\d\d)?", re.ASCII)
_DAY_OF_YEAR = re.compile(r"(\d{4})-(\d\d)-(\d{2,3})(T.*)", re.ASCII)


def parse_warc_time(text: str | None) -> datetime | None:
    """Return a WARC-Date as naive UTC, or None if it is not an ISO 8601 time.

    Accepts any precision of WARC/1.1 and what writers make of it: 14 digits, fractions of any length, leap seconds,
    lower-case letters, offsets, no zone (UTC).

        parse_warc_time("2020-03-01T12:00:00Z")  # datetime(2020, 3, 1, 12, 0)
    """
    if not text:
        return None
    if _PLAIN_TIME.fullmatch(text):
        with suppress(ValueError):  # hour 24, a leap second, or no such day
            return datetime.fromisoformat(text[:-1])
    match = _DATE.fullmatch(text.strip().upper())
    if not match:
        return None
    year, month, day, hour, minute, second = (int(match[n] or (n in (2, 3))) for n in range(1, 7))
    # Hour 24 and leap seconds are legal, and datetime() accepts neither: add them as a timedelta.
    seconds = 3600 * hour + 60 * minute + second
    if minute > 59 or second > 60 or seconds > 86_400:
        return None
    fraction = int((match[7] or match[8] or "")[:6].ljust(6, "0"))
    try:
        return (
            datetime(year, month, day)
            + timedelta(seconds=seconds, microseconds=fraction)
            - _parse_utc_offset(match[9] or "Z")
        )
    except (ValueError, OverflowError):
        return None


def _parse_utc_offset(zone: str) -> timedelta:
    """Return how far a zone is ahead of UTC. Raises ValueError if the text is not a zone."""
    if zone[0] not in "+-":
        return timedelta()
    match = _ZONE.fullmatch(zone)
    if not match or int(match[2]) > 23 or int(match[3] or 0) > 59:
        raise ValueError(zone)
    return timedelta(hours=int(match[2]), minutes=int(match[3] or 0)) * (-1 if match[1] == "-" else 1)


def determine_capture_time(
    warc_date: str | None, http_date: str, crawl_time: datetime | None
) -> tuple[datetime, str | None]:
    """Return (time of the capture, drop reason or None if the WARC-Date is sound).

    The reason is `no-date` if there is no WARC-Date, `bad-date` if it is not an ISO 8601 time. The time is then the
    first of these that can be read: WARC-Date in ClueWeb's or HTTP's notation, the HTTP header `Date`, the day that
    WARC-Date names, the time of the warcinfo record, `HOST_NOT_CAPTURED`. The capture is kept in every case.
    """
    if time := parse_warc_time(warc_date):
        return time, None
    text = (warc_date or "").strip()[:_MAX_DATE]
    time = read_time(text) or _parse_http_time(http_date[:_MAX_DATE]) or _parse_day_start(text) or crawl_time or UNKNOWN
    return time, FLAWS[not text]


def read_time(text: str | None) -> datetime | None:
    """Return a WARC-Date as naive UTC, also one in ClueWeb's or HTTP's notation; None if it is not a time."""
    text = (text or "").strip()[:_MAX_DATE]
    if not text:
        return None
    return parse_warc_time(text) or _parse_clueweb_time(text) or _parse_http_time(text)


def _parse_clueweb_time(text: str) -> datetime | None:
    """Return a time whose day is that of the year (`2008-10-294T05:21:46-0700`), if it lies in the month next to it."""
    # Up to 31 the number may be a plain day of the month, which is read elsewhere.
    if not (match := _DAY_OF_YEAR.fullmatch(text)) or not 31 < int(match[3]) < 367:
        return None
    try:
        day = date(int(match[1]), 1, 1) + timedelta(days=int(match[3]) - 1)
    except (ValueError, OverflowError):
        return None
    return parse_warc_time(f"{day}{match[4]}") if day.month == int(match[2]) else None


def _parse_http_time(text: str) -> datetime | None:
    """Return an HTTP date, in any of its three forms or as mail writes it; None if it is before the Web."""
    try:
        time = parsedate_to_datetime(text)
        time = time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return time if time.date() >= EARLIEST else None


def _parse_day_start(text: str) -> datetime | None:
    """Return the start of the day that a text names, or None."""
    day = parse_day(text)
    return datetime(day.year, day.month, day.day) if day else None
