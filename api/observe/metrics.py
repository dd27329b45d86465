"""`GET /metrics`: the figures of all workers in Prometheus' text format (version 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from webemu.api.http.head import REASONS
from webemu.api.observe.counters import BUCKETS
from webemu.api.observe.worker_metrics import Figures, living, requests, times, total

KIND = b"text/plain; version=0.0.4; charset=utf-8"
"""Content type of the text format."""
_COUNTED = (
    ("cpu_seconds", "Seconds of processor.", ("cpu_seconds",)),
    ("cache_hits", "Answers and work that were remembered.", ("cache", "hits")),
    ("cache_misses", "Answers and work that were not.", ("cache", "misses")),
    ("traces_taken", "Rows of traces that were written or will be.", ("traces", "taken")),
    ("traces_lost", "Rows of traces that were not.", ("traces", "lost")),
)
"""Counters, summed over all workers that ever ran: metric name, help text, path in the figures."""
_STANDING = (
    ("resident_bytes", "Memory, with what is mapped of files.", ("resident_bytes",)),
    ("cache_bytes", "Memory of what is remembered.", ("cache", "bytes")),
    ("waiting_requests", "Requests that wait for a thread or have one.", ("pool", "waiting")),
)
"""Gauges, summed over the workers that are alive: metric name, help text, path in the figures."""


class _All(Collector):
    """Prometheus collector of the figures of all workers."""

    def __init__(self, all_of: Sequence[Figures], world: Mapping[str, Any]) -> None:
        self._all, self._world = all_of, world

    def collect(self) -> Iterator[Metric]:
        answered = CounterMetricFamily("webemu_requests", "Requests answered.", labels=["place", "status"])
        for labels, number in sorted(requests(self._all).items()):
            answered.add_metric(labels, number)
        yield answered
        spent = HistogramMetricFamily(
            "webemu_request_seconds", "From the head of a request to its answer.", labels=["place"]
        )
        bounds = [*map(str, BUCKETS), "+Inf"]
        for place, (seconds, buckets) in sorted(times(self._all).items()):
            spent.add_metric([place], list(zip(bounds, map(float, accumulate(buckets)), strict=True)), seconds)
        yield spent
        for name, said, path in _COUNTED:
            yield CounterMetricFamily(f"webemu_{name}", said, value=total(self._all, *path))
        dropped = CounterMetricFamily("webemu_dropped_headers", "Headers left out of answers.", labels=["reason"])
        for reason in REASONS:
            dropped.add_metric([reason], total(self._all, "dropped_headers", reason))
        yield dropped
        now = living(self._all)
        for name, said, path in _STANDING:
            yield GaugeMetricFamily(f"webemu_{name}", said, value=total(now, *path))
        yield GaugeMetricFamily("webemu_workers", "Serving processes.", value=len(now))
        yield from self._served()

    def _served(self) -> Iterator[Metric]:
        """Yield the metrics of the snapshot that is served; without one, only its empty info metric."""
        for name in ("documents", "captures"):
            if name in self._world:
                yield GaugeMetricFamily(f"webemu_{name}", f"The snapshot's {name}.", value=self._world[name])
        served = GaugeMetricFamily("webemu_snapshot_info", "What is served.", labels=["collection", "snapshot"])
        if "snapshot" in self._world:
            served.add_metric([str(self._world.get("collection", "")), str(self._world["snapshot"])], 1)
        yield served


def render(all_of: Sequence[Figures], world: Mapping[str, Any]) -> bytes:
    """Return the metrics page. `world` describes the snapshot that is served; it is empty while there is none."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_All(all_of, world))
    return generate_latest(registry)
