"""Decides when to retry and how long to wait: exponential backoff with jitter that is a function of the request."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import httpx

from webemu.agent_client.address import Address
from webemu.agent_client.errors import InfrastructureError

FIRST_PAUSE = 0.25
"""Delay before the first retry at full jitter, in seconds."""
LONGEST_PAUSE = 30.0
"""Maximum delay, in seconds."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Number of retries of a client."""

    retries: int

    def pause(self, request: httpx.Request, attempt: int, error: InfrastructureError) -> float:
        """Return the seconds to wait after the failed `attempt` (from 0). Raises `error` if there is to be no further
        attempt.
        """
        if not error.again:
            raise error
        if attempt >= self.retries:
            raise _given_up(error, attempt + 1) from error
        return backoff(error, attempt, jitter(request, attempt))


def backoff(error: InfrastructureError, attempt: int, share: float) -> float:
    """Return the seconds to wait after the failed `attempt` (from 0).

    That is the wait the server asked for, plus a delay that doubles each time, half of which depends on `share` (0 to
    1).
    """
    # The exponent is capped because a large shift would overflow the float; the delay is capped long before.
    pause = FIRST_PAUSE * (1 << min(attempt, 16)) * (0.5 + 0.5 * share)
    return min(error.after + pause, LONGEST_PAUSE)


def jitter(request: httpx.Request, attempt: int) -> float:
    """Return a number in [0, 1) fixed by session, URL, body and attempt, so that a repeated run waits equally long."""
    session = request.headers.get("X-Webemu-Session", "")
    return draw(f"{session}\n{request.url}\n{attempt}\n".encode() + request.content)


def draw(about: bytes) -> float:
    """Return a number in [0, 1) that is a hash of `about`."""
    return int.from_bytes(blake2b(about, digest_size=4).digest(), "big") / 2**32


def unanswered(server: Address, error: httpx.RequestError) -> InfrastructureError:
    """Return the error for a request that got no response, or an incomplete one."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    found = InfrastructureError(f"no answer from {server.name} ({said})", reason="unreachable", action=server.start)
    found.again = not isinstance(error, httpx.UnsupportedProtocol)
    return found


def _given_up(error: InfrastructureError, attempts: int) -> InfrastructureError:
    """Return the final error after some attempts; it keeps `can_retry`, since the caller may retry for longer."""
    message = f"{error.message} (after {attempts} attempts)"
    found = InfrastructureError(message, status=error.status, reason=error.reason, action=error.action)
    found.again, found.after = error.again, error.after  # the caller may retry for longer
    return found
