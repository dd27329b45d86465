"""The web of one session: asks for what is asked, and tells weather, which the agent sees, from our own outages.

The session travels in the path, so one client and its connections serve any number of episodes. Nothing is sent here:
the steps yield what is to be sent, so that threads and an event loop play the same episode.
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
"""Seconds after which a request that fails is not sent again, however many attempts are left."""


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


Ask = Call[Any] | Pause
Steps = Generator[Ask, Any, T]
"""Yields what is to be done; is sent the answer, or thrown the ClientError in its place; returns what came of it."""


@dataclass(slots=True)
class Patience:
    """Decides for one request whether it is sent again, and after which pause."""

    retries: int
    about: str
    """Fixes the jitter of the pauses."""
    attempt: int = 0
    start: float = field(default_factory=time.monotonic)

    def pause(self, error: InfrastructureError) -> Steps[None]:
        """Wait before the next attempt. Raises `error` where there is none."""
        is_late = time.monotonic() - self.start > LONGEST
        if not error.again or self.attempt >= self.retries or is_late:
            raise error
        share = draw(f"{self.about}\n{self.attempt}".encode())
        yield Pause(backoff(error, self.attempt, share))
        self.attempt += 1


def patiently(call: Call[T], retries: int, about: str) -> Steps[T]:
    """Return the answer of a request that weather cannot strike. Raises WebError, or InfrastructureError at the end."""
    patience = Patience(retries, about)
    while True:
        try:
            return (yield call)  # type: ignore[no-any-return]
        except InfrastructureError as error:
            yield from patience.pause(error)


class Struck(Exception):
    """Injected weather took the answer; says what a browser would."""


@dataclass(slots=True)
class SessionWeb:
    """Made by `begin`. The client must not retry by itself: it would retry weather."""

    session: str
    retries: int
    lost: int = 0
    """Answers that weather is known to have taken."""

    def perform(self, call: Call[T]) -> Steps[T]:
        """The answer within the session. Raises WebError, Struck, or InfrastructureError on an outage of ours."""
        within = replace(call, path=f"/s/{self.session}{call.path}")
        patience = Patience(self.retries, within.path)
        while True:
            try:
                return (yield within)  # type: ignore[no-any-return]
            except InfrastructureError as error:
                if (yield from self._is_weather()):
                    raise Struck(_words(error)) from error
                yield from patience.pause(error)

    def requests(self) -> Steps[tuple[Request, ...]]:
        """The session's ledger. Raises InfrastructureError."""
        return (yield from patiently(account(self.session), self.retries, self.session))

    def _is_weather(self) -> Steps[bool]:
        """Whether the ledger tells of a further answer that it took. Raises InfrastructureError if nobody can tell."""
        requests = yield from self.requests()
        known, self.lost = self.lost, sum(request.is_lost for request in requests)
        return self.lost > known


def begin(policy: Mapping[str, Any], retries: int) -> Steps[SessionWeb]:
    """Open a session. Where an answer is lost and it is opened again, the first one stays empty and is not used.

    Raises BadRequest on a policy that is none, InfrastructureError.
    """
    session = yield from patiently(opening(policy), retries, json.dumps(policy, sort_keys=True, default=str))
    return SessionWeb(session, retries)


def _words(error: InfrastructureError) -> str:
    if error.status >= 500:
        return f"The site is out of order (status {error.status}). Try again, or look elsewhere."
    return "The connection was lost before the answer had come. Try again, or look elsewhere."
