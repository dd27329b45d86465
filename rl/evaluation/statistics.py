"""Statistics over tasks: the unbiased pass@k of Chen et al. (2021), and bootstrap intervals. Pure and seeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, floor
from random import Random

RESAMPLES = 1000
"""Bootstrap resamples."""
CONFIDENCE_LEVEL = 0.95
"""Confidence level of the intervals."""


@dataclass(frozen=True, slots=True)
class Figure:
    """Mean over tasks with its interval."""

    mean: float
    low: float
    high: float
    """Ends of the interval at `CONFIDENCE_LEVEL`."""
    tasks: int
    """Number of tasks."""


def pass_at_k(samples: int, passed_count: int, k: int) -> float:
    """Return the probability that at least one of k samples, drawn without replacement, has passed.

        pass_at_k(4, 1, 2)   # 0.5

    Raises ValueError unless 0 <= passed_count <= samples and 1 <= k <= samples.
    """
    if not 0 <= passed_count <= samples or not 1 <= k <= samples:
        raise ValueError(f"pass@{k} is undefined for {passed_count} passed of {samples} samples")
    return 1 - comb(samples - passed_count, k) / comb(samples, k)


def mean_with_interval(values: Sequence[float], name: str, seed: int = 0) -> Figure | None:
    """Return the mean of one value for each task, with its bootstrap interval; None without tasks.

    `name` and `seed` seed the resampling.
    """
    if not values:
        return None
    return Figure(sum(values) / len(values), *bootstrap_interval(values, name, seed), len(values))


def bootstrap_interval(values: Sequence[float], name: str, seed: int = 0) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean over tasks.

    Whole tasks are resampled, because the samples of one task are not independent.
    """
    if min(values) == max(values):
        return values[0], values[0]
    # Seeded by the name, so that adding a figure changes no other interval.
    random, count = Random(f"{seed}:{name}"), len(values)
    means = sorted(sum(random.choices(values, k=count)) / count for _ in range(RESAMPLES))
    tail_count = floor((1 - CONFIDENCE_LEVEL) / 2 * RESAMPLES)
    return means[tail_count], means[-1 - tail_count]
