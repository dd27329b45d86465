"""Client of one session of the emulated web. It tells injected weather, which the agent sees, from real outages, which
mask the episode.

The session is part of the URL path, so that one client and its connections serve any number of episodes. Nothing is
sent here: generators yield the requests, so that threads and event loops run the same code.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from webemu.agent_client.calls import ApiCall
from webemu.agent_client.errors import InfrastructureError
from webemu.agent_client.retry import backoff, hash_to_unit
from webemu.rl.ledger import Request, open_session_call, session_report_call

T = TypeVar("T")

MAX_RETRY_SECONDS = 120.0
"""Seconds after which a failed request is not retried, however many attempts are left."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Request to sleep."""

    seconds: float


Effect = ApiCall[object] | Delay
"""Request that a generator yields: an API call, or a delay."""
Steps = Generator[Effect, Any, T]
"""Generator of requests. The driver sends it each answer, or throws the `ClientError` in its place; the generator
returns its result.
"""


@dataclass(slots=True)
class RetryState:
    """Retry state of one request: decides whether it is sent again, and after which delay."""

    retries: int
    jitter_key: str
    """Key of the delays' jitter, which makes it reproducible."""
    attempt: int = 0
    """Number of retries so far."""
    start: float = field(default_factory=time.monotonic)
    """Time of the first attempt, by the monotonic clock."""

    def wait(self, error: InfrastructureError) -> Steps[None]:
        """Wait before the next attempt. Raises: `error` if it is permanent, or attempts or time are used up."""
        is_late = time.monotonic() - self.start > MAX_RETRY_SECONDS
        if not error.can_retry or self.attempt >= self.retries or is_late:
            raise error
        share = hash_to_unit(f"{self.jitter_key}\n{self.attempt}".encode())
        yield Delay(backoff(error, self.attempt, share))
        self.attempt += 1


def call_with_retries(call: ApiCall[T], retries: int, jitter_key: str) -> Steps[T]:
    """Return the answer of a request that weather cannot hit. Raises: WebError, or InfrastructureError after the last
    retry.
    """
    retry_state = RetryState(retries, jitter_key)
    while True:
        try:
            return (yield call)  # type: ignore[no-any-return]
        except InfrastructureError as error:
            yield from retry_state.wait(error)


class InjectedFault(Exception):
    """Injected weather replaced the answer; the message says what a browser would say."""


@dataclass(slots=True)
class SessionClient:
    """Client of a session, created by `open_session`. The underlying HTTP client must not retry: it would retry
    weather.
    """

    session: str
    retries: int
    lost_answers: int = 0
    """Number of answers that weather is known to have taken."""
    answered_requests: int = 0
    """Number of requests that were answered, with errors of the web too, or whose answer weather took."""

    def perform(self, call: ApiCall[T]) -> Steps[T]:
        """Return the answer of a call within the session.

        Raises: WebError for errors of the web itself, InjectedFault if weather took the answer, InfrastructureError
        for an outage of the server.
        """
        session_call = replace(call, path=f"/s/{self.session}{call.path}")
        retry_state = RetryState(self.retries, session_call.path)
        while True:
            self.answered_requests += 1
            try:
                return (yield session_call)  # type: ignore[no-any-return]
            except InfrastructureError as error:
                # Client and server look alike when an answer is lost: only the ledger knows which fault it was.
                if (yield from self._was_injected()):
                    raise InjectedFault(_fault_text(error)) from error
                self.answered_requests -= 1
                yield from retry_state.wait(error)

    def requests(self) -> Steps[tuple[Request, ...]]:
        """Return the ledger of the session. Raises: InfrastructureError if it cannot be read."""
        return (yield from call_with_retries(session_report_call(self.session), self.retries, self.session))

    def _was_injected(self) -> Steps[bool]:
        """Return True if the ledger has one more answer lost to weather than before. Raises: InfrastructureError if it
        cannot be read.
        """
        requests = yield from self.requests()
        # Requests of one session run one after another, so a new loss belongs to the request that just failed.
        earlier_losses, self.lost_answers = self.lost_answers, sum(request.is_lost for request in requests)
        return self.lost_answers > earlier_losses


def open_session(policy: Mapping[str, object], retries: int) -> Steps[SessionClient]:
    """Open a session and return its client. If the answer is lost, another session is opened, and the first stays
    unused.

    Raises: BadRequest if the session policy is invalid, InfrastructureError after the last retry.
    """
    session = yield from call_with_retries(
        open_session_call(policy), retries, json.dumps(policy, sort_keys=True, default=str)
    )
    return SessionClient(session, retries)


def _fault_text(error: InfrastructureError) -> str:
    """Return what a browser would say about a lost answer."""
    if error.status >= 500:
        return f"The site is out of order (status {error.status}). Try again, or look elsewhere."
    return "The connection was lost before the answer had come. Try again, or look elsewhere."
