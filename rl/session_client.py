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

from webemu.agent_client.calls import Call
from webemu.agent_client.errors import InfrastructureError
from webemu.agent_client.retry import backoff, draw
from webemu.rl.ledger import Request, account, opening

T = TypeVar("T")

LONGEST = 120.0
"""Seconds after which a failed request is not retried, however many attempts are left."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Request to sleep."""

    seconds: float


Ask = Call[Any] | Pause
"""Request that a generator yields: an API call, or a delay."""
Steps = Generator[Ask, Any, T]
"""Generator of requests. The driver sends it each answer, or throws the `ClientError` in its place; the generator
returns its result.
"""


@dataclass(slots=True)
class Patience:
    """Retry state of one request: decides whether it is sent again, and after which delay."""

    retries: int
    about: str
    """Key of the delays' jitter, which makes it reproducible."""
    attempt: int = 0
    """Number of retries so far."""
    start: float = field(default_factory=time.monotonic)
    """Time of the first attempt, by the monotonic clock."""

    def pause(self, error: InfrastructureError) -> Steps[None]:
        """Wait before the next attempt. Raises: `error` if it is permanent, or attempts or time are used up."""
        is_late = time.monotonic() - self.start > LONGEST
        if not error.again or self.attempt >= self.retries or is_late:
            raise error
        share = draw(f"{self.about}\n{self.attempt}".encode())
        yield Pause(backoff(error, self.attempt, share))
        self.attempt += 1


def patiently(call: Call[T], retries: int, about: str) -> Steps[T]:
    """Return the answer of a request that weather cannot hit. Raises: WebError, or InfrastructureError after the last
    retry.
    """
    patience = Patience(retries, about)
    while True:
        try:
            return (yield call)  # type: ignore[no-any-return]
        except InfrastructureError as error:
            yield from patience.pause(error)


class Struck(Exception):
    """Injected weather replaced the answer; the message says what a browser would say."""


@dataclass(slots=True)
class SessionWeb:
    """Client of a session, created by `open_session`. The underlying HTTP client must not retry: it would retry
    weather.
    """

    session: str
    retries: int
    lost: int = 0
    """Number of answers that weather is known to have taken."""

    def perform(self, call: Call[T]) -> Steps[T]:
        """Return the answer of a call within the session.

        Raises: WebError for errors of the web itself, InjectedFault if weather took the answer, InfrastructureError
        for an outage of the server.
        """
        within = replace(call, path=f"/s/{self.session}{call.path}")
        patience = Patience(self.retries, within.path)
        while True:
            try:
                return (yield within)  # type: ignore[no-any-return]
            except InfrastructureError as error:
                # Client and server look alike when an answer is lost: only the ledger knows which fault it was.
                if (yield from self._is_weather()):
                    raise Struck(_words(error)) from error
                yield from patience.pause(error)

    def requests(self) -> Steps[tuple[Request, ...]]:
        """Return the ledger of the session. Raises: InfrastructureError if it cannot be read."""
        return (yield from patiently(account(self.session), self.retries, self.session))

    def _is_weather(self) -> Steps[bool]:
        """Return True if the ledger has one more answer lost to weather than before. Raises: InfrastructureError if it
        cannot be read.
        """
        requests = yield from self.requests()
        # Requests of one session run one after another, so a new loss belongs to the request that just failed.
        known, self.lost = self.lost, sum(request.is_lost for request in requests)
        return self.lost > known


def begin(policy: Mapping[str, Any], retries: int) -> Steps[SessionWeb]:
    """Open a session and return its client. If the answer is lost, another session is opened, and the first stays
    unused.

    Raises: BadRequest if the session policy is invalid, InfrastructureError after the last retry.
    """
    session = yield from patiently(opening(policy), retries, json.dumps(policy, sort_keys=True, default=str))
    return SessionWeb(session, retries)


def _words(error: InfrastructureError) -> str:
    """Return what a browser would say about a lost answer."""
    if error.status >= 500:
        return f"The site is out of order (status {error.status}). Try again, or look elsewhere."
    return "The connection was lost before the answer had come. Try again, or look elsewhere."
