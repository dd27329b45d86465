"""Serves one partition: its engines and its pages, with plain values in and out.

`webemu.index.partitions.group` puts the partitions of a process together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webemu.emulator.query import ParsedQuery
from webemu.emulator.types import Archive, Hit
from webemu.index.engine import RankEngine
from webemu.index.index_reader import IndexFiles
from webemu.index.open import SnapshotPageStore
from webemu.index.partitions.engine import GlobalTermStatistics, PartitionEngine
from webemu.index.partitions.merged_ranking import DocRow
from webemu.index.rank import FLAT_BM25, Weights


class PartitionServer:
    """An open partition. Read-only and thread-safe."""

    def __init__(
        self,
        page_store: SnapshotPageStore,
        files: IndexFiles,
        weights: Weights,
        statistics: GlobalTermStatistics,
        superseded: Mapping[int, int],
        copies: Mapping[int, Sequence[int]],
    ) -> None:
        """Take the open snapshot of the partition, the statistics of all partitions, and what it shares with partitions
        of other times: the end of the visibility of pages (seconds), and pages by cluster of duplicates.
        """
        self.page_store = page_store
        self._files = files
        self._weights = weights
        self._statistics = statistics
        self._superseded = superseded
        self._copies = copies
        self._engines: dict[str, PartitionEngine] = {}

    def engine(self, name: str) -> PartitionEngine:
        """Return the engine `full`, `plain` or `weak`, made when it is first needed."""
        if (engine := self._engines.get(name)) is None:
            weights = self._weights if name == "full" else FLAT_BM25
            engine = PartitionEngine(self._statistics, self._files, weights, "title" if name == "weak" else "all")
            self._engines[name] = engine
        return engine

    def with_statistics(self, statistics: GlobalTermStatistics) -> PartitionServer:
        """Return the same partition with other statistics: for one call, nothing is cached."""
        return PartitionServer(self.page_store, self._files, self._weights, statistics, self._superseded, self._copies)

    def answer(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """Return the result of a method of an engine, whose name is the first argument, or of the page store.

        Raises UnknownTermFrequency.
        """
        if method in ENGINE_FUNCTIONS:
            name, *engine_arguments = arguments
            return ENGINE_FUNCTIONS[method](self.engine(str(name)), *engine_arguments)
        handler = getattr(self, f"_{method}", None)
        return handler(*arguments) if handler else getattr(self.page_store, method)(*arguments)

    def row(self, doc: int) -> DocRow:
        """Return the values that decide whether a page is shown."""
        columns = self._files.columns
        cluster = columns.cluster[doc]
        is_copied = len(self._members(cluster)) > 0
        until = self._superseded.get(doc, columns.until[doc])
        return columns.since[doc], until, columns.day[doc], columns.domain[doc], cluster, is_copied

    def _rows(self, docs: list[int]) -> list[DocRow]:
        return [self.row(doc) for doc in docs]

    def _copies_in(self, cluster: int) -> list[tuple[int, DocRow]]:
        return [(doc, self.row(doc)) for doc in self._members(cluster)]

    def _members(self, cluster: int) -> Sequence[int]:
        """Return the pages of a cluster that has others, here or in partitions of other times."""
        return self._copies.get(cluster) or self._files.duplicates.members_of(cluster)

    def _bytes_of(self, archive: Archive, offset: int, length: int) -> list[bytes]:
        return list(self.page_store.bytes_of(archive, offset, length))


def _render_hit(engine: RankEngine, parsed: ParsedQuery, doc: int, score: float) -> Hit:
    return engine.plan(parsed).render_hit(doc, score)


def _explain_factors(
    engine: RankEngine, parsed: ParsedQuery, doc: int, score: float, is_best: bool
) -> dict[str, float]:
    return engine.plan(parsed).explain_factors(doc, score, is_best)


ENGINE_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "render_hit": _render_hit,
    "explain_factors": _explain_factors,
    "terms": RankEngine.terms,
    "frequency": RankEngine.frequency,
}
"""Methods of an engine."""
