"""Pauses between attempts are right, checked without waiting."""

from __future__ import annotations

import httpx
import pytest

from webemu.agent_client.errors import InfrastructureError
from webemu.agent_client.retry import MAX_DELAY_SECONDS, RetryPolicy, jitter

REQUEST = httpx.Request("GET", "http://127.0.0.1/v1/search?q=x")


def passing(after: float = 0) -> InfrastructureError:
    error = InfrastructureError("no", status=503)
    error.can_retry, error.retry_after = True, after
    return error


def test_pauses_double_within_their_jitter() -> None:
    pauses = [RetryPolicy(9).delay(REQUEST, attempt, passing()) for attempt in range(5)]
    for attempt, pause in enumerate(pauses):
        assert 0.125 * 2**attempt <= pause < 0.25 * 2**attempt


def test_jitter_depends_on_what_is_asked_and_nothing_else() -> None:
    assert jitter(REQUEST, 1) == jitter(httpx.Request("GET", str(REQUEST.url)), 1)
    other_pauses = [
        jitter(REQUEST, 2),
        jitter(httpx.Request("GET", "http://127.0.0.1/v1/search?q=y"), 1),
        jitter(httpx.Request("GET", REQUEST.url, headers={"X-Webemu-Session": "7"}), 1),
        jitter(httpx.Request("POST", REQUEST.url, content=b"body"), 1),
    ]
    assert len({jitter(REQUEST, 1), *other_pauses}) == 5


def test_the_server_may_ask_for_more_but_not_for_ever() -> None:
    assert RetryPolicy(5).delay(REQUEST, 0, passing(after=3)) >= 3
    assert RetryPolicy(5).delay(REQUEST, 0, passing(after=10_000)) == MAX_DELAY_SECONDS


def test_final_errors_are_raised() -> None:
    with pytest.raises(InfrastructureError, match="3 attempts"):
        RetryPolicy(2).delay(REQUEST, 2, passing())
    final = InfrastructureError("no")
    with pytest.raises(InfrastructureError) as raised:
        RetryPolicy(2).delay(REQUEST, 0, final)
    assert raised.value is final
