"""Figures of a run: exact percentiles, rates and costs from the samples, as JSON and as text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil

from webemu.api.bench.connection import LOST, NO_ANSWER, NOT_CONNECTED, NOT_HTTP
from webemu.api.bench.load import Samples
from webemu.api.bench.report import (
    CostFigures,
    EngineReport,
    KindFigures,
    LatencyFigures,
    LoadFigures,
    Report,
    SecondFigures,
    ServerFigures,
)
from webemu.api.bench.request_factory import KINDS

CURVE_QUANTILES = [*(number / 100 for number in range(100)), 0.995, 0.999, 0.9995, 0.9999, 1.0]
"""Quantiles of the latency curve, for plots."""
FAILURE_NAMES = {LOST: "connection lost", NO_ANSWER: "no answer", NOT_CONNECTED: "no connection", NOT_HTTP: "no HTTP"}
"""Names of failures that have no HTTP status."""


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed (nearest rank).

    `ordered` must be sorted and not empty.
    """
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def merge_samples(samples_by_process: Sequence[Samples]) -> Samples:
    """Merge the samples of several processes that sent at the same time."""
    merged = Samples()
    for samples in samples_by_process:
        for name in ("kinds", "statuses", "due", "took"):
            getattr(merged, name).extend(getattr(samples, name))
        merged.received += samples.received
        merged.cpu += samples.cpu
        merged.wall, merged.late = max(merged.wall, samples.wall), max(merged.late, samples.late)
    return merged


def is_success(status: int) -> bool:
    """True for a 2xx status."""
    return 200 <= status < 300


def latency_figures(durations: Iterable[float]) -> LatencyFigures:
    """Return the usual percentiles, the mean and the whole curve in milliseconds; empty without samples.

    `durations` holds seconds.
    """
    ordered = sorted(1e3 * one for one in durations)
    if not ordered:
        return {}
    return {
        "p50_ms": round(quantile(ordered, 0.5), 4),
        "p90_ms": round(quantile(ordered, 0.9), 4),
        "p99_ms": round(quantile(ordered, 0.99), 4),
        "p999_ms": round(quantile(ordered, 0.999), 4),
        "max_ms": round(ordered[-1], 4),
        "mean_ms": round(sum(ordered) / len(ordered), 4),
        "curve_ms": [[share, round(quantile(ordered, share), 4)] for share in CURVE_QUANTILES],
    }


def summarize(samples: Samples) -> LoadFigures:
    """Summarize samples: rates and latencies of the good answers, overall, by kind and by second, and failures by
    status.
    """
    rows = list(zip(samples.kinds, samples.statuses, samples.due, samples.took, strict=True))
    good = [row for row in rows if is_success(row[1])]
    failures = Counter(FAILURE_NAMES.get(row[1], str(row[1])) for row in rows if not is_success(row[1]))
    return {
        "requests": len(rows),
        "good": len(good),
        "errors": dict(sorted(failures.items())),
        "wall_s": round(samples.wall, 4),
        "per_s": round(len(good) / samples.wall, 2),
        "received_mb": round(samples.received / 1e6, 3),
        "late_ms": round(1e3 * samples.late, 3),
        "latency": latency_figures(row[3] for row in good),
        "kinds": _figures_by_kind(good),
        "seconds": _figures_by_second(good),
    }


def _figures_by_kind(good: Sequence[tuple[int, int, float, float]]) -> dict[str, KindFigures]:
    """Return count and latency for each kind of request that had a good answer."""
    figures: dict[str, KindFigures] = {}
    for kind in sorted({row[0] for row in good}):
        durations = [row[3] for row in good if row[0] == kind]
        figures[KINDS[kind]] = {"good": len(durations), **latency_figures(durations)}
    return figures


def _figures_by_second(good: Sequence[tuple[int, int, float, float]]) -> list[SecondFigures]:
    """Return count and latency for each second of the run, by the second in which the answers came."""
    by_second: dict[int, list[float]] = {}
    for _, _, due, took in good:
        by_second.setdefault(int(due + took), []).append(1e3 * took)
    return [
        {
            "second": second,
            "answers": len(took),
            "p50_ms": quantile(sorted(took), 0.5),
            "p99_ms": quantile(sorted(took), 0.99),
        }
        for second, took in sorted(by_second.items())
    ]


def cost_figures(requests: int, cpu: float, wall: float) -> CostFigures:
    """Return what processes spent for `requests` good answers: `cpu` CPU seconds in a run of `wall` seconds."""
    return {
        "cpu_s": round(cpu, 4),
        "us_per_request": round(1e6 * cpu / max(requests, 1), 2),
        "per_core_s": round(requests / cpu, 1) if cpu else 0.0,
        "cores": round(cpu / wall, 3),
    }


def format_lines(report: Report) -> list[str]:
    """Format a report as lines of text for people."""
    server = report["server"]
    return [
        *_format_load(report["load"]),
        *(_format_server(server) if server["cpu_s"] is not None else []),
        _format_cost("client", report["client"]),
        _format_engine(report["engine"]),
        *(f"note      {note}" for note in report["notes"]),
    ]


def _format_load(load: LoadFigures) -> list[str]:
    """Format answers and latencies, by kind if there are several kinds, and the failures."""
    head = f"{'':<10}{'answers':>10}{'per second':>12}{'p50':>10}{'p90':>10}{'p99':>10}{'p99.9':>10}{'max':>10}  ms"
    rows = [(name, figures["good"], figures) for name, figures in load["kinds"].items()]
    latency_rows: list[tuple[str, int, LatencyFigures]] = [*rows] if len(rows) > 1 else []
    latency_rows.append(("all" if len(rows) > 1 else next(iter(load["kinds"]), ""), load["good"], load["latency"]))
    failure_text = ", ".join(f"{count:,} x {name}" for name, count in load["errors"].items())
    return [
        head,
        *(
            f"{name:<10}{count:>10,}{count / load['wall_s']:>12,.1f}{_format_percentiles(latency)}"
            for name, count, latency in latency_rows
        ),
        f"{'errors':<10}{failure_text or 'none'}",
    ]


def _format_percentiles(latency: LatencyFigures) -> str:
    """Format the percentiles as the cells of a table."""
    tail = (latency["p99_ms"], latency["p999_ms"], latency["max_ms"])
    return "".join(f"{milliseconds:>10,.2f}" for milliseconds in (latency["p50_ms"], latency["p90_ms"], *tail))


def _format_server(server: ServerFigures) -> list[str]:
    """Format CPU time, reads and memory of a server on this machine."""
    lines = [_format_cost("server", server) + f"; {server['disk_mb']:,.1f} MB read from disk"]
    if server["queries_per_core_s"]:
        lines.append(f"{'':<10}{server['queries_per_core_s']:,.0f} queries per core-second")
    memory_text = (
        f"{'memory':<10}{server['anonymous_mb']:,.0f} MB anonymous, {server['own_mb']:,.0f} MB no other process has"
        f" (USS), {server['resident_mb']:,.0f} MB with mapped files (RSS)"
    )
    return [*lines, memory_text]


def _format_engine(engine: EngineReport) -> str:
    """Format the speed of the engine alone, or why it was not measured."""
    if "reason" in engine:
        return f"{'engine':<10}not measured: {engine['reason']}"
    baseline = f"{engine['per_core_s']:,.0f} queries per core-second alone, p50 {engine['p50_us']:,.0f} us"
    ratio = f"; the server reaches {engine['ratio']:.2f} of it" if "ratio" in engine else ""
    return f"{'engine':<10}{baseline}{ratio}"


def _format_cost(name: str, cost_row: CostFigures) -> str:
    rate, us_per_request = cost_row["per_core_s"], cost_row["us_per_request"]
    rate_text = f"{rate:,.0f}" if rate > 10 else f"{rate:.2f}"
    return (
        f"{name:<10}{rate_text} requests per core-second, {us_per_request:,.0f} us each; {cost_row['cores']:.2f} cores"
    )


def format_json(report: Report) -> str:
    """Return a report as indented JSON."""
    return json.dumps(report, indent=1) + "\n"
