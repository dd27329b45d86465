"""Parsed ledger of a session (docs/sessions.md): the log that the server keeps of its requests. Rewards trust no other
log, since the agent cannot write to this one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from webemu.agent_client.calls import ApiCall
from webemu.agent_client.responses import Response

FAULTS = frozenset({"timeout", "error", "rate-limit", "reset", "truncated"})
"""Kinds of weather that replace the whole answer of a request (emulator/weather.py)."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a session, as the server logged it."""

    step: int
    """Number of the step within the session."""
    status: int
    """HTTP status; 0 if the server sent no answer."""
    attempt: int
    """Number of earlier requests that were identical."""
    bytes: int
    """Size of the answer in bytes."""
    searches: tuple[str, ...]
    """Queries of its searches."""
    opened: tuple[str, ...]
    """URLs of the captures that it reached."""
    weather: frozenset[str]
    """Kinds of weather that hit it."""
    failed: bool
    """True if the server itself was at fault."""

    @property
    def had_fault(self) -> bool:
        """True if injected weather replaced the whole answer."""
        return not self.failed and bool(self.weather & FAULTS)

    @property
    def is_lost(self) -> bool:
        """True if injected weather kept the web's answer from the client. Rate limits do not count: they are an
        answer.
        """
        return not self.failed and bool(self.weather & FAULTS - {"rate-limit"})

    @property
    def reached_agent(self) -> bool:
        """True if the answer reached the agent in full."""
        return self.status == 200 and not self.failed and not self.had_fault


class _SearchRow(TypedDict):
    query: str


class _OpenedRow(TypedDict):
    url: str


class _RequestRow(TypedDict):
    """Entry of the ledger in JSON, without the fields that rewards do not read."""

    step: int
    status: int
    attempt: int
    bytes: int
    searches: list[_SearchRow]
    opened: list[_OpenedRow]
    weather: list[str]
    failed: bool


class _SessionReport(TypedDict):
    """Answer of `GET /v1/sessions/{id}`, without the fields that rewards do not read."""

    requests: list[_RequestRow]


class OpenSessionCall(ApiCall[str]):
    """API call `POST /v1/sessions`, whose success has status 201."""

    def parse_response(self, response: Response) -> str:
        """Return the id of the new session. Raises like every `ApiCall` on other statuses."""
        if response.status_code == 201:
            return str(json.loads(response.content)["session"])
        return ApiCall.parse_response(self, response)


def open_session_call(policy: Mapping[str, object]) -> ApiCall[str]:
    """Return the API call that opens a session under a policy; its result is the session id."""
    return OpenSessionCall("/v1/sessions", _raise_no_session, json.dumps(policy).encode())


def session_report_call(session: str) -> ApiCall[tuple[Request, ...]]:
    """Return the API call that reads the ledger of a session; its result is the requests so far, in order."""
    return ApiCall(f"/v1/sessions/{session}", lambda response: _parse_requests(json.loads(response.content)))


def count_repeats(requests: tuple[Request, ...]) -> int:
    """Return how many requests repeated one that had been answered. A retry after a fault does not count."""
    # The first retry after a fault also has attempt > 0, so each fault excuses one repetition.
    answered = sum(request.attempt > 0 and not request.had_fault for request in requests)
    return max(0, answered - sum(request.had_fault or request.failed for request in requests))


def find_opened_urls(requests: tuple[Request, ...]) -> frozenset[str]:
    """Return the URLs whose pages reached the agent."""
    return frozenset(url for request in requests if request.reached_agent for url in request.opened)


def _raise_no_session(response: Response) -> str:
    raise ValueError(f"POST /v1/sessions must answer 201, got HTTP {response.status_code}")


def _parse_requests(report: _SessionReport) -> tuple[Request, ...]:
    return tuple(
        Request(
            *(int(row["step"]), int(row["status"]), int(row["attempt"]), int(row["bytes"])),
            tuple(str(one["query"]) for one in row["searches"]),
            tuple(str(one["url"]) for one in row["opened"]),
            frozenset(row["weather"]),
            bool(row["failed"]),
        )
        for row in report["requests"]
    )
