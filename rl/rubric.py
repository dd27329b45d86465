"""Rubrics: how terms become one reward. Gates and factors are multiplied, metrics are only logged, and every term is
logged under its name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from webemu.rl.record import EpisodeRecord

log = logging.getLogger("webemu.rl")

NOT_SCORED = "the answer could not be scored"
"""Mask of an episode on which scoring failed: a defect of ours, which the log has with its traceback."""
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

        An episode that a term fails on is masked, and the failure is logged: one odd text must not end a training run.

        score = SHORT.score(record)
        score.reward, score.terms["correct"]  # (0.98, 1.0)
        """
        if record.masked:
            return self._mask(record.mask)
        try:
            values = {term.name: float(term.measure(record)) for term in self.terms}
        except Exception:
            log.exception("the answer to %s cannot be scored: %.300r", record.task.id, record.answer)
            return self._mask(NOT_SCORED)
        return Score(prod(values[term.name] for term in self.terms if term.kind != "metric"), dict(values))

    def _mask(self, reason: str) -> Score:
        """Return the score of an episode that says nothing about the agent policy."""
        return Score(None, {term.name: None for term in self.terms}, reason)
