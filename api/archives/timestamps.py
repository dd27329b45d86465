"""Timestamps of web archives: 14 digits, `YYYYMMDDhhmmss`, always UTC."""

from __future__ import annotations

import time
from calendar import monthrange
from datetime import UTC, datetime
from email.utils import formatdate, parsedate_to_datetime

from webemu.emulator.errors import BadRequest


def format_timestamp(seconds: int) -> str:
    """Return the 14-digit timestamp of a time in seconds since the epoch."""
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(seconds)).rjust(14, "0")


def parse_timestamp(text: str) -> datetime:
    """Return the earliest time that the leading digits of a timestamp allow.

    Missing digits are filled up with the lowest values; impossible ones (month 13, 31 February) are clamped to the
    nearest valid date.

        parse_timestamp("2024")   # 2024-01-01 00:00:00+00:00
    """
    # The literal lies under the text: its tail fills up year 0000, month 01, day 01, 00:00:00.
    padded = text[:14] + "00000101000000"[min(14, len(text)) :]
    year, month, day = (int(padded[a:b]) for a, b in ((0, 4), (4, 6), (6, 8)))
    year, month = max(1, year), min(12, max(1, month))
    day = min(monthrange(year, month)[1], max(1, day))
    hour, minute, second = (int(padded[offset : offset + 2]) for offset in (8, 10, 12))
    return datetime(year, month, day, min(23, hour), min(59, minute), min(59, second), tzinfo=UTC)


def format_http_date(seconds: int) -> str:
    """Return seconds since the epoch as an HTTP date (RFC 9110, section 5.6.7)."""
    return formatdate(seconds, usegmt=True)


def parse_accept_datetime(header_value: bytes) -> datetime:
    """Parse the value of `Accept-Datetime` (RFC 7089, section 2.1.1) into UTC. Raises BadRequest if it is no date."""
    try:
        parsed_date = parsedate_to_datetime(header_value.decode("ascii"))
        return parsed_date.replace(tzinfo=UTC) if parsed_date.tzinfo is None else parsed_date.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise BadRequest(
            f"Accept-Datetime is not an HTTP date, got {header_value[:60]!r}",
            action="write it as Tue, 20 Mar 2012 20:35:00 GMT",
        ) from error
