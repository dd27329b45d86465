"""The second stage: what BM25 found first is ordered by it times how well title, passages and place agree.

    score = BM25 x (1 + named x title + together x passage + ordered x order + host x host + address x address
                      + quality x quality)

Each signal is in [0, 1], so the factor is bounded by 1 plus the sum of the weights. Titles and the texts of links have
spoken before, inside the field that BM25 reads (`index.text`). Signals and their sources: docs/signals.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

DEPTH = 20
"""So many of the best are ordered anew."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Of a snapshot; they are part of its name."""

    title: int = 2
    """How often a title is written into the field that ranks."""
    anchors: int = 2
    """How often the text of links to a page is, at most; 0 for never."""
    named: float = 2.0
    """Of the title: the share of the query, by rareness, that it has, and the share of it that the query has."""
    together: float = 1.0
    """Of the passage that has most of the query: its share, by rareness."""
    ordered: float = 1.0
    """Of the same passage with its neighbours: the share of neighbouring words of the query that stand so there."""
    host: float = 0.0
    address: float = 0.0
    quality: float = 0.0

    @property
    def reranks(self) -> bool:
        """Whether there is a second stage."""
        return any((self.named, self.together, self.ordered, self.host, self.address, self.quality))

    @classmethod
    def of(cls, told: dict[str, Any]) -> Weights:
        """As a manifest has them; names that are not known are left out."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in told.items() if name in known})


PLAIN = Weights(1, 0, 0.0, 0.0, 0.0)
"""Flat BM25."""


class Agreement(NamedTuple):
    """What of a query a page has."""

    title: float
    passage: float
    order: float


def factor(weights: Weights, agreement: Agreement, host: float, address: float, quality: float) -> float:
    """By which BM25 is multiplied."""
    return (
        1.0 + weights.named * agreement.title + weights.together * agreement.passage
        + weights.ordered * agreement.order
        + weights.host * host + weights.address * address + weights.quality * quality
    )  # fmt: skip


def share(terms: Sequence[tuple[int, float]], there: Sequence[int]) -> float:
    """How much of a query stands in a title: the geometric mean of the two shares, by rareness and by count."""
    if not there or not terms:
        return 0.0
    found = [(key, rareness) for key, rareness in terms if key in there]
    total = sum(rareness for _, rareness in terms)
    if not found or not total:
        return 0.0
    return float((sum(rareness for _, rareness in found) / total * min(1.0, len(found) / len(there))) ** 0.5)
