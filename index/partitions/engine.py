"""Ranks inside one partition as if inside the whole index, by term frequencies over all partitions.

BM25 uses the inverse document frequency of the partition's index; each term is boosted by its rareness in the whole
relative to that, so that scores of partitions can be compared. Only the average page length remains local.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import log
from typing import Any, TypeVar

from webemu.index.engine import RankEngine, Word
from webemu.index.index_reader import DAY_SECONDS, IndexFiles
from webemu.index.languages import Readings
from webemu.index.rank import Weights
from webemu.index.rank_plan import RerankInputs

TermKey = tuple[str, str]
"""(field, term)."""
MAX_CACHED_TERMS = 1 << 20
"""Term frequencies that are cached."""
MAX_CACHED_READINGS = 1000
"""Readings of queries that are cached, for the partitions that are asked next."""
Result = TypeVar("Result")


class GlobalTermStatistics:
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
        self._words: dict[TermKey, int] = {}
        self._readings: dict[tuple[object, ...], Any] = {}

    def learn(self, frequencies: Mapping[TermKey, int]) -> None:
        """Cache the frequencies of more terms."""
        if len(self._words) > MAX_CACHED_TERMS:  # forget everything: an LRU order is not worth its cost here
            self._words = {}
        self._words.update(frequencies)

    def extended(self, frequencies: Mapping[TermKey, int]) -> GlobalTermStatistics:
        """Return a copy that has further frequencies."""
        copy = GlobalTermStatistics(self.documents, self.newest, self._conditions)
        copy._words = {**self._words, **frequencies}
        return copy

    def remember(self, key: tuple[object, ...], compute: Callable[[], Result]) -> Result:
        """Return what was computed under a key, or compute it: readings of a query are the same in all partitions.

        Nothing is kept of a computation that fails.
        """
        if key not in self._readings:
            if len(self._readings) > MAX_CACHED_READINGS:
                self._readings = {}
            self._readings[key] = compute()
        result: Result = self._readings[key]
        return result

    def frequency_of(self, field: str, term: str) -> int | None:
        """Return the number of pages that have a term; None if it is not known yet."""
        return self._conditions.get(term, 0) if field == "key" else self._words.get((field, term))


class UnknownTermFrequency(Exception):
    """The frequency of a term over all partitions is not known yet."""


class PartitionEngine(RankEngine):
    """Engine of one partition. Raises UnknownTermFrequency for words it has no global frequency of, and caches nothing
    then.
    """

    def __init__(
        self,
        statistics: GlobalTermStatistics,
        files: IndexFiles,
        weights: Weights,
        field: str = "all",
        is_dated: bool = False,
    ) -> None:
        self._statistics = statistics
        super().__init__(files, weights, field, is_dated)

    @classmethod
    def over_same_files(cls, engine: PartitionEngine, statistics: GlobalTermStatistics) -> PartitionEngine:
        """Return an engine over the same files, with other statistics."""
        return cls(statistics, engine._files, engine.weights, engine._field, engine._is_dated)

    def with_weights(self, weights: Weights, field: str = "all", is_dated: bool = False) -> PartitionEngine:
        """Return an engine over the same files that ranks with other weights or by another field."""
        return type(self)(self._statistics, self._files, weights, field, is_dated)

    def _list_months(self) -> list[str]:
        return self._statistics.remember(("months",), super()._list_months)

    def _count_documents(self) -> int:
        return self._statistics.documents

    def _doc_freq(self, field: str, term: str) -> int:
        if (frequency := self._statistics.frequency_of(field, term)) is None:
            raise UnknownTermFrequency(field, term)
        return frequency

    def _query_terms(self, words: str) -> dict[Readings, int]:
        key = ("terms", self._field, self._is_dated, words)
        return self._statistics.remember(key, partial(super()._query_terms, words))

    def _rerank_inputs(self, words: list[Word], text: str) -> RerankInputs:
        key = ("inputs", self._field, self._is_dated, self.weights, text, tuple(word.readings for word in words))
        return self._statistics.remember(key, partial(super()._rerank_inputs, words, text))

    def local_frequency(self, field: str, term: str) -> int:
        """Return the number of pages of this partition that have a term."""
        return int(self._searcher.doc_freq(field, term))

    def _local_idf(self, term: str, frequency: int) -> float:
        local_pages, local_documents = self.local_frequency(self._field, term), int(self._searcher.num_docs)
        return log(1 + (local_documents - local_pages + 0.5) / (local_pages + 0.5))

    def _newest_day(self) -> int:
        return self._statistics.newest // DAY_SECONDS


class MissingTermCollector(PartitionEngine):
    """Engine that records the terms whose global frequency is missing, and uses the partition's frequency meanwhile."""

    def __init__(
        self,
        statistics: GlobalTermStatistics,
        files: IndexFiles,
        weights: Weights,
        field: str = "all",
        is_dated: bool = False,
    ) -> None:
        self.missing_terms: set[TermKey] = set()
        super().__init__(statistics, files, weights, field, is_dated)

    def with_weights(self, weights: Weights, field: str = "all", is_dated: bool = False) -> MissingTermCollector:
        """Return an engine over the same files that records missing terms in the same place."""
        engine = MissingTermCollector(self._statistics, self._files, weights, field, is_dated)
        engine.missing_terms = self.missing_terms
        return engine

    # What is read with frequencies of one partition is not remembered.
    _query_terms = RankEngine._query_terms
    _rerank_inputs = RankEngine._rerank_inputs

    def _doc_freq(self, field: str, term: str) -> int:
        if (frequency := self._statistics.frequency_of(field, term)) is None:
            self.missing_terms.add((field, term))
            return self.local_frequency(field, term)
        return frequency
