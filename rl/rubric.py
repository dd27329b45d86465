"""How terms become one reward: gates and factors are multiplied, metrics are only logged, and every term is logged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from webemu.rl.record import Record

Kind = Literal["gate", "factor", "metric"]


@dataclass(frozen=True, slots=True)
class Term:
    name: str
    kind: Kind
    """A gate is 0 or 1, a factor in [0, 1]; neither is ever added, so that none can be earned without the others."""
    measure: Callable[[Record], float]


@dataclass(frozen=True, slots=True)
class Score:
    reward: float | None
    """In [0, 1]; None where the episode is masked and says nothing about the policy."""
    terms: Mapping[str, float | None]
    """Every term by name; all None where masked."""
    mask: str = ""


@dataclass(frozen=True, slots=True)
class Rubric:
    terms: tuple[Term, ...]

    def score(self, record: Record) -> Score:
        """The reward of an episode. Pure: the same record gives the same score."""
        if record.masked:
            return Score(None, {term.name: None for term in self.terms}, record.mask)
        found = {term.name: float(term.measure(record)) for term in self.terms}
        return Score(prod(found[term.name] for term in self.terms if term.kind != "metric"), dict(found))
