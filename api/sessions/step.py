"""One step of a session: the request, what came of it, and how both are recorded in the ledger and the traces."""

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
"""Characters of a URL that are recorded."""


@dataclass(frozen=True, slots=True)
class Rules:
    """A session, looked up: its policy, world and randomness."""

    id: str
    policy: Policy
    world: Shared
    """The world without what the policy blocks."""
    draws: Draws


def draws(policy: Policy) -> Draws:
    """Return the randomness of a session: its seed, keyed by its policy."""
    return Draws(f"{policy.seed}\0{identity(policy)}")


def address(request: Request, service: str) -> str:
    """Return the URL of a page of the web, or the path and query sent to a service, without the session's own name."""
    url = request.url if service == request.host else request.target
    return url.replace(request.session.name, "")  # equal requests of two sessions must look equal


def asked(request: Request, service: str) -> bytes:
    """Return bytes that are equal for equal requests: headers and the choice of percent-escapes do not matter."""
    target = f"{request.method} {service} {unquote_plus(address(request, service))}".encode("utf-8", "replace")
    return target + b"\0" + request.body.replace(request.session.name.encode(), b"")


@dataclass(slots=True)
class Step:
    """One request of a session, while it is handled."""

    request: Request
    rules: Rules
    number: int
    """Number in the session, from 1."""
    attempt: int
    """Number of equal requests before it."""
    draws: Draws
    """Randomness of this request at this attempt."""
    is_spent: bool
    """True if the session's budget of bytes was used up before this step."""
    used: dict[Kind, int] = field(default_factory=dict)
    """Usage that remains to be recorded when the step ends."""
    visit: Visit | None = None
    """World of this request. It is created once, even if the answer is tried again in a thread: what it charged stays
    charged.
    """
    seen: Seen = field(default_factory=Seen)
    """Searches, opened pages and faults of this request."""
    delay_ms: float = 0.0


def has_failed(reply: Reply | None) -> bool:
    """True if this server itself failed. No recorded header can claim that, whatever its name."""
    # Compare by identity: a recorded header may be equal, but only our own errors contain this very object.
    return reply is not None and any(header is INFRASTRUCTURE for header in reply.headers)


def entry(step: Step, service: str, reply: Reply | None, places: Mapping[str, Place]) -> bytes:
    """Return the ledger entry of a step as JSON. Equal rollouts have equal entries: it holds no measured time."""
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
    """Return the rank of every result that the step showed, by URL; the first one if a URL was shown more than once."""
    ranks: dict[str, int] = {}
    for search in step.seen.searches:
        for rank, url in enumerate(search.shown, search.first):
            ranks.setdefault(url, rank)
    return ranks


def traces(
    step: Step, service: str, reply: Reply | None, places: Mapping[str, Place], milliseconds: float
) -> tuple[Trace, ...]:
    """Return the trace rows of a step: one for each search and each opened page, else one for the request itself."""
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
