"""Decides when to retry and how long to wait: exponential backoff with jitter that is a function of the request."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import httpx

from webemu.agent_client.address import Address
from webemu.agent_client.errors import InfrastructureError

FIRST_DELAY_SECONDS = 0.25
"""Delay before the first retry at full jitter, in seconds."""
MAX_DELAY_SECONDS = 30.0
"""Maximum delay, in seconds."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number of retries of a client."""

    retries: int

    def delay(self, request: httpx.Request, attempt: int, error: InfrastructureError) -> float:
        """Return the seconds to wait after the failed `attempt` (from 0). Raises `error` if there is to be no further
        attempt.
        """
        if not error.can_retry:
            raise error
        if attempt >= self.retries:
            raise _exhausted_error(error, attempt + 1) from error
        return backoff(error, attempt, jitter(request, attempt))


def backoff(error: InfrastructureError, attempt: int, jitter_share: float) -> float:
    """Return the seconds to wait after the failed `attempt` (from 0).

    That is the wait the server asked for, plus a delay that doubles each time, half of which depends on `jitter_share`
    (0 to 1).
    """
    # The exponent is capped because a large shift would overflow the float; the delay is capped long before.
    delay = FIRST_DELAY_SECONDS * (1 << min(attempt, 16)) * (0.5 + 0.5 * jitter_share)
    return min(error.retry_after + delay, MAX_DELAY_SECONDS)


def jitter(request: httpx.Request, attempt: int) -> float:
    """Return a number in [0, 1) fixed by session, URL, body and attempt, so that a repeated run waits equally long."""
    session = request.headers.get("X-Webemu-Session", "")
    return hash_to_unit(f"{session}\n{request.url}\n{attempt}\n".encode() + request.content)


def hash_to_unit(key: bytes) -> float:
    """Return a number in [0, 1) that is a hash of `key`."""
    return int.from_bytes(blake2b(key, digest_size=4).digest(), "big") / 2**32


def connection_error(server: Address, error: httpx.RequestError) -> InfrastructureError:
    """Return the error for a request that got no response, or an incomplete one."""
    detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    failure = InfrastructureError(
        f"no answer from {server.name} ({detail})", reason="unreachable", action=server.start_hint
    )
    failure.can_retry = not isinstance(error, httpx.UnsupportedProtocol)
    return failure


def _exhausted_error(error: InfrastructureError, attempts: int) -> InfrastructureError:
    """Return the final error after some attempts; it keeps `can_retry`, since the caller may retry for longer."""
    message = f"{error.message} (after {attempts} attempts)"
    failure = InfrastructureError(message, status=error.status, reason=error.reason, action=error.action)
    failure.can_retry, failure.retry_after = error.can_retry, error.retry_after  # the caller may retry for longer
    return failure
