"""Times as people and archives write them."""

from datetime import UTC, date, datetime

import pytest

from webemu.emulator.dates import format_day, parse_date_range, parse_time, to_day_number
from webemu.emulator.errors import BadRequest


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("202411", datetime(2024, 11, 1, tzinfo=UTC)),
        ("20241130120501", datetime(2024, 11, 30, 12, 5, 1, tzinfo=UTC)),
        ("2024-11-30", datetime(2024, 11, 30, tzinfo=UTC)),
        ("2024-11-30T12:00:00Z", datetime(2024, 11, 30, 12, tzinfo=UTC)),
        ("2024-11-30T12:00:00+02:00", datetime(2024, 11, 30, 10, tzinfo=UTC)),
    ],
)
def test_parse_time(text: str, moment: datetime) -> None:
    assert parse_time(text) == moment


@pytest.mark.parametrize("text", ["", "soon", "20241301", "99999-01-01", "2024-02-30", "1234567"])
def test_nonsense_is_a_bad_request(text: str) -> None:
    with pytest.raises(BadRequest):
        parse_time(text)


def test_spans() -> None:
    assert parse_date_range("2024") == (date(2024, 1, 1), date(2024, 12, 31))
    assert parse_date_range("2024-02") == (date(2024, 2, 1), date(2024, 2, 29))
    assert parse_date_range("2024/2/3") == (date(2024, 2, 3), date(2024, 2, 3))
    assert parse_date_range("2024-13") is None
    assert parse_date_range("yesterday") is None


def test_day_numbers_round_trip() -> None:
    assert to_day_number(date(1970, 1, 2)) == 1
    assert format_day(to_day_number(date(2024, 11, 30))) == "2024-11-30"
