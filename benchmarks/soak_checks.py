"""Checks and figures of a run of `benchmarks.soak`, from its observations alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import linear_regression, median
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from benchmarks.soak import Run

WARM = 60.0
"""Seconds at the beginning of a process's life in which growth is not measured."""
LONG = 120.0
"""Seconds of samples that a slope needs."""
GROWTH_MB = 2.0
"""Greatest growth in MB per minute. Bounded structures (caches, remembered sessions) may still fill up."""
SETTLING = 30.0
"""Seconds within which clients see the end of a killed worker's connections, even if all processors are busy."""


class Check(NamedTuple):
    """One property of a run."""

    name: str
    holds: bool
    said: str
    """Figures that the check is based on."""


def checks(run: Run) -> tuple[list[Check], dict[str, Any]]:
    """Return all checks, and the figures of the run."""
    slopes = growth(run.memory)
    found = [
        _no_errors(run),
        _own_requests(run),
        _not_mixed(run),
        _as_referred(run),
        _sessions(run),
        _switched(run),
        _added_up(run),
        _grown(slopes),
    ]
    return found, _figures(run, slopes)


def _no_errors(run: Run) -> Check:
    """Check that no answer is an error and no request was lost."""
    wrong = [f"{number} x {said}" for said, number in run.seen.errors.most_common(5)] + run.seen.lost[:5]
    total, lost = sum(run.seen.errors.values()), len(run.seen.lost)
    return Check("no error", not wrong, f"{total} answers are errors, {lost} requests lost {' '.join(wrong)}")


def _own_requests(run: Run) -> Check:
    """Check that connections ended during a request only if their own worker was killed."""
    strange, of_kill = 0, Counter[int]()
    for moment, port in run.seen.resets:
        kills = [n for n, one in enumerate(run.kills) if port in one.ports and -0.5 < moment - one.time < SETTLING]
        if kills:
            of_kill[kills[0]] += 1
        else:
            strange += 1
    most = ", ".join(f"{of_kill[n]}/{len(one.ports)}" for n, one in enumerate(run.kills[:12]))
    said = f"{len(run.kills)} kills ended {sum(of_kill.values())} requests, {strange} ended otherwise"
    return Check("kills lose only what was in flight", strange == 0, f"{said}; of its connections: {most}")


def _not_mixed(run: Run) -> Check:
    """Check that a request has one answer per snapshot."""
    mixed = [ask.sent[:80] for (ask, snapshot), got in run.seen.digests.items() if snapshot and len(got) > 1]
    return Check("one snapshot, one request, one answer", not mixed, f"{len(mixed)} mixed {mixed[:3] or ''}")


def _as_referred(run: Run) -> Check:
    """Check that answers equal those of a fresh server; those that name no snapshot may be of either."""
    wrong = []
    for (ask, snapshot), got in run.seen.digests.items():
        named = [snapshot] if snapshot else run.snapshots
        if not got <= {run.references.get((ask, one)) for one in named}:
            wrong.append((ask.kind, ask.sent[:80], snapshot))
    said = f"{len(run.seen.digests)} different answers compared, {len(wrong)} are others {wrong[:3] or ''}"
    return Check("answers are those of a fresh server", not wrong, said)


def _sessions(run: Run) -> Check:
    """Check that sessions stay on their snapshot and count their steps."""
    seen = run.seen
    said = f"{seen.sessions} sessions, {seen.moved} answers of another snapshot, {len(seen.miscounted)} miscounted"
    return Check("sessions stay", not seen.moved and not seen.miscounted, f"{said} {seen.miscounted[:3] or ''}")


def _switched(run: Run) -> Check:
    """Check that all switches of the snapshot were seen."""
    times = [f"{seconds:.1f}" for _, seconds in run.followed]
    holds = len(run.followed) == 1 + run.plan.switches and len(set(run.snapshots)) == 2
    return Check("snapshots were switched", holds, f"{len(times)} times; seen after {', '.join(times)} s")


def _added_up(run: Run) -> Check:
    """Check that `/metrics` counts what clients counted.

    Workers publish their counts every second, so a killed one loses those since.
    """
    ours = Counter[str]()
    for (place, _), number in run.seen.statuses.items():
        ours[place] += number
    theirs = Counter[str]()
    for (place, _), number in run.counted.items():
        theirs[place] += number
    theirs = Counter({place: theirs[place] for place in ours})
    got, told, resets = sum(ours.values()), sum(theirs.values()), len(run.seen.resets)
    untold = sum(one.untold for one in run.kills)
    too_many = [place for place in ours if theirs[place] > ours[place] + resets]
    said = f"clients {got}, /metrics {told}: {got - told} fewer; {untold} were untold, {resets} unanswered"
    return Check("metrics add up", got - untold <= told <= got + resets and not too_many, said)


def growth(memory: Sequence[tuple[float, int, str, float, int]]) -> dict[str, float]:
    """Return the growth in MB per minute of each long-lived process once it was warm.

    Short-lived workers are compared at the same age, by the time at which they lived: `workers of 10-20 s`. Processes
    with too few samples are left out.
    """
    found = {}
    for pid in dict.fromkeys(one[1] for one in memory):
        of_it = [(at / 60, own / 1e6, kind) for at, number, kind, age, own in memory if number == pid and age > WARM]
        if of_it and (of_it[-1][0] - of_it[0][0]) * 60 >= LONG:
            found[f"{of_it[0][2]} {pid}"] = linear_regression([a for a, _, _ in of_it], [b for _, b, _ in of_it]).slope
    young = [(at / 60, own / 1e6) for at, _, kind, age, own in memory if kind == "worker" and 10 < age < 20]
    if young and (young[-1][0] - young[0][0]) * 60 >= LONG:
        found["workers of 10-20 s"] = linear_regression([a for a, _ in young], [b for _, b in young]).slope
    return found


def _grown(slopes: dict[str, float]) -> Check:
    """Check that no process grows."""
    said = ", ".join(f"{name} {slope:+.2f}" for name, slope in slopes.items()) or "too short to tell"
    return Check("memory does not grow", all(slope < GROWTH_MB for slope in slopes.values()), f"MB a minute: {said}")


def percentiles(times: Sequence[float]) -> dict[str, float]:
    """Return percentiles and maximum of times in seconds, as milliseconds by name."""
    ordered = sorted(times)
    at = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
    told = {name: round(1e3 * ordered[min(len(ordered) - 1, int(len(ordered) * part))], 1) for name, part in at.items()}
    return {**told, "max": round(1e3 * ordered[-1], 1)}


def _figures(run: Run, slopes: dict[str, float]) -> dict[str, Any]:
    """Return the figures of the run by name, as JSON."""
    answered = sum(run.seen.statuses.values())
    everything = [one for times in run.seen.seconds.values() for one in times]
    last = {kind: [own / 1e6 for _, _, what, _, own in run.memory if what == kind] for kind in ("supervisor", "worker")}
    replaced = [one.replaced for one in run.kills if one.replaced is not None]
    return {
        "connections": run.plan.connections,
        "seconds": round(run.wall, 1),
        "answers": answered,
        "answers a second": round(answered / run.wall, 1),
        "kills": len(run.kills),
        "requests resent": len(run.seen.resets),
        "worker replaced s": {"p50": round(median(replaced), 2), "max": round(max(replaced), 2)} if replaced else None,
        "ingest beside s": round(run.ingest_seconds, 1),
        "client cpu s": round(run.client_cpu, 1),
        "own memory mb": {kind: {"first": round(of[0], 1), "last": round(of[-1], 1), "max": round(max(of), 1)}
                   for kind, of in last.items() if of},
        "growth mb a minute": {name: round(slope, 3) for name, slope in slopes.items()},
        "latency ms": {"all": percentiles(everything)}
        | {kind: percentiles(times) for kind, times in sorted(run.seen.seconds.items())},
    }  # fmt: skip
