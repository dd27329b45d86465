"""Masked episodes for trainers that need a number as reward (verl, SkyRL, Gymnasium): an outage must not look like a
wrong answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence


def neutralize_masked(scores: Sequence[float], masked: Sequence[object], groups: Sequence[Hashable]) -> list[float]:
    """Return the scores with the mean of its group's other episodes in place of each masked one; 0 if a whole group is
    masked. The mean of a group then is that of its episodes without outages, as in TRL, and a masked episode has the
    advantage 0 in every estimator that subtracts this mean.

        neutralize_masked([1.0, 0.0, 0.0], [0, 0, 1], ["a", "a", "a"])  # [1.0, 0.0, 0.5]
    """
    scores_by_group: dict[Hashable, list[float]] = defaultdict(list)
    for score, is_masked, group in zip(scores, masked, groups, strict=True):
        scores_by_group[group] += [] if is_masked else [score]
    means = {group: sum(values) / len(values) if values else 0.0 for group, values in scores_by_group.items()}
    return [
        means[group] if is_masked else score for score, is_masked, group in zip(scores, masked, groups, strict=True)
    ]
