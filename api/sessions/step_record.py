"""Records of a finished step: its entry in the ledger and its rows in the traces.

Equal rollouts have equal entries, so an entry holds no measured time. The traces hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import orjson

from webemu.api.http.errors import INFRASTRUCTURE
from webemu.api.http.response import Response
from webemu.api.sessions.step import FinishedStep, describe_target
from webemu.emulator.ledger import Impression, Ledger
from webemu.emulator.request_world import RequestEvents
from webemu.emulator.trace import Trace, Traces

MAX_URL_CHARS = 2000
"""Characters of a URL that are recorded."""
_NOT_SHOWN = Impression(0, 0)
"""Impression of a page that no search has shown."""


class StepEntry(TypedDict):
    """Ledger entry of a step, as stored in JSON and reported by `GET /v1/sessions/<session>`."""

    step: int
    service: str
    method: str
    url: str
    attempt: int
    status: int
    bytes: int
    searches: list[dict[str, object]]
    opened: list[dict[str, object]]
    weather: tuple[str, ...]
    delay_ms: float
    failed: bool


def record_step(finished: FinishedStep, ledger: Ledger, traces: Traces) -> None:
    """Record a step in the ledger and in the traces."""
    session, world = finished.step.session.id, finished.step.world
    opened_urls = tuple(world.events.opened_urls)
    impressions = ledger.find_impressions(session, opened_urls) if opened_urls else {}
    response_bytes = len(finished.reply.body) if finished.reply else 0
    ledger.finish_step(
        session,
        finished.step.started.number,
        orjson.dumps(build_entry(finished, impressions)),
        collect_impressions(world.events),
        {**world.budget.unlimited_usage, "bytes": response_bytes},
    )
    world.budget.add_bytes(response_bytes)
    traces.put(build_traces(finished, impressions))


def has_failed(reply: Response | None) -> bool:
    """True if this server itself failed. No recorded header can claim that, whatever its name."""
    # Compare by identity: a recorded header may be equal, but only our own errors contain this very object.
    return reply is not None and any(header is INFRASTRUCTURE for header in reply.headers)


def build_entry(finished: FinishedStep, impressions: Mapping[str, Impression]) -> StepEntry:
    """Return the ledger entry of a step. `impressions` says where its opened pages were last shown."""
    step, reply = finished.step, finished.reply
    return {
        "step": step.started.number,
        "service": step.arrival.responder.service,
        "method": step.request.method,
        "url": _describe_step_target(finished),
        "attempt": step.started.attempt,
        "status": reply.status if reply else 0,
        "bytes": len(reply.body) if reply else 0,
        "searches": [
            {"query": one.query, "first": one.first_rank, "results": one.result_urls}
            for one in step.world.events.searches
        ],
        "opened": [_build_opened(url, impressions.get(url)) for url in step.world.events.opened_urls],
        "weather": finished.faults,
        "delay_ms": round(step.world.weather.delay_ms, 3),
        "failed": has_failed(reply),
    }


def _describe_step_target(finished: FinishedStep) -> str:
    return describe_target(finished.step.request, finished.step.arrival.responder.service)[:MAX_URL_CHARS]


def _build_opened(url: str, impression: Impression | None) -> dict[str, object]:
    """Return an opened page with the step and rank that showed it last, if any did."""
    return {"url": url} if impression is None else {"url": url, "shown": impression.step, "rank": impression.rank}


def collect_impressions(events: RequestEvents) -> dict[str, int]:
    """Return the rank of every result that the step showed, by URL; the first one if a URL was shown more than once."""
    ranks: dict[str, int] = {}
    for search in events.searches:
        for rank, url in enumerate(search.result_urls, search.first_rank):
            ranks.setdefault(url, rank)
    return ranks


def build_traces(finished: FinishedStep, impressions: Mapping[str, Impression]) -> tuple[Trace, ...]:
    """Return the trace rows of a step: one for each search, opened page and missing page, else one for the request
    itself.
    """
    events = finished.step.world.events
    common = _build_common_trace(finished)
    rows = [
        common._replace(kind="search", query=one.query, first=one.first_rank, shown=one.result_urls)
        for one in events.searches
    ]
    for url in events.opened_urls:
        impression = impressions.get(url, _NOT_SHOWN)
        rows.append(common._replace(kind="open", url=url, shown_step=impression.step, rank=impression.rank))
    rows.extend(common._replace(kind="miss", url=url[:MAX_URL_CHARS]) for url in events.missed_urls)
    return tuple(rows) or (common._replace(url=_describe_step_target(finished)),)


def _build_common_trace(finished: FinishedStep) -> Trace:
    """Return the trace row of a request that searched nothing and opened no page, without its URL."""
    step, reply, policy = finished.step, finished.reply, finished.step.session.policy
    return Trace(
        session=step.session.id,
        task=policy.task,
        rollout=policy.rollout,
        step=step.started.number,
        service=step.arrival.responder.service,
        kind="other",
        query="",
        url="",
        referer=step.request.headers.get(b"referer", b"").decode("latin-1")[:MAX_URL_CHARS],
        first=0,
        shown=(),
        shown_step=_NOT_SHOWN.step,
        rank=_NOT_SHOWN.rank,
        status=reply.status if reply else 0,
        milliseconds=round(finished.milliseconds, 3),
        bytes=len(reply.body) if reply else 0,
        weather=",".join(finished.faults),
        failed=has_failed(reply),
    )
