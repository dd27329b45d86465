"""Checks and figures of a run of `benchmarks.soak`, from its observations alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import linear_regression, median
from typing import NamedTuple

from benchmarks.soak_run import ProcessSample, SoakRun

WARMUP_SECONDS = 60.0
"""Seconds at the beginning of a process's life in which growth is not measured, or three quarters of a longer run: what
is remembered of sessions is bounded, but takes long to fill up.
"""
MIN_SLOPE_SECONDS = 120.0
"""Seconds of samples that a slope needs."""
MAX_GROWTH_MB = 6.0
"""Greatest growth of a process over a whole run in MB, as its slope tells. Bounded structures may still fill up."""
MAX_GROWTH_MB_PER_MINUTE = 2.0
"""Greatest growth in MB per minute in short runs."""
WINDOW_SECONDS = 300.0
"""Seconds at the start and at the end of a run whose latencies are compared."""
MAX_P99_RATIO = 1.2
"""Greatest ratio of the p99 of the last window to that of the first."""
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
    slopes = measure_growth(run.process_samples, max(WARMUP_SECONDS, run.plan.seconds * 3 / 4))
    results = [
        _check_errors(run),
        _check_kills(run),
        _check_mixed_answers(run),
        _check_references(run),
        _check_sessions(run),
        _check_switches(run),
        _check_metrics(run),
        _check_growth(slopes, run.plan.minutes),
        _check_descriptors(run),
        _check_latency(run),
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
    client_total, metrics_total = sum(client_counts.values()), sum(metrics_counts.values())
    rude_total, reset_count = sum(run.rude_requests.values()), len(run.observations.broken_requests)
    unpublished_total = sum(one.unpublished_count for one in run.kills)
    too_many = [
        place_label
        for place_label in client_counts
        if metrics_counts[place_label] > client_counts[place_label] + reset_count + run.rude_requests[place_label]
    ]
    message = (
        f"clients {client_total}, /metrics {metrics_total}: {client_total - metrics_total} "
        f"fewer; {unpublished_total} were untold, {reset_count} unanswered, {rude_total} sent by clients that left"
    )
    return Check(
        "metrics add up",
        client_total - unpublished_total <= metrics_total <= client_total + reset_count + rude_total and not too_many,
        message,
    )


def measure_growth(samples: Sequence[ProcessSample], warmup: float) -> dict[str, float]:
    """Return the growth in MB per minute of each long-lived process from the age of `warmup` seconds on.

    Short-lived workers are compared at the same age, by the time at which they lived: `workers of 10-20 s`. Processes
    with too few samples are left out.
    """
    slopes = {}
    for pid in dict.fromkeys(one.pid for one in samples):
        warm = [one for one in samples if one.pid == pid and one.age > warmup]
        if warm and warm[-1].elapsed - warm[0].elapsed >= MIN_SLOPE_SECONDS:
            slopes[f"{warm[0].kind} {pid}"] = _fit_slope(warm)
    young = [one for one in samples if one.kind == "worker" and 10 < one.age < 20]
    if young and young[-1].elapsed - young[0].elapsed >= MIN_SLOPE_SECONDS:
        slopes["workers of 10-20 s"] = _fit_slope(young)
    return slopes


def _fit_slope(samples: Sequence[ProcessSample]) -> float:
    """Return the growth of memory in MB per minute."""
    minutes, megabytes = [one.elapsed / 60 for one in samples], [one.memory_bytes / 1e6 for one in samples]
    return linear_regression(minutes, megabytes).slope


def _check_growth(slopes: dict[str, float], minutes: float) -> Check:
    """Check that no process grows."""
    limit = min(MAX_GROWTH_MB_PER_MINUTE, MAX_GROWTH_MB / minutes)
    slope_texts = ", ".join(f"{name} {slope:+.2f}" for name, slope in slopes.items()) or "too short to tell"
    return Check("memory does not grow", all(slope < limit for slope in slopes.values()), f"MB a minute: {slope_texts}")


def _check_descriptors(run: SoakRun) -> Check:
    """Check that workers hold no more file descriptors at the end of a long run than at its start.

    A worker's connections come and go, so the greatest numbers of two windows are compared, with a tenth of tolerance.
    """
    windows = [
        [one.descriptors for one in run.process_samples if one.kind == "worker" and start <= one.elapsed < end]
        for start, end in _list_windows(run)
    ]
    if not all(windows):
        return Check("descriptors are flat", True, "too short to tell")
    first, last = (max(numbers) for numbers in windows)
    return Check(
        "descriptors are flat", last <= 1.1 * first, f"at most {first} in the first minutes, {last} in the last"
    )


def _check_latency(run: SoakRun) -> Check:
    """Check that answers take as long at the end of a long run as at its start."""
    observed = run.observations
    windows = [
        [
            seconds
            for moment, seconds in zip(observed.answered_at, observed.answer_seconds, strict=True)
            if start <= moment - run.started_at < end
        ]
        for start, end in _list_windows(run)
    ]
    if not all(windows):
        return Check("answers take no longer", True, "too short to tell")
    first, last = (compute_percentiles(seconds)["p99"] for seconds in windows)
    return Check(
        "answers take no longer",
        last <= MAX_P99_RATIO * first,
        f"p99 {first} ms in the first minutes, {last} ms in the last: {last / first:.2f}",
    )


def _list_windows(run: SoakRun) -> list[tuple[float, float]]:
    """Return the seconds from the start between which a long run begins and ends; none in a run that is short."""
    if run.plan.seconds < 2 * WINDOW_SECONDS:
        return [(0.0, 0.0)]
    return [(0.0, WINDOW_SECONDS), (run.plan.seconds - WINDOW_SECONDS, run.plan.seconds)]


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
        kind: [one.memory_bytes / 1e6 for one in run.process_samples if one.kind == kind]
        for kind in ("supervisor", "worker")
    }
    replaced = [one.replaced_after_seconds for one in run.kills if one.replaced_after_seconds is not None]
    return {
        "connections": run.plan.connections,
        "seconds": round(run.wall, 1),
        "answers": answered,
        "answers a second": round(answered / run.wall, 1),
        "kills": len(run.kills),
        "rude connections": dict(sorted(run.rude_connections.items())),
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
