"""The web of one session: asks for what is asked, and tells weather, which the agent sees, from our own outages.

The session travels in the path, so one client and its connections serve any number of episodes. Nothing is sent here:
the steps yield what is to be sent, so that threads and an event loop play the same episode.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from agent_client.calls import Call
from agent_client.errors import InfrastructureError
from rl.ledger import Request, account, opening

T = TypeVar("T")

FIRST_PAUSE = 0.1
"""Seconds before an outage is tried again; doubled each time."""


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


Ask = Call[Any] | Pause
Steps = Generator[Ask, Any, T]
"""Yields what is to be done; is sent the answer, or thrown the ClientError in its place; returns what came of it."""


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
        for attempt in range(self.retries + 1):
            try:
                return (yield within)  # type: ignore[no-any-return]
            except InfrastructureError as error:
                if (yield from self._is_weather()):
                    raise Struck(_words(error)) from error
                if attempt == self.retries or not error.again:
                    raise
                yield Pause(FIRST_PAUSE * 2**attempt)
        raise AssertionError("unreachable")

    def requests(self) -> Steps[tuple[Request, ...]]:
        """The session's ledger. Raises InfrastructureError."""
        return (yield account(self.session))  # type: ignore[no-any-return]

    def _is_weather(self) -> Steps[bool]:
        """Whether the ledger tells of a further answer that it took. Raises InfrastructureError if nobody can tell."""
        requests = yield from self.requests()
        known, self.lost = self.lost, sum(request.is_lost for request in requests)
        return self.lost > known


def begin(policy: Mapping[str, Any], retries: int) -> Steps[SessionWeb]:
    """A session of its own. Raises BadRequest on a policy that is none, InfrastructureError."""
    return SessionWeb((yield opening(policy)), retries)


def _words(error: InfrastructureError) -> str:
    if error.status >= 500:
        return f"The site is out of order (status {error.status}). Try again, or look elsewhere."
    return "The connection was lost before the answer had come. Try again, or look elsewhere."
