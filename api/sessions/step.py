"""One step of a session: what it was asked by, what it came to, and how both are written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_plus

import orjson

from webemu.api.http.errors import INFRASTRUCTURE
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.cached_world import Shared
from webemu.emulator.keyed_random import Draws
from webemu.emulator.ledger import Kind, Place
from webemu.emulator.policy import Policy, identity
from webemu.emulator.request_world import Seen, Visit
from webemu.emulator.trace import Trace

MAX_URL = 2000


@dataclass(frozen=True, slots=True)
class Rules:
    """A session, looked up."""

    id: str
    policy: Policy
    world: Shared
    """Without what is blocked."""
    draws: Draws


def draws(policy: Policy) -> Draws:
    """Those of a session."""
    return Draws(f"{policy.seed}\0{identity(policy)}")


def address(request: Request, service: str) -> str:
    """Of a page of the web its URL, else what a service is asked; the session's own name is left out."""
    url = request.url if service == request.host else request.target
    return url.replace(request.session.name, "")


def asked(request: Request, service: str) -> bytes:
    """What makes two requests the same: all but headers, and which signs a client escapes."""
    target = f"{request.method} {service} {unquote_plus(address(request, service))}".encode("utf-8", "replace")
    return target + b"\0" + request.body.replace(request.session.name.encode(), b"")


@dataclass(slots=True)
class Step:
    """A request of a session on its way."""

    request: Request
    rules: Rules
    number: int
    attempt: int
    draws: Draws
    """About this request at this attempt."""
    is_spent: bool
    """Whether the session's budget of bytes was."""
    used: dict[Kind, int] = field(default_factory=dict)
    """What is to be written down of what it used."""
    visit: Visit | None = None
    """Made once, also where it is answered in a thread after all: what it counted once is counted."""
    seen: Seen = field(default_factory=Seen)
    delay_ms: float = 0.0


def has_failed(reply: Reply | None) -> bool:
    """True if the server itself failed. No header of a page can say so, whatever it is called."""
    # The very object, not an equal one: only the server's own errors bear it.
    return reply is not None and any(header is INFRASTRUCTURE for header in reply.headers)


def entry(step: Step, service: str, reply: Reply | None, places: Mapping[str, Place]) -> bytes:
    """The step in the ledger: nothing that two equal rollouts would not have alike."""
    told: dict[str, Any] = {"step": step.number, "service": service, "method": step.request.method}
    told["url"] = address(step.request, service)[:MAX_URL]
    told |= {"attempt": step.attempt, "status": reply.status if reply else 0, "bytes": len(reply.body) if reply else 0}
    told["searches"] = [{"query": one.query, "first": one.first, "results": one.shown} for one in step.seen.searches]
    told["opened"] = [
        {"url": url} | ({"shown": places[url].step, "rank": places[url].rank} if url in places else {})
        for url in step.seen.opened
    ]
    told |= {"weather": sorted(step.seen.weather), "delay_ms": round(step.delay_ms, 3), "failed": has_failed(reply)}
    return orjson.dumps(told)


def shown(step: Step) -> dict[str, int]:
    """Rank of every result that the step showed."""
    ranks: dict[str, int] = {}
    for search in step.seen.searches:
        for rank, url in enumerate(search.shown, search.first):
            ranks.setdefault(url, rank)
    return ranks


def traces(
    step: Step, service: str, reply: Reply | None, places: Mapping[str, Place], milliseconds: float
) -> tuple[Trace, ...]:
    """A row for each search and each page, at least one."""
    policy, seen = step.rules.policy, step.seen
    referer = step.request.headers.get(b"referer", b"").decode("latin-1")[:MAX_URL]

    def row(kind: str, query: str, url: str, first: int, results: tuple[str, ...], place: Place) -> Trace:
        return Trace(
            *(step.rules.id, policy.task, policy.rollout, step.number, service, kind, query, url, referer, first),
            *(results, place.step, place.rank, reply.status if reply else 0, round(milliseconds, 3)),
            *(len(reply.body) if reply else 0, ",".join(sorted(seen.weather)), has_failed(reply)),
        )

    nowhere = Place(0, 0)
    rows = [row("search", one.query, "", one.first, one.shown, nowhere) for one in seen.searches]
    rows += [row("open", "", url, 0, (), places.get(url, nowhere)) for url in seen.opened]
    return tuple(rows) or (row("other", "", address(step.request, service)[:MAX_URL], 0, (), nowhere),)
