"""Checks and figures of a run of `benchmarks.soak`, from its observations alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import linear_regression, median
from typing import NamedTuple

from benchmarks.soak_run import SoakRun

WARMUP_SECONDS = 60.0
"""Seconds at the beginning of a process's life in which growth is not measured."""
MIN_SLOPE_SECONDS = 120.0
"""Seconds of samples that a slope needs."""
MAX_GROWTH_MB_PER_MINUTE = 2.0
"""Greatest growth in MB per minute. Bounded structures (caches, remembered sessions) may still fill up."""
SETTLING_SECONDS = 30.0
"""Seconds within which clients see the end of a killed worker's connections, even if all processors are busy."""


class Check(NamedTuple):
    """One property of a run."""

    name: str
    holds: bool
    message: str
    """Figures that the check is based on."""


def run_checks(run: SoakRun) -> tuple[list[Check], dict[str, object]]:
    """Return all checks, and the figures of the run."""
    slopes = measure_growth(run.memory_samples)
    results = [
        _check_errors(run),
        _check_kills(run),
        _check_mixed_answers(run),
        _check_references(run),
        _check_sessions(run),
        _check_switches(run),
        _check_metrics(run),
        _check_growth(slopes),
    ]
    return results, _compute_figures(run, slopes)


def _check_errors(run: SoakRun) -> Check:
    """Check that no answer is an error and no request was lost."""
    error_texts = [
        f"{number} x {description}" for description, number in run.observations.errors.most_common(5)
    ] + run.observations.lost_requests[:5]
    total, lost_count = sum(run.observations.errors.values()), len(run.observations.lost_requests)
    return Check(
        "no error", not error_texts, f"{total} answers are errors, {lost_count} requests lost {' '.join(error_texts)}"
    )


def _check_kills(run: SoakRun) -> Check:
    """Check that connections ended during a request only if their own worker was killed."""
    unexplained_count, requests_by_kill = 0, Counter[int]()
    for moment, port in run.observations.broken_requests:
        kills = [
            n
            for n, one in enumerate(run.kills)
            if port in one.client_ports and -0.5 < moment - one.time < SETTLING_SECONDS
        ]
        if kills:
            requests_by_kill[kills[0]] += 1
        else:
            unexplained_count += 1
    shares = ", ".join(f"{requests_by_kill[n]}/{len(one.client_ports)}" for n, one in enumerate(run.kills[:12]))
    message = (
        f"{len(run.kills)} kills ended {sum(requests_by_kill.values())} requests, {unexplained_count} ended otherwise"
    )
    return Check(
        "kills lose only what was in flight", unexplained_count == 0, f"{message}; of its connections: {shares}"
    )


def _check_mixed_answers(run: SoakRun) -> Check:
    """Check that a request has one answer per snapshot."""
    mixed = [
        request.request_bytes[:80]
        for (request, snapshot), digests in run.observations.digests.items()
        if snapshot and len(digests) > 1
    ]
    return Check("one snapshot, one request, one answer", not mixed, f"{len(mixed)} mixed {mixed[:3] or ''}")


def _check_references(run: SoakRun) -> Check:
    """Check that answers equal those of a fresh server; those that name no snapshot may be of either."""
    wrong = []
    for (request, snapshot), digests in run.observations.digests.items():
        snapshots = [snapshot] if snapshot else run.snapshots
        if not digests <= {run.reference_digests.get((request, one)) for one in snapshots}:
            wrong.append((request.kind, request.request_bytes[:80], snapshot))
    message = f"{len(run.observations.digests)} different answers compared, {len(wrong)} are others {wrong[:3] or ''}"
    return Check("answers are those of a fresh server", not wrong, message)


def _check_sessions(run: SoakRun) -> Check:
    """Check that sessions stay on their snapshot and count their steps."""
    observations = run.observations
    message = (
        f"{observations.session_count} sessions, {observations.wrong_snapshot_count} "
        f"answers of another snapshot, {len(observations.miscounted_sessions)} miscounted"
    )
    return Check(
        "sessions stay",
        not observations.wrong_snapshot_count and not observations.miscounted_sessions,
        f"{message} {observations.miscounted_sessions[:3] or ''}",
    )


def _check_switches(run: SoakRun) -> Check:
    """Check that all switches of the snapshot were seen."""
    times = [f"{seconds:.1f}" for _, seconds in run.seen_switches]
    holds = len(run.seen_switches) == 1 + run.plan.switches and len(set(run.snapshots)) == 2
    return Check("snapshots were switched", holds, f"{len(times)} times; seen after {', '.join(times)} s")


def _check_metrics(run: SoakRun) -> Check:
    """Check that `/metrics` counts what clients counted.

    Workers publish their counts every second, so a killed one loses those since.
    """
    client_counts = Counter[str]()
    for (place_label, _), number in run.observations.statuses.items():
        client_counts[place_label] += number
    metrics_counts = Counter[str]()
    for (place_label, _), number in run.server_counts.items():
        metrics_counts[place_label] += number
    metrics_counts = Counter({place_label: metrics_counts[place_label] for place_label in client_counts})
    client_total, metrics_total, reset_count = (
        sum(client_counts.values()),
        sum(metrics_counts.values()),
        len(run.observations.broken_requests),
    )
    unpublished_total = sum(one.unpublished_count for one in run.kills)
    too_many = [
        place_label
        for place_label in client_counts
        if metrics_counts[place_label] > client_counts[place_label] + reset_count
    ]
    message = (
        f"clients {client_total}, /metrics {metrics_total}: {client_total - metrics_total} "
        f"fewer; {unpublished_total} were untold, {reset_count} unanswered"
    )
    return Check(
        "metrics add up",
        client_total - unpublished_total <= metrics_total <= client_total + reset_count and not too_many,
        message,
    )


def measure_growth(memory: Sequence[tuple[float, int, str, float, int]]) -> dict[str, float]:
    """Return the growth in MB per minute of each long-lived process once it was warm.

    Short-lived workers are compared at the same age, by the time at which they lived: `workers of 10-20 s`. Processes
    with too few samples are left out.
    """
    slopes = {}
    for pid in dict.fromkeys(one[1] for one in memory):
        samples = [
            (elapsed / 60, memory_bytes / 1e6, kind)
            for elapsed, number, kind, age, memory_bytes in memory
            if number == pid and age > WARMUP_SECONDS
        ]
        if samples and (samples[-1][0] - samples[0][0]) * 60 >= MIN_SLOPE_SECONDS:
            slopes[f"{samples[0][2]} {pid}"] = linear_regression(
                [a for a, _, _ in samples], [b for _, b, _ in samples]
            ).slope
    young = [
        (elapsed / 60, memory_bytes / 1e6)
        for elapsed, _, kind, age, memory_bytes in memory
        if kind == "worker" and 10 < age < 20
    ]
    if young and (young[-1][0] - young[0][0]) * 60 >= MIN_SLOPE_SECONDS:
        slopes["workers of 10-20 s"] = linear_regression([a for a, _ in young], [b for _, b in young]).slope
    return slopes


def _check_growth(slopes: dict[str, float]) -> Check:
    """Check that no process grows."""
    slope_texts = ", ".join(f"{name} {slope:+.2f}" for name, slope in slopes.items()) or "too short to tell"
    return Check(
        "memory does not grow",
        all(slope < MAX_GROWTH_MB_PER_MINUTE for slope in slopes.values()),
        f"MB a minute: {slope_texts}",
    )


def compute_percentiles(times: Sequence[float]) -> dict[str, float]:
    """Return percentiles and maximum of times in seconds, as milliseconds by name."""
    sorted_times = sorted(times)
    fractions = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
    figures = {
        name: round(1e3 * sorted_times[min(len(sorted_times) - 1, int(len(sorted_times) * fraction))], 1)
        for name, fraction in fractions.items()
    }
    return {**figures, "max": round(1e3 * sorted_times[-1], 1)}


def _compute_figures(run: SoakRun, slopes: dict[str, float]) -> dict[str, object]:
    """Return the figures of the run by name, as JSON."""
    answered = sum(run.observations.statuses.values())
    all_times = [one for times in run.observations.seconds_by_kind.values() for one in times]
    memory_by_kind = {
        kind: [memory_bytes / 1e6 for _, _, process_kind, _, memory_bytes in run.memory_samples if process_kind == kind]
        for kind in ("supervisor", "worker")
    }
    replaced = [one.replaced_after_seconds for one in run.kills if one.replaced_after_seconds is not None]
    return {
        "connections": run.plan.connections,
        "seconds": round(run.wall, 1),
        "answers": answered,
        "answers a second": round(answered / run.wall, 1),
        "kills": len(run.kills),
        "requests resent": len(run.observations.broken_requests),
        "worker replaced s": {"p50": round(median(replaced), 2), "max": round(max(replaced), 2)} if replaced else None,
        "ingest beside s": round(run.ingest_seconds, 1),
        "client cpu s": round(run.client_cpu, 1),
        "own memory mb": {
            kind: {"first": round(megabytes[0], 1), "last": round(megabytes[-1], 1), "max": round(max(megabytes), 1)}
            for kind, megabytes in memory_by_kind.items()
            if megabytes
        },
        "growth mb a minute": {name: round(slope, 3) for name, slope in slopes.items()},
        "latency ms": {"all": compute_percentiles(all_times)}
        | {kind: compute_percentiles(times) for kind, times in sorted(run.observations.seconds_by_kind.items())},
    }
