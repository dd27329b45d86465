"""Figures of all workers of a server: each writes its own to a shared folder every second, and any of them can sum up.

The file of a worker that died remains with its last figures, so that no sum ever decreases.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from webemu.api.observe.counters import LatencyHistogram, WorkerFigures

WRITE_SECONDS = 1.0
"""Seconds between two writes."""


class MetricsAggregator:
    """Reads and writes the figures of the workers. Without a folder this process is the only worker."""

    def __init__(self, local_figures: Callable[[], WorkerFigures], folder: Path | None) -> None:
        self._local_figures = local_figures
        self._folder = folder

    def write(self) -> None:
        """Write the figures of this worker for the others to read."""
        figures = self._local_figures()  # a lone worker records its history by this
        if self._folder is None:
            return
        temporary = self._folder / f"{os.getpid()}.part"
        with suppress(OSError):  # the folder is deleted when the server stops
            # Written aside and renamed, so that no reader sees half a file.
            temporary.write_text(json.dumps(figures))
            temporary.replace(self._folder / f"{os.getpid()}.json")

    def read(self) -> list[WorkerFigures]:
        """Return the figures of every worker that ever ran, this one first."""
        per_worker = [self._local_figures()]
        for path in sorted(self._folder.glob("*.json")) if self._folder else ():
            if path.stem != str(os.getpid()):
                with suppress(OSError, ValueError):
                    per_worker.append(json.loads(path.read_text()))
        return per_worker


def live_workers(per_worker: Sequence[WorkerFigures]) -> list[WorkerFigures]:
    """Return the figures of the workers whose process still exists."""
    return [one for one in per_worker if _is_alive(one["process"]["pid"])]


def _is_alive(pid: int) -> bool:
    """True if there is a process with this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def sum_figure(per_worker: Sequence[WorkerFigures], *names: str) -> float:
    """Return the sum of one figure over the workers, named by its path; absent ones count as 0.

    sum_figure(per_worker, "cache", "hits")
    """
    return sum(_read_figure(one, names) for one in per_worker)


def _read_figure(worker: WorkerFigures, names: Sequence[str]) -> float:
    figure: object = {**worker["process"], **worker["sections"]}
    for name in names:
        figure = figure.get(name) if isinstance(figure, Mapping) else None
    return figure if isinstance(figure, int | float) else 0


def count_requests(per_worker: Sequence[WorkerFigures]) -> dict[tuple[str, str], int]:
    """Return the number of requests by route and status, over all workers."""
    counts: dict[tuple[str, str], int] = {}
    for worker in per_worker:
        for route, statuses in worker["process"]["requests"].items():
            for status, count in statuses.items():
                counts[route, status] = counts.get((route, status), 0) + count
    return counts


def merge_latency_histograms(per_worker: Sequence[WorkerFigures]) -> dict[str, LatencyHistogram]:
    """Return the durations by route, over all workers."""
    histograms: dict[str, LatencyHistogram] = {}
    for worker in per_worker:
        for route, histogram in worker["process"]["seconds"].items():
            total = histograms.get(route, {"sum": 0.0, "buckets": [0] * len(histogram["buckets"])})
            added = [a + b for a, b in zip(total["buckets"], histogram["buckets"], strict=True)]
            histograms[route] = {"sum": total["sum"] + histogram["sum"], "buckets": added}
    return histograms
