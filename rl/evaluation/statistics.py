"""Statistics over tasks: the unbiased pass@k of Chen et al. (2021), and means with their intervals. Pure and seeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from webemu.emulator.bootstrap import bootstrap_interval


@dataclass(frozen=True, slots=True)
class Figure:
    """Mean over tasks with its interval."""

    mean: float
    low: float
    high: float
    """Upper end of the interval at `webemu.emulator.bootstrap.CONFIDENCE_LEVEL`."""
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

    `name` and `seed` seed the resampling. Pass the mean of a task with several samples, because these are not
    independent.
    """
    if not values:
        return None
    interval = bootstrap_interval(values, f"{seed}:{name}")
    return Figure(sum(values) / len(values), interval.low, interval.high, len(values))
