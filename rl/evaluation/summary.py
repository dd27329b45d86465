"""Figures of an evaluation from the outcomes of its attempts: overall, and by hops, difficulty, recipe and answer
type."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from webemu.rl.evaluation.rows import Outcome
from webemu.rl.evaluation.statistics import Figure, mean_with_interval, pass_at_k

DIMENSIONS = ("hops", "difficulty", "recipe", "answer type")
"""Groupings of the outcomes."""
QUALITY_FIGURES = ("em", "f1", "grounded", "reward", "recall", "coverage", "precision", "relevance")
"""Figures of quality."""
EFFORT_FIGURES = ("calls", "turns", "requests", "repeats", "misuses", "tokens", "written")
"""Figures of effort."""
FIGURE_HEADINGS = {
    "em": "EM", "f1": "F1", "grounded": "grounded EM", "reward": "reward", "recall": "evidence recall",
    "coverage": "coverage", "precision": "precision", "relevance": "relevance", "calls": "calls",
    "turns": "turns", "requests": "requests",
    "repeats": "repeats", "misuses": "misuses", "tokens": "tokens", "written": "tokens written",
}  # fmt: skip
"""Headings of the figures."""


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """Figures of a group of attempts."""

    tasks: int
    """Number of tasks."""
    attempts: int
    """Number of attempts, masked ones included."""
    masked: int
    """Number of masked attempts."""
    figures: Mapping[str, Figure]
    """Figures by name, such as `pass@1`; those without a value are left out."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of an evaluation."""

    overall: GroupSummary
    """Figures of all attempts."""
    groups: Mapping[str, Mapping[str, GroupSummary]]
    """Figures by the names in `DIMENSIONS`, and by the groups of each."""
    ends: Mapping[str, int]
    """Number of attempts by the reason why they ended."""
    masks: Mapping[str, int]
    """Number of masked attempts by the kind of the outage."""

    def to_json(self) -> dict[str, object]:
        """Return the figures as JSON."""
        return {
            "overall": asdict(self.overall),
            **{
                f"by {dimension}": {name: asdict(group) for name, group in groups.items()}
                for dimension, groups in self.groups.items()
            },
            "ends": dict(self.ends),
            "masks": dict(self.masks),
        }


def summarize(outcomes: Sequence[Outcome], seed: int = 0) -> Summary:
    """Return all figures. Masked attempts are counted but enter no figure."""
    groups: dict[str, dict[str, list[Outcome]]] = {name: defaultdict(list) for name in DIMENSIONS}
    for attempt_outcome in outcomes:
        for name in DIMENSIONS:
            groups[name][attempt_outcome.groups[name]].append(attempt_outcome)
    return Summary(
        _summarize_group(outcomes, "all", seed),
        {name: _summarize_groups(groups[name], name, seed) for name in DIMENSIONS},
        _count_sorted(one.end for one in outcomes),
        _count_sorted(one.mask.partition(":")[0] for one in outcomes if one.mask),
    )


def _count_sorted(names: Iterable[str]) -> dict[str, int]:
    """Return how often each name occurs, in the order of the names."""
    return dict(sorted(Counter(names).items()))


def _summarize_groups(groups: Mapping[str, list[Outcome]], dimension: str, seed: int) -> dict[str, GroupSummary]:
    ordered = sorted(groups, key=lambda name: (len(name), name) if dimension == "hops" else (0, name))
    return {name: _summarize_group(groups[name], f"{dimension}:{name}", seed) for name in ordered}


def _summarize_group(outcomes: Sequence[Outcome], name: str, seed: int) -> GroupSummary:
    by_task: dict[str, list[Outcome]] = defaultdict(list)
    for attempt_outcome in outcomes:
        by_task[attempt_outcome.task].append(attempt_outcome)
    figures: dict[str, Figure | None] = dict(_pass_at_k_figures(by_task, name, seed))
    for kind in (*QUALITY_FIGURES, *EFFORT_FIGURES):
        figures[kind] = mean_with_interval(_task_means(by_task, kind), f"{name}:{kind}", seed)
    return GroupSummary(
        len(by_task),
        len(outcomes),
        sum(bool(attempt_outcome.mask) for attempt_outcome in outcomes),
        {kind: figure for kind, figure in figures.items() if figure},
    )


def _task_means(by_task: Mapping[str, Sequence[Outcome]], kind: str) -> list[float]:
    """Return the mean of each task that has any value."""
    values = [[one.figures[kind] for one in outcomes] for outcomes in by_task.values()]
    values_by_task = [[value for value in row if value is not None] for row in values]
    return [sum(row) / len(row) for row in values_by_task if row]


def _pass_at_k_figures(
    by_task: Mapping[str, Sequence[Outcome]], name: str, seed: int
) -> Iterable[tuple[str, Figure | None]]:
    """Yield pass@k for k = 1, 2, 4, … and all samples, each over the tasks with at least k unmasked attempts."""
    # Masked attempts are left out, so tasks may have different numbers of samples.
    passes = [[one.figures["pass"] for one in outcomes if not one.mask] for outcomes in by_task.values()]
    max_samples = max(map(len, passes), default=0)
    # The set holds 1, the powers of two up to the number of samples, and that number itself.
    for k in sorted({1, max_samples, *(2**n for n in range(max_samples.bit_length()))} - {0}):
        sample_counts = [(len(row), sum(bool(one) for one in row)) for row in passes if len(row) >= k]
        yield f"pass@{k}", mean_with_interval([pass_at_k(n, c, k) for n, c in sample_counts], f"{name}:pass@{k}", seed)
