"""Serves one partition: answers the calls of those who query all partitions, with plain values in and out.

A query may come before the partition knows how frequent its words are over all partitions. Then the answer is
`MissingTerms`, and the call is repeated with their frequencies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from webemu.emulator.query import ParsedQuery
from webemu.emulator.types import Archive, Capture, Hit
from webemu.index.engine import RankEngine
from webemu.index.open import open_snapshot
from webemu.index.partitions.engine import (
    GlobalTermStatistics,
    MissingTermCollector,
    PartitionEngine,
    TermKey,
    UnknownTermFrequency,
)
from webemu.index.rank import FLAT_BM25, RERANK_DEPTH

RENDERED_HITS = 20
"""Best hits that are sent rendered."""
LISTING_BATCH = 500
"""SURT keys of a listing that are sent at once."""

DocRow = tuple[int, int, int, int, int, bool]
"""(since, until, day, domain, cluster, True if the page has duplicates) of a page."""


class PartitionHit(NamedTuple):
    """A page in the ranking of one partition."""

    score: float
    """BM25 score."""
    doc: int
    """Dense id inside the partition."""
    order: int
    """Rank of its URL among all URLs of the collection."""
    factor: float
    """Factor of the second stage; 1 if there is none."""
    row: DocRow
    hit: Hit | None
    """Rendered hit of the best `RENDERED_HITS`; None for the others."""


class PartitionRanking(NamedTuple):
    """The ranking of one partition."""

    hits: list[PartitionHit]
    is_complete: bool
    """True if there are no more hits."""
    by_score: bool
    """True if anything ranks; else the order is that of the partition."""
    reranks: bool
    """True if there is a second stage."""


class MissingTerms(NamedTuple):
    """Terms whose global frequency a call needs."""

    keys: tuple[TermKey, ...]


class PartitionServer:
    """An open partition. Read-only and thread-safe."""

    def __init__(self, home: Path, snapshot: str, statistics: GlobalTermStatistics) -> None:
        """Open a snapshot of the partition whose folder is `home`. Raises SnapshotError."""
        world = open_snapshot(home, snapshot)
        assert isinstance(world.ranker, RankEngine)
        self._statistics = statistics
        full = PartitionEngine.over_same_files(world.ranker, statistics)
        self._engines = {
            "full": full,
            "plain": full.with_weights(FLAT_BM25),
            "weak": full.with_weights(FLAT_BM25, "title"),
        }
        self._page_store = world.page_store
        self._columns = full.doc_values

    def answer(self, method: str, arguments: tuple[object, ...], frequencies: Mapping[TermKey, int]) -> object:
        """Return the result of a method of the engine or the page store; `MissingTerms` if frequencies are missing.

        `frequencies` has frequencies over all partitions, which are cached.
        """
        self._statistics.learn(frequencies)
        if method in _ENGINE_FUNCTIONS:
            name, *engine_arguments = arguments
            return self._call_engine(method, str(name), engine_arguments)
        handler = getattr(self, f"_{method}", None)
        return handler(*arguments) if handler else getattr(self._page_store, method)(*arguments)

    def _call_engine(self, method: str, name: str, arguments: Sequence[object]) -> object:
        """Call a function with the named engine."""
        function = _ENGINE_FUNCTIONS[method]
        try:
            return function(self._engines[name], *arguments)
        except UnknownTermFrequency:  # run once more to collect all unknown terms, instead of one per round trip
            collector = MissingTermCollector.over_same_files(self._engines[name], self._statistics)
            assert isinstance(collector, MissingTermCollector)
            function(collector, *arguments)
            return MissingTerms(tuple(sorted(collector.missing_terms)))

    def _frequencies(self, keys: list[TermKey]) -> list[int]:
        return [self._engines["full"].local_frequency(*key) for key in keys]

    def _rows(self, docs: list[int]) -> list[DocRow]:
        return [doc_row(self._engines["full"], doc) for doc in docs]

    def _copies_in(self, cluster: int) -> list[tuple[int, DocRow]]:
        engine = self._engines["full"]
        return [(doc, doc_row(engine, doc)) for doc in engine.cluster_members(cluster)]

    def _listing(self, first: str, last: str) -> list[tuple[str, list[Capture]]]:
        return list(islice(self._page_store.listing(first, last), LISTING_BATCH))

    def _bytes_of(self, archive: Archive, offset: int, length: int) -> list[bytes]:
        return list(self._page_store.bytes_of(archive, offset, length))

    def _has_exchanges(self) -> bool:
        return self._page_store.has_exchanges

    def _nearest(self, word: str) -> list[str]:
        return list(self._page_store.nearest(word))


def doc_row(engine: RankEngine, doc: int) -> DocRow:
    """Return the values that decide whether a page is shown."""
    columns, cluster = engine.doc_values, engine.doc_values.cluster[doc]
    is_copied = len(engine.cluster_members(cluster)) > 0
    return columns.since[doc], columns.until[doc], columns.day[doc], columns.domain[doc], cluster, is_copied


def rank_partition(engine: RankEngine, parsed: ParsedQuery, limit: int) -> PartitionRanking:
    """Return the best of a partition by BM25, with the factors of the second stage."""
    plan = engine.plan(parsed)
    hits, is_complete = plan.bm25_candidates(limit)
    factors = plan.rerank_factors(hits[:RERANK_DEPTH]) if plan.reranks else []
    order = engine.doc_values.order
    partition_hits = [
        PartitionHit(
            score, doc, order[doc], factors[rank] if rank < len(factors) else 1.0, doc_row(engine, doc),
            plan.render_hit(doc, score) if rank < RENDERED_HITS else None,
        )
        for rank, (score, doc) in enumerate(hits)
    ]  # fmt: skip
    return PartitionRanking(partition_hits, is_complete, bool(plan.hashes), plan.reranks)


def _render_hit(engine: RankEngine, parsed: ParsedQuery, doc: int, score: float) -> Hit:
    return engine.plan(parsed).render_hit(doc, score)


def _explain_factors(
    engine: RankEngine, parsed: ParsedQuery, doc: int, score: float, is_best: bool
) -> dict[str, float]:
    return engine.plan(parsed).explain_factors(doc, score, is_best)


_ENGINE_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "rank_partition": rank_partition,
    "render_hit": _render_hit,
    "explain_factors": _explain_factors,
    "terms": RankEngine.terms,
    "frequency": RankEngine.frequency,
}
