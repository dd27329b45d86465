"""`GET /metrics`: the figures of all workers in Prometheus' text format (version 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from operator import itemgetter

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from webemu.api.http.head import REASONS
from webemu.api.observe.counters import BUCKET_SECONDS, WorkerFigures
from webemu.api.observe.worker_metrics import (
    count_requests,
    live_workers,
    merge_latency_histograms,
    sum_figure,
)

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
"""Content type of the text format."""
_COUNTERS = (
    ("cpu_seconds", "Seconds of processor.", ("cpu_seconds",)),
    ("cache_hits", "Answers and work that were remembered.", ("cache", "hits")),
    ("cache_misses", "Answers and work that were not.", ("cache", "misses")),
    ("traces_taken", "Rows of traces that were written or will be.", ("traces", "taken")),
    ("traces_lost", "Rows of traces that were not.", ("traces", "lost")),
)
"""Counters, summed over all workers that ever ran: metric name, help text, path in the figures."""
_GAUGES = (
    ("resident_bytes", "Memory, with what is mapped of files.", ("resident_bytes",)),
    ("cache_bytes", "Memory of what is remembered.", ("cache", "bytes")),
    ("waiting_requests", "Requests that wait for a thread or have one.", ("pool", "waiting")),
)
"""Gauges, summed over the workers that are alive: metric name, help text, path in the figures."""


class _WorkerCollector(Collector):
    """Prometheus collector of the figures of all workers."""

    def __init__(self, per_worker: Sequence[WorkerFigures], world: Mapping[str, object]) -> None:
        self._per_worker, self._world = per_worker, world

    def collect(self) -> Iterator[Metric]:
        request_counter = CounterMetricFamily("webemu_requests", "Requests answered.", labels=["place", "status"])
        for labels, count in sorted(count_requests(self._per_worker).items()):
            request_counter.add_metric(labels, count)
        yield request_counter
        latency_histogram = HistogramMetricFamily(
            "webemu_request_seconds", "From the head of a request to its answer.", labels=["place"]
        )
        bounds = [*map(str, BUCKET_SECONDS), "+Inf"]
        for route, histogram in sorted(merge_latency_histograms(self._per_worker).items(), key=itemgetter(0)):
            counts = map(float, accumulate(histogram["buckets"]))
            latency_histogram.add_metric([route], list(zip(bounds, counts, strict=True)), histogram["sum"])
        yield latency_histogram
        for name, help_text, path in _COUNTERS:
            yield CounterMetricFamily(f"webemu_{name}", help_text, value=sum_figure(self._per_worker, *path))
        dropped = CounterMetricFamily("webemu_dropped_headers", "Headers left out of answers.", labels=["reason"])
        for reason in REASONS:
            dropped.add_metric([reason], sum_figure(self._per_worker, "dropped_headers", reason))
        yield dropped
        live = live_workers(self._per_worker)
        for name, help_text, path in _GAUGES:
            yield GaugeMetricFamily(f"webemu_{name}", help_text, value=sum_figure(live, *path))
        yield GaugeMetricFamily("webemu_workers", "Serving processes.", value=len(live))
        yield from self._snapshot_metrics()

    def _snapshot_metrics(self) -> Iterator[Metric]:
        """Yield the metrics of the snapshot that is served; without one, only its empty info metric."""
        for name in ("documents", "captures"):
            if isinstance(count := self._world.get(name), int):
                yield GaugeMetricFamily(f"webemu_{name}", f"The snapshot's {name}.", value=count)
        snapshot_info = GaugeMetricFamily("webemu_snapshot_info", "What is served.", labels=["collection", "snapshot"])
        if "snapshot" in self._world:
            snapshot_info.add_metric([str(self._world.get("collection", "")), str(self._world["snapshot"])], 1)
        yield snapshot_info


def render(per_worker: Sequence[WorkerFigures], world: Mapping[str, object]) -> bytes:
    """Return the metrics page. `world` describes the snapshot that is served; it is empty while there is none."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_WorkerCollector(per_worker, world))
    return generate_latest(registry)
