"""Figures of an evaluation from the outcomes of its attempts: overall, and by recipe, hops and answer type."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from webemu.rl.evaluation.rows import Outcome
from webemu.rl.evaluation.statistics import Figure, figure, pass_at_k

DIMENSIONS = ("hops", "recipe", "answer type")
"""Groupings of the outcomes."""
TOLD = ("em", "f1", "grounded", "reward", "recall", "coverage", "precision")
"""Figures of quality."""
COUNTED = ("calls", "turns", "requests", "repeats", "misuses", "tokens", "written")
"""Figures of effort."""
NAMES = {
    "em": "EM", "f1": "F1", "grounded": "grounded EM", "reward": "reward", "recall": "evidence recall",
    "coverage": "coverage", "precision": "precision", "calls": "calls", "turns": "turns", "requests": "requests",
    "repeats": "repeats", "misuses": "misuses", "tokens": "tokens", "written": "tokens written",
}  # fmt: skip
"""Headings of the figures."""


def summary(outcomes: Sequence[Outcome], seed: int = 0) -> dict[str, Any]:
    """Return all figures as JSON. Masked attempts are counted but enter no figure."""
    groups: dict[str, dict[str, list[Outcome]]] = {name: defaultdict(list) for name in DIMENSIONS}
    for one in outcomes:
        for name in DIMENSIONS:
            groups[name][one.groups[name]].append(one)
    return {
        "overall": _group(outcomes, "all", seed),
        **{f"by {name}": _groups(groups[name], name, seed) for name in DIMENSIONS},
        "ends": dict(sorted(Counter(one.end for one in outcomes).items())),
        "masks": dict(sorted(Counter(one.mask.partition(":")[0] for one in outcomes if one.mask).items())),
    }


def _groups(groups: Mapping[str, list[Outcome]], dimension: str, seed: int) -> dict[str, Any]:
    ordered = sorted(groups, key=lambda name: (len(name), name) if dimension == "hops" else (0, name))
    return {name: _group(groups[name], f"{dimension}:{name}", seed) for name in ordered}


def _group(outcomes: Sequence[Outcome], name: str, seed: int) -> dict[str, Any]:
    by_task: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        by_task[one.task].append(one)
    figures: dict[str, Figure | None] = dict(_passes(by_task, name, seed))
    for kind in (*TOLD, *COUNTED):
        figures[kind] = figure(_means(by_task, kind), f"{name}:{kind}", seed)
    return {
        "tasks": len(by_task),
        "attempts": len(outcomes),
        "masked": sum(bool(one.mask) for one in outcomes),
        "figures": {kind: asdict(one) for kind, one in figures.items() if one},
    }


def _means(by_task: Mapping[str, Sequence[Outcome]], kind: str) -> list[float]:
    """Return the mean of each task that has any value."""
    values = [[one.figures[kind] for one in outcomes] for outcomes in by_task.values()]
    known = [[value for value in row if value is not None] for row in values]
    return [sum(row) / len(row) for row in known if row]


def _passes(by_task: Mapping[str, Sequence[Outcome]], name: str, seed: int) -> Iterable[tuple[str, Figure | None]]:
    """Yield pass@k for k = 1, 2, 4, … and all samples, each over the tasks with at least k unmasked attempts."""
    # Masked attempts are left out, so tasks may have different numbers of samples.
    passes = [[one.figures["pass"] for one in outcomes if not one.mask] for outcomes in by_task.values()]
    most = max(map(len, passes), default=0)
    # The set holds 1, the powers of two up to the number of samples, and that number itself.
    for k in sorted({1, most, *(2**n for n in range(most.bit_length()))} - {0}):
        counted = [(len(row), sum(bool(one) for one in row)) for row in passes if len(row) >= k]
        yield f"pass@{k}", figure([pass_at_k(n, c, k) for n, c in counted], f"{name}:pass@{k}", seed)
