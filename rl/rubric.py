"""Rubrics: how terms become one reward. Gates and factors are multiplied, metrics are only logged, and every term is
logged under its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from webemu.rl.record import EpisodeRecord

TermKind = Literal["gate", "factor", "metric"]


@dataclass(frozen=True, slots=True)
class Term:
    """Measurement of an episode."""

    name: str
    kind: TermKind
    """Role of the term. A gate is 0 or 1, a factor in [0, 1]. They are multiplied and never added, so that none can be
    earned without the others.
    """
    measure: Callable[[EpisodeRecord], float]


@dataclass(frozen=True, slots=True)
class Score:
    """Reward of an episode with its terms."""

    reward: float | None
    """Reward in [0, 1]; None if the episode is masked and says nothing about the agent policy."""
    terms: Mapping[str, float | None]
    """Every term by name; all are None if the episode is masked."""
    mask: str = ""
    """Reason why the episode is masked; empty if it is not."""


@dataclass(frozen=True, slots=True)
class Rubric:
    """Terms that together make a reward."""

    terms: tuple[Term, ...]

    def score(self, record: EpisodeRecord) -> Score:
        """Return the reward of an episode. Pure: the same record always gives the same score.

        score = SHORT.score(record)
        score.reward, score.terms["correct"]  # (0.98, 1.0)
        """
        if record.masked:
            return Score(None, {term.name: None for term in self.terms}, record.mask)
        values = {term.name: float(term.measure(record)) for term in self.terms}
        return Score(prod(values[term.name] for term in self.terms if term.kind != "metric"), dict(values))
