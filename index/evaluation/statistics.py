"""Figures over queries: bootstrap intervals, and the paired randomization test. Pure, and seeded by what they are of.

Smucker, Allan and Carterette (2007) recommend the randomization test for comparing retrieval systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from math import floor
from random import Random

RESAMPLES = 1000
PERMUTATIONS = 10_000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over queries."""

    mean: float
    low: float
    high: float
    """Of the interval at `LEVEL`."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more the second of two settings scores on the same queries."""

    first: float
    second: float
    gain: Figure
    p: float
    """How likely a gain or loss of this size is where the settings are as good as each other."""


def figure(values: Sequence[float], name: str) -> Figure:
    """The mean, and its percentile bootstrap over queries. At least one value."""
    count, mean = len(values), sum(values) / len(values)
    if min(values) == max(values):
        return Figure(mean, mean, mean)
    draws = Random(f"bootstrap:{name}")
    means = sorted(sum(draws.choices(values, k=count)) / count for _ in range(RESAMPLES))
    cut = floor((1 - LEVEL) / 2 * RESAMPLES)
    return Figure(mean, means[cut], means[-1 - cut])


def difference(first: Sequence[float], second: Sequence[float], name: str) -> Difference:
    """Two settings compared by their values for the same queries, in the same order."""
    gains = [b - a for a, b in zip(first, second, strict=True)]
    count = len(gains)
    return Difference(sum(first) / count, sum(second) / count, figure(gains, name), _p([g for g in gains if g], name))


def _p(gains: list[float], name: str) -> float:
    """Two-sided: the share of random changes of sign that move the sum at least so far from zero."""
    draws, total, count = Random(f"randomization:{name}"), sum(gains), len(gains)
    as_far = 1
    for _ in range(PERMUTATIONS):
        signs = map(int, f"{draws.getrandbits(count):0{count}b}") if count else ()
        as_far += abs(total - 2 * sum(compress(gains, signs))) >= abs(total) - 1e-9
    return as_far / (PERMUTATIONS + 1)
