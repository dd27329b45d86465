"""One step of a session: the request, what came of it, and how both are recorded in the ledger and the traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_plus

import orjson

from webemu.api.http.errors import INFRASTRUCTURE
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.cached_world import CachedWorld
from webemu.emulator.keyed_random import KeyedRandom
from webemu.emulator.ledger import BudgetKind, Impression
from webemu.emulator.policy import Policy, policy_fingerprint
from webemu.emulator.request_world import RequestEvents, RequestWorld
from webemu.emulator.trace import Trace

MAX_URL_CHARS = 2000
"""Characters of a URL that are recorded."""


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """A session, looked up: its policy, world and randomness."""

    id: str
    policy: Policy
    world: CachedWorld
    """The world without what the policy blocks."""
    keyed_random: KeyedRandom


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


@dataclass(slots=True)
class Step:
    """One request of a session, while it is handled."""

    request: Request
    session: ActiveSession
    number: int
    """Number in the session, from 1."""
    attempt: int
    """Number of equal requests before it."""
    keyed_random: KeyedRandom
    """Randomness of this request at this attempt."""
    is_over_budget: bool
    """True if the session's budget of bytes was used up before this step."""
    usage: dict[BudgetKind, int] = field(default_factory=dict)
    """Usage that remains to be recorded when the step ends."""
    world: RequestWorld | None = None
    """World of this request. It is created once, even if the answer is tried again in a thread: what it charged stays
    charged.
    """
    events: RequestEvents = field(default_factory=RequestEvents)
    """Searches, opened pages and faults of this request."""
    delay_ms: float = 0.0


def has_failed(reply: Response | None) -> bool:
    """True if this server itself failed. No recorded header can claim that, whatever its name."""
    # Compare by identity: a recorded header may be equal, but only our own errors contain this very object.
    return reply is not None and any(header is INFRASTRUCTURE for header in reply.headers)


def render_ledger_entry(
    step: Step, service: str, reply: Response | None, impressions: Mapping[str, Impression]
) -> bytes:
    """Return the ledger entry of a step as JSON. Equal rollouts have equal entries: it holds no measured time."""
    fields: dict[str, Any] = {"step": step.number, "service": service, "method": step.request.method}
    fields["url"] = describe_target(step.request, service)[:MAX_URL_CHARS]
    fields |= {
        "attempt": step.attempt,
        "status": reply.status if reply else 0,
        "bytes": len(reply.body) if reply else 0,
    }
    fields["searches"] = [
        {"query": one.query, "first": one.first_rank, "results": one.result_urls} for one in step.events.searches
    ]
    fields["opened"] = [
        {"url": url} | ({"shown": impressions[url].step, "rank": impressions[url].rank} if url in impressions else {})
        for url in step.events.opened_urls
    ]
    fields |= {"weather": sorted(step.events.faults), "delay_ms": round(step.delay_ms, 3), "failed": has_failed(reply)}
    return orjson.dumps(fields)


def collect_impressions(step: Step) -> dict[str, int]:
    """Return the rank of every result that the step showed, by URL; the first one if a URL was shown more than once."""
    ranks: dict[str, int] = {}
    for search in step.events.searches:
        for rank, url in enumerate(search.result_urls, search.first_rank):
            ranks.setdefault(url, rank)
    return ranks


def build_traces(
    step: Step, service: str, reply: Response | None, impressions: Mapping[str, Impression], milliseconds: float
) -> tuple[Trace, ...]:
    """Return the trace rows of a step: one for each search and each opened page, else one for the request itself."""
    policy, events = step.session.policy, step.events
    referer = step.request.headers.get(b"referer", b"").decode("latin-1")[:MAX_URL_CHARS]

    def row(kind: str, query: str, url: str, first: int, results: tuple[str, ...], impression: Impression) -> Trace:
        return Trace(
            *(step.session.id, policy.task, policy.rollout, step.number, service, kind, query, url, referer, first),
            *(results, impression.step, impression.rank, reply.status if reply else 0, round(milliseconds, 3)),
            *(len(reply.body) if reply else 0, ",".join(sorted(events.faults)), has_failed(reply)),
        )

    not_shown = Impression(0, 0)
    rows = [row("search", one.query, "", one.first_rank, one.result_urls, not_shown) for one in events.searches]
    rows += [row("open", "", url, 0, (), impressions.get(url, not_shown)) for url in events.opened_urls]
    return tuple(rows) or (row("other", "", describe_target(step.request, service)[:MAX_URL_CHARS], 0, (), not_shown),)
