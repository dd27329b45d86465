"""A client's statements about its session are read, and those it may not make are refused."""

from datetime import UTC, datetime

import pytest

from webemu.emulator.errors import BadRequest
from webemu.emulator.session import Session, parse_session


@pytest.mark.parametrize(
    ("text", "session"),
    [
        ("", Session()),
        ("rollout-17", Session("rollout-17")),
        ("r;at=2024-05-31", Session("r", datetime(2024, 5, 31, tzinfo=UTC))),
        (
            "r;at=20240531120000;marks=off",
            Session("r", datetime(2024, 5, 31, 12, tzinfo=UTC), sends_debug_headers=False),
        ),
        (";marks=on", Session()),
    ],
)
def test_a_session_is_its_name_and_its_rules(text: str, session: Session) -> None:
    assert parse_session(text) == session


@pytest.mark.parametrize("text", ["r;", "r;at=soon", "r;marks=maybe", "r;budget", "r;at"])
def test_what_is_no_rule_is_refused_rather_than_overlooked(text: str) -> None:
    with pytest.raises(BadRequest):
        parse_session(text)
