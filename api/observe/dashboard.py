"""`/dashboard`: current activity of the server, for people. The page requests `/dashboard/figures` every second."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import orjson

from webemu.api.http.response import Answer
from webemu.api.observe.counters import BUCKETS
from webemu.api.observe.worker_metrics import Figures, living, requests, times, total

HTML = b"text/html; charset=utf-8"
TOP = 12
"""Number of frequent searches that are shown."""
_POLICY = (
    "default-src 'none'; style-src '{style}'; script-src '{script}'; connect-src 'self'; img-src 'self';"
    " frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


@cache
def page() -> Answer:
    """Return the HTML page, which never changes. Its Content-Security-Policy allows its own style and script only."""
    folder = files("webemu.api.pages").joinpath("templates")
    parts = {name: folder.joinpath(f"dashboard.{name}").read_text() for name in ("html", "css", "js")}
    body = parts["html"].replace("/*style*/", parts["css"]).replace("/*script*/", parts["js"]).encode()
    policy = _POLICY.format(style=_hashed(parts["css"]), script=_hashed(parts["js"]))
    headers = (
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
    )
    return Answer(body, kind=HTML, headers=headers)


def _hashed(text: str) -> str:
    """Return the hash source of a Content-Security-Policy for an inline script or style."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def figures(all_of: Sequence[Figures], world: Mapping[str, Any]) -> bytes:
    """Return sums over all workers as JSON; the page computes rates from the differences.

    `world` describes the snapshot that is served; it is empty while there is none.
    """
    searched: Counter[str] = Counter()
    for one in all_of:
        searched.update(one["queries"])
    now = living(all_of)
    places: dict[str, dict[str, Any]] = {}
    for (place, status), number in requests(all_of).items():
        places.setdefault(place, {"statuses": {}, "buckets": []})["statuses"][status] = number
    for place, (_, buckets) in times(all_of).items():
        places[place]["buckets"] = buckets
    made = {
        "world": dict(world),
        "bounds": BUCKETS,
        "places": places,
        "queries": searched.most_common(TOP),
        "sessions": len({session for one in now for session in one["sessions"]}),
        "workers": len(now),
        "cpu_seconds": total(all_of, "cpu_seconds"),
        "resident_bytes": total(now, "resident_bytes"),
        "cache": {name: total(all_of, "cache", name) for name in ("hits", "misses")},
        "cache_bytes": total(now, "cache", "bytes"),
        "waiting": total(now, "pool", "waiting"),
        "traces_lost": total(all_of, "traces", "lost"),
    }
    return orjson.dumps(made)
