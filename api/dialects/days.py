"""Dates in the formats of services: read as ISO 8601, written as midnight of the day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from email.utils import format_datetime

from webemu.api.dialects.dialect import get_text
from webemu.emulator.dates import parse_time
from webemu.emulator.types import Capture


def get_day(params: Mapping[str, object], name: str) -> date | None:
    """Return a parameter as a date, None if it is missing or empty. Raises BadRequest if it is not a date."""
    value = get_text(params, name)
    return parse_time(value).date() if value else None


def format_midnight(iso: str) -> str:
    """Format `2024-01-01` as `2024-01-01T00:00:00.000Z`."""
    return f"{iso}T00:00:00.000Z"


def format_mail_date(iso: str) -> str:
    """Format `2024-01-01` as `Mon, 01 Jan 2024 00:00:00 GMT` (RFC 5322)."""
    return format_datetime(datetime.fromisoformat(iso).replace(tzinfo=UTC), usegmt=True)


def format_capture_time(capture: Capture) -> str:
    """Format the time of a capture as `2024-01-01T12:00:00.000Z`."""
    return f"{datetime.fromtimestamp(capture.time, UTC):%Y-%m-%dT%H:%M:%S}.000Z"
