"""Ranks inside one partition as if inside the whole index, by term frequencies over all partitions.

BM25 uses the inverse document frequency of the partition's index; each term is boosted by its rareness in the whole
relative to that, so that scores of partitions can be compared. Only the average page length remains local.
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
"""Term frequencies that are cached."""


class Statistics:
    """Term frequencies over all partitions: conditions from the beginning, words as they are learnt."""

    def __init__(self, documents: int, newest: int, conditions: Mapping[str, int]) -> None:
        """Take the figures of all partitions.

        - documents: searchable pages
        - newest: fetch time of the last page, in seconds
        - conditions: number of pages per term of the field `key`
        """
        self.documents = documents
        self.newest = newest
        self._conditions = conditions
        self._words: dict[Key, int] = {}

    def learn(self, known: Mapping[Key, int]) -> None:
        """Cache the frequencies of more terms."""
        if len(self._words) > KEPT:  # forget everything: an LRU order is not worth its cost here
            self._words = {}
        self._words.update(known)

    def of(self, field: str, term: str) -> int | None:
        """Return the number of pages that have a term; None if it is not known yet."""
        return self._conditions.get(term, 0) if field == "key" else self._words.get((field, term))


class Unknown(Exception):
    """The frequency of a term over all partitions is not known yet."""


class PartEngine(Engine):
    """Engine of one partition. Raises UnknownTermFrequency for words it has no global frequency of, and caches nothing
    then.
    """

    def __init__(self, statistics: Statistics, *given: Any) -> None:
        self._statistics = statistics
        super().__init__(*given)

    @classmethod
    def like(cls, engine: Engine, statistics: Statistics) -> PartEngine:
        """Return an engine over the same files, with the statistics of all partitions."""
        return cls(statistics, *engine._given, engine.weights, engine._field)

    def variant(self, weights: Weights, field: str = "all") -> PartEngine:
        """Return an engine over the same files that ranks with other weights or by another field."""
        return type(self)(self._statistics, *self._given, weights, field)

    def _count(self) -> int:
        return self._statistics.documents

    def _doc_freq(self, field: str, term: str) -> int:
        if (frequency := self._statistics.of(field, term)) is None:
            raise Unknown(field, term)
        return frequency

    def own_frequency(self, field: str, term: str) -> int:
        """Return the number of pages of this partition that have a term."""
        return int(self._searcher.doc_freq(field, term))

    def _own_rareness(self, term: str, frequency: int) -> float:
        here, pages = self.own_frequency(self._field, term), int(self._searcher.num_docs)
        return log(1 + (pages - here + 0.5) / (here + 0.5))

    @property
    def _newest(self) -> int:
        return self._statistics.newest // DAY


class Wondering(PartEngine):
    """Engine that records the terms whose global frequency is missing, and uses the partition's frequency meanwhile."""

    def __init__(self, statistics: Statistics, *given: Any) -> None:
        self.wanted: set[Key] = set()
        super().__init__(statistics, *given)

    def _doc_freq(self, field: str, term: str) -> int:
        if (frequency := self._statistics.of(field, term)) is None:
            self.wanted.add((field, term))
            return self.own_frequency(field, term)
        return frequency
