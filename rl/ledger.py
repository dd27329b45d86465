"""What the server wrote down of a session (docs/sessions.md): the only log that rewards believe."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webemu.agent_client.calls import Call

FAULTS = frozenset({"timeout", "error", "rate-limit", "reset", "truncated"})
"""Weather that strikes a request as a whole (emulator/weather.py)."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a session."""

    step: int
    status: int
    """0 where no answer was given."""
    attempt: int
    """How often the very same was asked before."""
    bytes: int
    searches: tuple[str, ...]
    """What was searched for."""
    opened: tuple[str, ...]
    """URLs of captures that were reached."""
    weather: frozenset[str]
    failed: bool
    """Through the server's own fault."""

    @property
    def is_struck(self) -> bool:
        """Whether injected weather took the whole answer."""
        return not self.failed and bool(self.weather & FAULTS)

    @property
    def is_lost(self) -> bool:
        """Whether injected weather left the client without an answer of the web: all but rate limits."""
        return not self.failed and bool(self.weather & FAULTS - {"rate-limit"})

    @property
    def is_shown(self) -> bool:
        """Whether its answer reached the agent in full."""
        return self.status == 200 and not self.failed and not self.is_struck


class Opening(Call[str]):
    """`POST /v1/sessions`, which answers 201."""

    def answer(self, response: Any) -> str:
        if response.status_code == 201:
            return str(json.loads(response.content)["session"])
        return Call.answer(self, response)


def opening(policy: Mapping[str, Any]) -> Call[str]:
    """Opens a session under a policy; answers its id."""
    return Opening("/v1/sessions", _no_session, json.dumps(policy).encode())


def account(session: str) -> Call[tuple[Request, ...]]:
    """The requests of a session so far, in order."""
    return Call(f"/v1/sessions/{session}", lambda response: _requests(json.loads(response.content)))


def repeats(requests: tuple[Request, ...]) -> int:
    """Requests that asked again what had been answered; asking again after weather is none."""
    answered = sum(request.attempt > 0 and not request.is_struck for request in requests)
    return max(0, answered - sum(request.is_struck or request.failed for request in requests))


def opened(requests: tuple[Request, ...]) -> frozenset[str]:
    """URLs whose pages reached the agent."""
    return frozenset(url for request in requests if request.is_shown for url in request.opened)


def _no_session(response: Any) -> str:
    raise ValueError(f"HTTP {response.status_code} opens no session")


def _requests(told: Mapping[str, Any]) -> tuple[Request, ...]:
    return tuple(
        Request(
            *(int(row["step"]), int(row["status"]), int(row["attempt"]), int(row["bytes"])),
            tuple(str(one["query"]) for one in row["searches"]),
            tuple(str(one["url"]) for one in row["opened"]),
            frozenset(row["weather"]),
            bool(row["failed"]),
        )
        for row in told["requests"]
    )
