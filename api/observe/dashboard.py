"""`/dashboard`: activity of the server, now and over the last hour, for people on the trainer's side.

The page requests `/dashboard/figures` every second. The history is the server's, so that it is there when a page opens.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

import orjson

from webemu.api.http.response import ApiResponse
from webemu.api.observe.counters import BUCKET_SECONDS, SessionActivity, WorkerFigures
from webemu.api.observe.history import ROUTE_SLOT_SECONDS, SLOT_SECONDS, merge_histories
from webemu.api.observe.slow_requests import SlowRequest
from webemu.api.observe.worker_metrics import (
    count_requests,
    live_workers,
    merge_latency_histograms,
    sum_figure,
)

HTML = b"text/html; charset=utf-8"
TOP_QUERIES = 12
"""Number of frequent searches, and of things asked in vain, that are shown."""
MAX_SLOW, MAX_SESSIONS = 20, 30
"""Numbers of slow requests and of sessions that are shown."""
_POLICY = (
    "default-src 'none'; style-src '{style}'; script-src '{script}'; connect-src 'self'; img-src 'self';"
    " frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


@cache
def render_page() -> ApiResponse:
    """Return the HTML page, which never changes. Its Content-Security-Policy allows its own style and script only."""
    folder = files("webemu.api.pages").joinpath("templates")
    parts = {name: folder.joinpath(f"dashboard.{name}").read_text() for name in ("html", "css", "js")}
    body = parts["html"].replace("/*style*/", parts["css"]).replace("/*script*/", parts["js"]).encode()
    policy = _POLICY.format(style=_hash_for_csp(parts["css"]), script=_hash_for_csp(parts["js"]))
    headers = (
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
    )
    return ApiResponse(body, content_type=HTML, headers=headers)


def _hash_for_csp(text: str) -> str:
    """Return the hash source of a Content-Security-Policy for an inline script or style."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def render_figures(
    per_worker: Sequence[WorkerFigures], world: Mapping[str, object], ingest: Mapping[str, object]
) -> bytes:
    """Return sums over all workers as JSON; the page computes rates from the differences.

    `world` describes the snapshot that is served, empty while there is none; `ingest` says what `webemu ingest` does
    to the collection.
    """
    query_counts: Counter[str] = Counter()
    for worker in per_worker:
        query_counts.update(worker["queries"])
    live = live_workers(per_worker)
    statuses_by_route: dict[str, dict[str, int]] = {}
    for (route, status), count in count_requests(per_worker).items():
        statuses_by_route.setdefault(route, {})[status] = count
    histograms = merge_latency_histograms(per_worker)
    payload = {
        "world": dict(world),
        "ingest": dict(ingest),
        "now": time.time(),
        "slot_seconds": SLOT_SECONDS,
        "history": merge_histories(worker["history"] for worker in per_worker),
        "route_slot_seconds": ROUTE_SLOT_SECONDS,
        "route_history": {
            route: merge_histories(worker["route_history"].get(route, ()) for worker in per_worker)
            for route in sorted({route for worker in per_worker for route in worker["route_history"]})
        },
        "slow": sorted((one for worker in per_worker for one in worker["slow"]), key=_time_of, reverse=True)[:MAX_SLOW],
        "vain": {kind: _sum_vain(per_worker, kind) for kind in ("search", "url")},
        "recent_sessions": _merge_sessions(per_worker),
        "bounds": BUCKET_SECONDS,
        "places": {
            route: {"statuses": statuses, "buckets": histograms[route]["buckets"]}
            for route, statuses in statuses_by_route.items()
        },
        "queries": query_counts.most_common(TOP_QUERIES),
        "sessions": len({session for worker in live for session in worker["sessions"]}),
        "workers": len(live),
        "cpu_seconds": sum_figure(per_worker, "cpu_seconds"),
        "resident_bytes": sum_figure(live, "resident_bytes"),
        "cache": {name: sum_figure(per_worker, "cache", name) for name in ("hits", "misses")},
        "cache_bytes": sum_figure(live, "cache", "bytes"),
        "waiting": sum_figure(live, "pool", "waiting"),
        "traces_lost": sum_figure(per_worker, "traces", "lost"),
    }
    return orjson.dumps(payload)


def _time_of(request: SlowRequest) -> float:
    return request["time"]


def _sum_vain(per_worker: Sequence[WorkerFigures], kind: str) -> list[tuple[str, int]]:
    """Return what was asked in vain most often over all workers."""
    counts: Counter[str] = Counter()
    for worker in per_worker:
        counts.update(worker["vain"].get(kind, {}))
    return counts.most_common(TOP_QUERIES)


def _merge_sessions(per_worker: Sequence[WorkerFigures]) -> list[tuple[str, SessionActivity]]:
    """Return the sessions that asked last, the latest first, with their requests to all workers."""
    merged: dict[str, SessionActivity] = {}
    for session, activity in (item for worker in per_worker for item in worker["recent_sessions"].items()):
        before = merged.get(session, {"requests": 0, "last_time": 0.0})
        merged[session] = {
            "requests": before["requests"] + activity["requests"],
            "last_time": max(before["last_time"], activity["last_time"]),
        }
    latest_first = sorted(merged.items(), key=lambda item: item[1]["last_time"], reverse=True)
    return latest_first[:MAX_SESSIONS]
