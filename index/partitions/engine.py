"""Ranking inside one part as if it were inside the whole: how frequent a word is, is known over all parts.

BM25's rareness of a term is that of the part's index; each term is boosted by how rare it is in the whole against how
rare it is here, so that scores of parts can be compared. What stays the part's own is the average length of its pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Any

from webemu.index.engine import DAY, Engine
from webemu.index.rank import Weights

Key = tuple[str, str]
"""(field, term)."""
KEPT = 1 << 20
"""Frequencies that are remembered."""


class Statistics:
    """How frequent terms are over all parts: conditions from the beginning, words as they are told."""

    def __init__(self, documents: int, newest: int, conditions: Mapping[str, int]) -> None:
        """`documents`: of all parts; `newest`: when their last page was fetched; `conditions`: terms of `key`."""
        self.documents = documents
        self.newest = newest
        self._conditions = conditions
        self._words: dict[Key, int] = {}

    def learn(self, known: Mapping[Key, int]) -> None:
        if len(self._words) > KEPT:
            self._words = {}
        self._words.update(known)

    def of(self, field: str, term: str) -> int | None:
        """In how many pages a term occurs; None where that was not told yet."""
        return self._conditions.get(term, 0) if field == "key" else self._words.get((field, term))


class Unknown(Exception):
    """A term whose frequency over all parts was not told."""


class PartEngine(Engine):
    """An engine of one part. Raises Unknown for words that it knows nothing of; nothing of that is remembered."""

    def __init__(self, statistics: Statistics, *given: Any) -> None:
        self._statistics = statistics
        super().__init__(*given)

    @classmethod
    def like(cls, engine: Engine, statistics: Statistics) -> PartEngine:
        """The same index in the same way, with the statistics of all parts."""
        return cls(statistics, *engine._given, engine.weights, engine._field)

    def variant(self, weights: Weights, field: str = "all") -> PartEngine:
        return type(self)(self._statistics, *self._given, weights, field)

    def _count(self) -> int:
        return self._statistics.documents

    def _doc_freq(self, field: str, term: str) -> int:
        if (frequency := self._statistics.of(field, term)) is None:
            raise Unknown(field, term)
        return frequency

    def own_frequency(self, field: str, term: str) -> int:
        """In how many pages of this part a term occurs."""
        return int(self._searcher.doc_freq(field, term))

    def _own_rareness(self, term: str, frequency: int) -> float:
        here, pages = self.own_frequency(self._field, term), int(self._searcher.num_docs)
        return log(1 + (pages - here + 0.5) / (here + 0.5))

    @property
    def _newest(self) -> int:
        return self._statistics.newest // DAY


class Wondering(PartEngine):
    """Takes the part for the whole where it knows nothing, and notes what it would have to know."""

    def __init__(self, statistics: Statistics, *given: Any) -> None:
        self.wanted: set[Key] = set()
        super().__init__(statistics, *given)

    def _doc_freq(self, field: str, term: str) -> int:
        if (frequency := self._statistics.of(field, term)) is None:
            self.wanted.add((field, term))
            return self.own_frequency(field, term)
        return frequency
