"""Percentile bootstrap of a mean (Efron 1979), for every figure that has a confidence interval.

Search quality (`webemu.index.evaluation`) and agents (`webemu.rl.evaluation`) are measured by the same arithmetic,
which therefore stands here once. It tells nothing of the web and imports nothing of ours: that is why all of `rl` may
import this one module of `emulator` (`PURE` in tests/test_house.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from random import Random

RESAMPLES = 1000
"""Bootstrap resamples."""
CONFIDENCE_LEVEL = 0.95
"""Confidence level of the intervals."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval at `CONFIDENCE_LEVEL`."""

    low: float
    high: float


def bootstrap_interval(values: Sequence[float], seed: str) -> Interval:
    """Return the percentile bootstrap interval of the mean of at least one value.

        bootstrap_interval([0.0, 1.0, 1.0], seed="0:em")

    `seed` is a text that names the figure: the same values and text give the same interval, and another figure more
    changes no interval of the others. Values must be independent, so pass one for each task or query.
    """
    if min(values) == max(values):
        return Interval(values[0], values[0])
    random, count = Random(seed), len(values)
    means = sorted(sum(random.choices(values, k=count)) / count for _ in range(RESAMPLES))
    tail_count = floor((1 - CONFIDENCE_LEVEL) / 2 * RESAMPLES)
    return Interval(means[tail_count], means[-1 - tail_count])
