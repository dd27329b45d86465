"""Figures over tasks: the unbiased pass@k of Chen et al. (2021), and bootstrap intervals. Pure and seeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, floor
from random import Random

RESAMPLES = 1000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over tasks."""

    mean: float
    low: float
    high: float
    """Of the interval at `LEVEL`."""
    tasks: int


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """The chance that one of k samples, drawn without replacement from all, has passed."""
    if not 0 <= passed <= samples or not 1 <= k <= samples:
        raise ValueError(f"no pass@{k} of {passed} passed among {samples} samples")
    return 1 - comb(samples - passed, k) / comb(samples, k)


def figure(values: Sequence[float], name: str, seed: int = 0) -> Figure | None:
    """The mean of one value for each task, with its bootstrap interval; None of no task."""
    if not values:
        return None
    return Figure(sum(values) / len(values), *interval(values, name, seed), len(values))


def interval(values: Sequence[float], name: str, seed: int = 0) -> tuple[float, float]:
    """The percentile bootstrap over tasks: whole tasks are drawn again, since the samples of one are alike."""
    if min(values) == max(values):
        return values[0], values[0]
    draws, count = Random(f"{seed}:{name}"), len(values)
    means = sorted(sum(draws.choices(values, k=count)) / count for _ in range(RESAMPLES))
    cut = floor((1 - LEVEL) / 2 * RESAMPLES)
    return means[cut], means[-1 - cut]
