"""OpenAPI models of the session routes, for the documentation only. No response is rendered by them."""

from __future__ import annotations

from pydantic import BaseModel, Field


class SessionPolicy(BaseModel):
    """A policy; every member may be left out. More: docs/sessions.md."""

    task: str = ""
    rollout: str = ""
    snapshot: str = Field("", description="Snapshot id; by default the one that is served now.")
    as_of: str | None = Field(None, description="Time of the session: pages captured later do not exist.")
    seed: int = 0
    marks: bool = Field(True, description="True if responses carry X-Webemu-* headers.")
    strict: bool = Field(False, description="True if phrases and +words bind though few pages have them.")
    snippet: str = Field("", description="short, long or passage: snippets of every search; else as requests ask.")
    blocked: dict[str, list[str]] = Field({}, examples=[{"domains": ["example.org"]}])
    budget: dict[str, int] = Field({}, examples=[{"searches": 10, "fetches": 20}])
    weather: dict[str, object] = Field(
        {}, examples=[{"rate_limits": 0.02, "latency": {"kind": "lognormal", "ms": 300}}]
    )


class OpenedSession(BaseModel):
    """Response of `POST /v1/sessions`."""

    session: str = Field(description="Id to send in X-Webemu-Session, as API key, or as proxy user name.")
    path: str = Field(description="Prefix for paths of this server; requests below it belong to the session.")
    snapshot: str
    policy: dict[str, object] = Field(description="The policy as understood, without defaults.")


class SessionStep(BaseModel):
    """One request of a session."""

    step: int
    service: str
    method: str
    url: str
    attempt: int = Field(description="Number of equal requests before.")
    status: int = Field(description="HTTP status; 0 if no response was sent.")
    bytes: int
    searches: list[dict[str, object]]
    opened: list[dict[str, object]] = Field(description="Opened pages, with the step and rank that showed them last.")
    weather: list[str] = Field(description="Injected faults.")
    delay_ms: float
    failed: bool = Field(description="True if the server itself failed.")


class SessionReport(BaseModel):
    """Response of `GET /v1/sessions/<session>`."""

    session: str
    snapshot: str
    policy: dict[str, object]
    steps: int
    spent: dict[str, int]
    left: dict[str, int | None] = Field(description="Remaining budget by kind; null if unlimited.")
    faults: dict[str, int] = Field(description="Injected faults by kind, in the requests below.")
    failures: int = Field(description="Failures of the server itself, in the requests below.")
    requests: list[SessionStep]
    next: int | None = Field(description="`from` of the rest; null at the end.")
