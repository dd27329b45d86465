"""When to ask again and how long to wait: exponential backoff with jitter that is a function of what was asked."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import httpx

from webemu.agent_client.address import Address
from webemu.agent_client.errors import InfrastructureError

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a question is repeated."""

    retries: int

    def pause(self, request: httpx.Request, attempt: int, error: InfrastructureError) -> float:
        """Seconds to wait after the failed `attempt` (from 0); raises `error` when it is final."""
        if not error.again:
            raise error
        if attempt >= self.retries:
            raise _given_up(error, attempt + 1) from error
        return backoff(error, attempt, jitter(request, attempt))


def backoff(error: InfrastructureError, attempt: int, share: float) -> float:
    """Return the seconds to wait after the failed `attempt` (from 0): what the server asked for, and a pause that
    doubles each time, of which `share` (0 to 1) decides the second half."""
    pause = FIRST_PAUSE * (1 << min(attempt, 16)) * (0.5 + 0.5 * share)
    return min(error.after + pause, LONGEST_PAUSE)


def jitter(request: httpx.Request, attempt: int) -> float:
    """A number in [0, 1) fixed by session, URL, body and attempt, so that a repeated run waits alike."""
    session = request.headers.get("X-Webemu-Session", "")
    return draw(f"{session}\n{request.url}\n{attempt}\n".encode() + request.content)


def draw(about: bytes) -> float:
    """Return a number in [0, 1) that is fixed by `about`."""
    return int.from_bytes(blake2b(about, digest_size=4).digest(), "big") / 2**32


def unanswered(server: Address, error: httpx.RequestError) -> InfrastructureError:
    """No answer came, or it broke off."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    found = InfrastructureError(f"no answer from {server.name} ({said})", reason="unreachable", action=server.start)
    found.again = not isinstance(error, httpx.UnsupportedProtocol)
    return found


def _given_up(error: InfrastructureError, attempts: int) -> InfrastructureError:
    message = f"{error.message}, {attempts} attempts"
    found = InfrastructureError(message, status=error.status, reason=error.reason, action=error.action)
    found.again, found.after = error.again, error.after  # who asked may have more patience
    return found
