"""Figures of a run: exact percentiles, rates and costs from the samples, as JSON and as text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any

from webemu.api.bench.connection import CONNECTING, GARBLED, LOST, SILENT
from webemu.api.bench.load import Samples
from webemu.api.bench.request_factory import KINDS

POINTS = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "p999_ms": 0.999, "max_ms": 1.0}
"""Percentiles that every report holds."""
CURVE = [*(number / 100 for number in range(100)), 0.995, 0.999, 0.9995, 0.9999, 1.0]
"""Quantiles of the latency curve, for plots."""
FAILURES = {LOST: "connection lost", SILENT: "no answer", CONNECTING: "no connection", GARBLED: "no HTTP"}
"""Names of failures that have no HTTP status."""


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed (nearest rank).

    `ordered` must be sorted and not empty.
    """
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def joined(parts: Sequence[Samples]) -> Samples:
    """Merge the samples of several processes that sent at the same time."""
    whole = Samples()
    for part in parts:
        for name in ("kinds", "statuses", "due", "took"):
            getattr(whole, name).extend(getattr(part, name))
        whole.received += part.received
        whole.cpu += part.cpu
        whole.wall, whole.late = max(whole.wall, part.wall), max(whole.late, part.late)
    return whole


def is_good(status: int) -> bool:
    """True for a 2xx status."""
    return 200 <= status < 300


def latencies(took: Iterable[float]) -> dict[str, Any]:
    """Return the usual percentiles, the mean and the whole curve in milliseconds; empty without samples.

    `took` holds seconds.
    """
    ordered = sorted(1e3 * one for one in took)
    if not ordered:
        return {}
    told: dict[str, Any] = {name: round(quantile(ordered, share), 4) for name, share in POINTS.items()}
    told["mean_ms"] = round(sum(ordered) / len(ordered), 4)
    return told | {"curve_ms": [[share, round(quantile(ordered, share), 4)] for share in CURVE]}


def described(samples: Samples) -> dict[str, Any]:
    """Summarize samples: rates and latencies of the good answers, overall, by kind and by second, and failures by
    status.
    """
    rows = list(zip(samples.kinds, samples.statuses, samples.due, samples.took, strict=True))
    good = [row for row in rows if is_good(row[1])]
    bad = Counter(FAILURES.get(row[1], str(row[1])) for row in rows if not is_good(row[1]))
    kinds = sorted({row[0] for row in good})
    return {
        "requests": len(rows),
        "good": len(good),
        "errors": dict(sorted(bad.items())),
        "wall_s": round(samples.wall, 4),
        "per_s": round(len(good) / samples.wall, 2),
        "received_mb": round(samples.received / 1e6, 3),
        "late_ms": round(1e3 * samples.late, 3),
        "latency": latencies(row[3] for row in good),
        "kinds": {
            KINDS[kind]: {"good": len(of_kind)} | latencies(row[3] for row in of_kind)
            for kind in kinds
            if (of_kind := [row for row in good if row[0] == kind])
        },
        "seconds": _seconds(good),
    }


def _seconds(good: Sequence[tuple[int, int, float, float]]) -> list[dict[str, float]]:
    """Return count and latency for each second of the run, by the second in which the answers came."""
    by_second: dict[int, list[float]] = {}
    for _, _, due, took in good:
        by_second.setdefault(int(due + took), []).append(1e3 * took)
    return [
        {
            "second": at,
            "answers": len(took),
            "p50_ms": quantile(sorted(took), 0.5),
            "p99_ms": quantile(sorted(took), 0.99),
        }
        for at, took in sorted(by_second.items())
    ]


def costs(requests: int, cpu: float) -> dict[str, float]:
    """Return what a process spent: CPU seconds, CPU microseconds per request, and requests per CPU second."""
    return {
        "cpu_s": round(cpu, 4),
        "us_per_request": round(1e6 * cpu / max(requests, 1), 2),
        "per_core_s": round(requests / cpu, 1) if cpu else 0.0,
    }


def lines(told: Mapping[str, Any]) -> list[str]:
    """Format a report as lines of text for people."""
    load, server, client, engine = told["load"], told["server"], told["client"], told["engine"]
    shown = [f"{'':<10}{'answers':>10}{'per second':>12}{'p50':>10}{'p90':>10}{'p99':>10}{'p99.9':>10}{'max':>10}  ms"]
    kinds = load["kinds"] if len(load["kinds"]) > 1 else {}
    for name, one in [*kinds.items(), (next(iter(load["kinds"]), "") if not kinds else "all", load["latency"])]:
        count = one.get("good", load["good"])
        points = "".join(f"{one[point]:>10,.2f}" for point in POINTS)
        shown.append(f"{name:<10}{count:>10,}{count / load['wall_s']:>12,.1f}{points}")
    failed = ", ".join(f"{count:,} x {name}" for name, count in load["errors"].items())
    shown.append(f"{'errors':<10}{failed or 'none'}")
    if server["cpu_s"] is not None:
        shown.append(_cost("server", server) + f"; {server['disk_mb']:,.1f} MB read from disk")
        if server["queries_per_core_s"]:
            shown.append(f"{'':<10}{server['queries_per_core_s']:,.0f} queries per core-second")
        shown.append(
            f"{'memory':<10}{server['anonymous_mb']:,.0f} MB anonymous, {server['own_mb']:,.0f} MB no other process has"
            f" (USS), {server['resident_mb']:,.0f} MB with mapped files (RSS)"
        )
    shown.append(_cost("client", client))
    if engine.get("per_core_s"):
        told_of = f"{engine['per_core_s']:,.0f} queries per core-second alone, p50 {engine['p50_us']:,.0f} us"
        ratio = f"; the server reaches {engine['ratio']:.2f} of it" if "ratio" in engine else ""
        shown.append(f"{'engine':<10}{told_of}{ratio}")
    else:
        shown.append(f"{'engine':<10}not measured: {engine['reason']}")
    return shown + [f"note      {one}" for one in told["notes"]]


def _cost(name: str, of: Mapping[str, Any]) -> str:
    rate, each = of["per_core_s"], of["us_per_request"]
    shown = f"{rate:,.0f}" if rate > 10 else f"{rate:.2f}"
    return f"{name:<10}{shown} requests per core-second, {each:,.0f} us each; {of['cores']:.2f} cores"


def written(told: Mapping[str, Any]) -> str:
    """Return a report as indented JSON."""
    return json.dumps(told, indent=1) + "\n"
