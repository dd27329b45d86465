"""Counters of one serving process: requests by route and status, their duration, searches and sessions."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import TypedDict
from urllib.parse import parse_qs

import psutil

from webemu.api.http.head import REASONS
from webemu.api.observe.history import History, RouteHistories, Slot
from webemu.api.observe.slow_requests import SlowRequest
from webemu.api.observe.vain_requests import VainRequests

BUCKET_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the duration histogram, in seconds; a bucket counts requests up to its bound and above the one
before.
"""


MAX_QUERIES, MAX_QUERY_CHARS, TOP_QUERIES = 4096, 300, 50
"""Distinct queries that are counted, characters of each, and frequent queries that a worker publishes."""
MAX_SESSIONS, RECENT_SESSIONS, ACTIVE_SECONDS = 10_000, 30, 60.0
"""Sessions that are remembered, sessions that a worker publishes with what they asked, and seconds after its last
request during which a session counts as active.
"""


class LatencyHistogram(TypedDict):
    """Durations of the requests of one route."""

    sum: float
    """Seconds in all."""
    buckets: list[int]
    """Requests by the bounds of `BUCKET_SECONDS`; the last bucket has those above all of them."""


class ProcessFigures(TypedDict):
    """Figures of one serving process."""

    pid: int
    uptime_seconds: float
    cpu_seconds: float
    resident_bytes: int
    requests: dict[str, dict[str, int]]
    """Number of requests by route and status."""
    seconds: dict[str, LatencyHistogram]
    """Durations by route."""
    dropped_headers: dict[str, int]


class SessionActivity(TypedDict):
    """Requests of a session to one worker."""

    requests: int
    last_time: float
    """Time of its last request, in seconds since the epoch."""


class WorkerFigures(TypedDict):
    """Figures of one worker, as it publishes them for the others."""

    process: ProcessFigures
    sections: dict[str, Mapping[str, int] | str]
    """Figures of other components of the process, by name."""
    queries: dict[str, int]
    """Most frequent searches, and their number."""
    sessions: list[str]
    """Sessions that were active in the last minute."""
    recent_sessions: dict[str, SessionActivity]
    """Sessions that made the last requests."""
    history: list[Slot]
    """Requests of the last hour, in slots of ten seconds."""
    route_history: dict[str, list[Slot]]
    """Requests of the last hour by route, in slots of one minute."""
    slow: list[SlowRequest]
    """Last slow requests."""
    vain: dict[str, dict[str, int]]
    """Searches without a result and URLs without a capture, with their numbers, by kind."""


class Counters:
    """Counters since the process began to serve."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._started = time.monotonic()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._dropped_headers = Counter(dict.fromkeys(REASONS, 0))
        self._lock = Lock()
        """Guards the queries, which are recorded from several threads."""
        self._queries: Counter[str | bytes] = Counter()
        self._sessions: dict[str, tuple[float, int]] = {}
        """Time of the last request and number of requests, by session; the last active ones at the end."""
        self._history = History()
        self._route_histories = RouteHistories()
        self.vain = VainRequests()
        """Searches and URLs that were asked in vain."""
        self.list_slow_requests: Callable[[], list[SlowRequest]] = list
        """Returns the last slow requests."""
        self.sections: dict[str, Callable[[], Mapping[str, int] | str]] = {}
        """Functions that return the figures of other components of the process, by name."""

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request under its route, status and duration.

        A route is an address of the API, the name of a service, or `other`: paths that clients make up must not fill
        the memory.
        """
        self._requests[route, status] += 1
        self._seconds[route] += seconds
        buckets = self._buckets.get(route)
        if buckets is None:
            buckets = self._buckets[route] = [0] * (len(BUCKET_SECONDS) + 1)
        buckets[bisect_left(BUCKET_SECONDS, seconds)] += 1

    def count_dropped_headers(self, reasons: Iterable[str]) -> None:
        """Count headers that were left out of a response, each under its reason."""
        self._dropped_headers.update(reasons)

    def record_query(self, query: str | bytes) -> None:
        """Count a search, by its text or by its query string as sent."""
        with self._lock:
            self._queries[query[:MAX_QUERY_CHARS]] += 1
            if len(self._queries) > MAX_QUERIES:
                self._queries = Counter(dict(self._queries.most_common(MAX_QUERIES // 2)))

    def record_session(self, session: str) -> None:
        """Remember that a session made a request now."""
        # Re-inserted at the end, so that the first entry is always the least recently active session.
        _, count = self._sessions.pop(session, (0.0, 0))
        self._sessions[session] = (time.time(), count + 1)
        if len(self._sessions) > MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]

    def worker_figures(self) -> WorkerFigures:
        """Return what `webemu.api.observe.worker_metrics` publishes: the figures, the most frequent searches, and the
        sessions active in the last minute.
        """
        query_counts: Counter[str] = Counter()
        with self._lock:
            common = self._queries.most_common(MAX_QUERIES // 8)
        for query, count in common:
            query_counts[_query_text(query)] += count
        now = time.time()
        totals_by_route = self._totals()
        self._history.record(now, self._sum_totals(totals_by_route.values()))
        for route, totals in totals_by_route.items():
            self._route_histories.record(now, route, totals)
        sessions = list(self._sessions.copy().items())
        return {
            "process": self._process_figures(),
            "sections": self._section_figures(),
            "queries": dict(query_counts.most_common(TOP_QUERIES)),
            "sessions": [session for session, (last, _) in sessions if last > now - ACTIVE_SECONDS],
            "recent_sessions": {
                session: {"requests": count, "last_time": last}
                for session, (last, count) in sessions[-RECENT_SESSIONS:]
            },
            "history": self._history.slots(),
            "route_history": self._route_histories.slots(now),
            "slow": self.list_slow_requests(),
            "vain": self.vain.most_frequent(),
        }

    def _totals(self) -> dict[str, list[int]]:
        """Return requests, failures of the server, and requests by duration, since the start, by route."""
        totals = {route: [sum(buckets), 0, *buckets] for route, buckets in self._buckets.copy().items()}
        for (route, status), count in self._requests.copy().items():
            if status >= 500 and route in totals:
                totals[route][1] += count
        return totals

    @staticmethod
    def _sum_totals(totals: Iterable[Sequence[int]]) -> list[int]:
        return [sum(column) for column in zip(*totals, strict=True)] or [0] * (len(BUCKET_SECONDS) + 3)

    def figures(self) -> dict[str, object]:
        """Return the figures of this process, for `/v1/stats`."""
        return {**self._process_figures(), **self._section_figures()}

    def _section_figures(self) -> dict[str, Mapping[str, int] | str]:
        return {name: figures() for name, figures in self.sections.items()}

    def _process_figures(self) -> ProcessFigures:
        requests: dict[str, dict[str, int]] = {}
        for (route, status), count in sorted(self._requests.items()):
            requests.setdefault(route, {})[str(status)] = count
        return {
            "pid": os.getpid(),
            "uptime_seconds": round(time.monotonic() - self._started, 1),
            "cpu_seconds": round(time.process_time(), 3),
            "resident_bytes": self._process.memory_info().rss,
            "requests": requests,
            "seconds": {
                route: {"sum": round(self._seconds[route], 6), "buckets": list(buckets)}
                for route, buckets in sorted(self._buckets.items())
            },
            "dropped_headers": dict(self._dropped_headers),
        }


def _query_text(query: str | bytes) -> str:
    """Return a query as valid UTF-8 text; of a query string, its parameter `q`."""
    if isinstance(query, str):
        return query.encode("utf-8", "replace").decode()  # JSON may contain lone surrogates
    return parse_qs(query.decode("ascii", "replace"), max_num_fields=50).get("q", [""])[0]
