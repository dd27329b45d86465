"""The second stage: what BM25 found first is ordered by it times how well title, passages and place agree.

    score = BM25 x (1 + named x title + together x passage + ordered x order + fresh x recency
                      + host x host + address x address + quality x quality)

Each signal is in [0, 1], so the factor is bounded by 1 plus the sum of the weights. Titles and the texts of links have
spoken before, inside the field that BM25 reads (`webemu.index.text`). Signals and their sources: docs/signals.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

YEAR = 365
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
    fresh: float = 0.5
    """Of how new a page is, where the query asks for what is new: half as much a year before the end of the crawl."""
    host: float = 0.0
    address: float = 0.0
    quality: float = 0.0

    @property
    def reranks(self) -> bool:
        """Whether there is a second stage."""
        return self.places or any((self.named, self.together, self.ordered, self.fresh))

    @property
    def places(self) -> bool:
        """Whether anything counts that is the same for every query."""
        return any((self.host, self.address, self.quality))

    @classmethod
    def of(cls, told: dict[str, Any]) -> Weights:
        """As a manifest has them; names that are not known are left out."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in told.items() if name in known})


PLAIN = Weights(1, 0, 0.0, 0.0, 0.0, 0.0)
"""Flat BM25."""


def factor(weights: Weights, title: float, passage: float, order: float, place: float) -> float:
    """By which BM25 is multiplied; `place` is what `placed` gives."""
    return 1.0 + weights.named * title + weights.together * passage + weights.ordered * order + place


def placed(weights: Weights, host: float, address: float, quality: float) -> float:
    """What a page is worth whatever is asked."""
    return weights.host * host + weights.address * address + weights.quality * quality


def recency(age: int) -> float:
    """Of a page so many days older than the newest of the crawl, in [0, 1]."""
    return YEAR / (YEAR + max(0, age))
