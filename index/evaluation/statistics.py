"""Statistics over queries: bootstrap intervals and the paired randomization test. Pure functions with fixed seeds.

Smucker, Allan and Carterette (2007) recommend the randomization test for comparing retrieval systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from random import Random

from webemu.emulator.bootstrap import bootstrap_interval

PERMUTATIONS = 10_000
"""Random sign changes of the randomization test."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over queries, with its confidence interval."""

    mean: float
    low: float
    high: float
    """Upper end of the interval at `webemu.emulator.bootstrap.CONFIDENCE_LEVEL`."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Comparison of two configurations on the same queries."""

    first: float
    second: float
    gain: Figure
    """Mean of second minus first."""
    p: float
    """Probability of a gain or loss of at least this size if the configurations were equally good."""


def mean_with_interval(values: Sequence[float], name: str) -> Figure:
    """Return the mean of at least one value, with its percentile bootstrap interval. `name` seeds random numbers."""
    mean = sum(values) / len(values)
    if min(values) == max(values):  # rounding of the sum would put the mean beside its own interval
        return Figure(mean, mean, mean)
    interval = bootstrap_interval(values, f"bootstrap:{name}")
    return Figure(mean, interval.low, interval.high)


def compare_paired(first: Sequence[float], second: Sequence[float], name: str) -> Difference:
    """Compare two configurations by their values for the same queries, in the same order."""
    gains = [b - a for a, b in zip(first, second, strict=True)]
    count = len(gains)
    return Difference(
        sum(first) / count,
        sum(second) / count,
        mean_with_interval(gains, name),
        _p_value([g for g in gains if g], name),
    )


def _p_value(gains: list[float], name: str) -> float:
    """Return the two-sided p: the share of random sign changes that move the sum at least as far from zero."""
    draws, total, count = Random(f"randomization:{name}"), sum(gains), len(gains)
    extreme_count = 1  # the observed assignment counts as one of the permutations, so p is never 0
    for _ in range(PERMUTATIONS):
        signs = map(int, f"{draws.getrandbits(count):0{count}b}") if count else ()
        extreme_count += abs(total - 2 * sum(compress(gains, signs))) >= abs(total) - 1e-9
    return extreme_count / (PERMUTATIONS + 1)
