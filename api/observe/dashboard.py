"""`/dashboard`: current activity of the server, for people. The page requests `/dashboard/figures` every second."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

import orjson

from webemu.api.http.response import ApiResponse
from webemu.api.observe.counters import BUCKET_SECONDS, WorkerFigures
from webemu.api.observe.worker_metrics import (
    count_requests,
    live_workers,
    merge_latency_histograms,
    sum_figure,
)

HTML = b"text/html; charset=utf-8"
TOP_QUERIES = 12
"""Number of frequent searches that are shown."""
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


def render_figures(per_worker: Sequence[WorkerFigures], world: Mapping[str, object]) -> bytes:
    """Return sums over all workers as JSON; the page computes rates from the differences.

    `world` describes the snapshot that is served; it is empty while there is none.
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
