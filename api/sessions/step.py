"""A request of a session, as frozen values that follow each other: `SessionRequest`, `Step`, `FinishedStep`, `Outcome`.

Each value holds the one before it. `webemu.api.sessions.handler` passes them on, `webemu.api.sessions.step_record`
writes a finished step down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import unquote_plus

from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.api.sessions.responder import Responder
from webemu.emulator.cached_world import CachedWorld
from webemu.emulator.keyed_random import KeyedRandom
from webemu.emulator.ledger import StartedStep
from webemu.emulator.policy import UNLIMITED, Budget, Policy, policy_fingerprint
from webemu.emulator.request_world import RequestWorld

ConnectionFault = Literal["", "reset", "close", "half"]
"""Fault below HTTP: none, the connection is reset, closed without an answer, or closed in the middle of one."""


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """A request of a session that has just arrived."""

    request: Request
    """Request; its session has not been looked up yet."""
    responder: Responder
    """Service that answers it."""
    start: float
    """Time of arrival, by `time.perf_counter`."""


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """A session, looked up: its policy, world and randomness."""

    id: str
    policy: Policy
    world: CachedWorld
    """The world without what the policy blocks."""
    keyed_random: KeyedRandom
    limits_id: str = ""
    """Id of the session of the listener, whose budget is charged as well; empty if there is none."""
    limits: Budget = UNLIMITED
    """Budget of that session."""


@dataclass(frozen=True, slots=True)
class Step:
    """A request that was counted in the ledger, with all that its answer depends on."""

    arrival: SessionRequest
    request: Request
    """Request under the policy of its session."""
    session: ActiveSession
    started: StartedStep
    """Number of the step and of equal requests before it."""
    world: RequestWorld
    """World of this request, with its weather. It stays the same if the answer is tried again in a thread: what it
    charged stays charged.
    """


@dataclass(frozen=True, slots=True)
class FinishedStep:
    """A step with its response."""

    step: Step
    reply: Response | None
    """Response; None if the service has no answer, or none may be sent."""
    faults: tuple[str, ...]
    """Injected faults that had an effect, in alphabetical order."""
    connection_fault: ConnectionFault
    """Fault by which the connection ends; empty for none."""
    milliseconds: float
    """Time from the arrival of the request to its response."""


class Outcome(NamedTuple):
    """Result of a request of a session: what remains to be sent."""

    reply: Response | None
    """Response; None if the service has no answer, or none may be sent."""
    connection_fault: ConnectionFault = ""
    """Fault by which the connection ends; empty for none."""
    sends_debug_headers: bool = True
    """True if debug headers may be sent."""
    delay_ms: float = 0.0
    """Milliseconds for which the weather delayed the response."""


def session_random(policy: Policy) -> KeyedRandom:
    """Return the randomness of a session: its seed, keyed by its policy."""
    return KeyedRandom(f"{policy.seed}\0{policy_fingerprint(policy)}")


def describe_target(request: Request, service: str) -> str:
    """Return the URL of a page of the web, or the path and query sent to a service, without the session's own name."""
    url = request.url if service == request.host else request.target
    return url.replace(request.session.name, "")  # equal requests of two sessions must look equal


def request_fingerprint(request: Request, service: str) -> bytes:
    """Return bytes that are equal for equal requests: headers and the choice of percent-escapes do not matter."""
    target = f"{request.method} {service} {unquote_plus(describe_target(request, service))}".encode("utf-8", "replace")
    return target + b"\0" + request.body.replace(request.session.name.encode(), b"")
