"""Ranks over all partitions as over one index: the port `webemu.emulator.ports.Ranker` on remote partitions.

The partitions' rankings are merged by (BM25 score, rank of the URL); the best of all are then reranked as in one
index. Filters, host crowding and duplicate collapse are those of `webemu.emulator.ranking`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from webemu.emulator import ranking
from webemu.emulator.ports import ScoredDoc
from webemu.emulator.query import ParsedQuery
from webemu.emulator.ranking import MAX_DEPTH
from webemu.emulator.types import Hit
from webemu.index.analysis import extract_terms as analyze
from webemu.index.partitions import methods
from webemu.index.partitions.client import PartitionClient
from webemu.index.partitions.merged_ranking import DocRow, PartitionHit, PartitionRanking, merge_rankings
from webemu.index.rank import RERANK_DEPTH

MAX_CACHED = 1 << 18
"""Pages that are cached, at most."""
_EMPTY_QUERY = ParsedQuery()


class DocValueCache:
    """The port `DocValues` over all partitions: cached as it comes with rankings, else fetched page by page."""

    def __init__(self, client: PartitionClient, bases: Sequence[int]) -> None:
        """Take the first dense id of each partition."""
        self._client = client
        self._bases = bases
        self._cached_rows: dict[int, DocRow] = {}
        self.since, self.until, self.day, self.domain, self.cluster = (
            CachedColumn(self, field_index) for field_index in range(5)
        )

    def locate(self, doc: int) -> tuple[int, int]:
        """Return (partition, dense id inside it) of a dense id."""
        partition = bisect_right(self._bases, doc) - 1
        return partition, doc - self._bases[partition]

    def global_id(self, partition: int, doc: int) -> int:
        """Return the dense id over all partitions."""
        return self._bases[partition] + doc

    def store(self, doc: int, row: DocRow) -> None:
        """Cache the row of a page."""
        if len(self._cached_rows) > MAX_CACHED:
            self._cached_rows = {}
        self._cached_rows[doc] = row

    def rows(self, docs: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """Yield (until, cluster, domain) of each page."""
        return ((row[1], row[4], row[3]) for row in map(self.row_of, docs))

    def drop_duplicates(self, ranked: list[ScoredDoc]) -> list[tuple[ScoredDoc, int]]:
        """Return the live entries of a ranking without later duplicates, each with its domain
        (`webemu.emulator.ranking.drop_duplicates`).
        """
        return ranking.drop_duplicates(ranked, self.rows([doc for _, doc in ranked]))

    def row_of(self, doc: int) -> DocRow:
        """Return the row of a page, fetched unless it is cached."""
        if (row := self._cached_rows.get(doc)) is None:
            partition, local_doc = self.locate(doc)
            (row,) = self._client.call_one(partition, methods.ROWS, [local_doc])
            self.store(doc, row)
        return row


class CachedColumn:
    """One value of each row, by dense id, fetched row by row."""

    def __init__(self, rows: DocValueCache, field_index: int) -> None:
        self._rows = rows
        self._field_index = field_index

    def __getitem__(self, doc: int) -> int:
        return self._rows.row_of(doc)[self._field_index]


@dataclass(frozen=True, slots=True)
class PartitionedPlan:
    """A prepared query over all partitions: it is sent to them as it was parsed."""

    ranker: PartitionedRanker
    parsed: ParsedQuery
    hits: dict[int, Hit] = field(default_factory=dict)
    """Rendered hits that came with the ranking, by dense id."""
    deepest_ranking: list[tuple[int, PartitionRanking]] = field(default_factory=list)
    """The deepest ranking that was requested so far, with its limit; empty before the first."""

    def top(self, limit: int) -> tuple[list[ScoredDoc], bool]:
        """Return the best `limit` entries as `webemu.index.rank_plan.RankPlan.top` would from one index of all pages.

        Entries are sorted by score, then URL; those that tie with the last one are left out unless there are no more,
        which the second value says.
        """
        ranker, requested = self.ranker, limit
        while True:
            merged = self._request(requested)
            needed = max(limit, RERANK_DEPTH) if merged.reranks else limit
            taken_hits, is_complete = merged.take(needed)
            if is_complete or taken_hits is not None or requested >= MAX_DEPTH:
                break
            # The partitions sent too few hits to know the order of so many: ask all of them for more.
            requested = min(4 * requested, MAX_DEPTH)
        partition_hits = merged.hits if taken_hits is None else taken_hits
        docs = [ranker.doc_values.global_id(hit.partition, hit.doc) for hit in partition_hits]
        self._cache_hits(docs, partition_hits)
        scored_docs = [(hit.score, doc) for hit, doc in zip(partition_hits, docs, strict=True)]
        if merged.reranks:
            best = [
                (-hit.score * hit.factor, hit.order, doc)
                for hit, doc in zip(partition_hits[:RERANK_DEPTH], docs, strict=False)
            ]
            scored_docs[:RERANK_DEPTH] = [(-score, doc) for score, _, doc in sorted(best)]
        return scored_docs, is_complete

    def _request(self, limit: int) -> PartitionRanking:
        """Return the ranking of all partitions, which send at least `limit` hits each."""
        deepest = self.deepest_ranking[0] if self.deepest_ranking else None
        if deepest is None or deepest[0] < limit:
            answers = self.ranker.client.search_all(methods.RANK, self.ranker.engine, self.parsed, limit)
            deepest = limit, merge_rankings(answers)
            self.deepest_ranking[:] = [deepest]
        return deepest[1]

    def _cache_hits(self, docs: Sequence[int], partition_hits: Sequence[PartitionHit]) -> None:
        """Cache the rows, rendered hits and URLs that came with a ranking."""
        for doc, partition_hit in zip(docs, partition_hits, strict=True):
            self.ranker.doc_values.store(doc, partition_hit.row)
            if partition_hit.hit is not None:
                self.hits[doc] = partition_hit.hit
        self.ranker.cache_urls(self.hits)

    def render_hit(self, doc: int, score: float) -> Hit:
        """Return what a result shows of a page. A cached URL is enough if there is no query."""
        ranker = self.ranker
        if self.parsed == _EMPTY_QUERY and (url_json := ranker.cached_url(doc)) is not None:
            return Hit(doc, score, url_json, b"", b"", "")
        if (hit := self.hits.get(doc)) is None:
            partition, local_doc = ranker.doc_values.locate(doc)
            hit = ranker.client.call_one(partition, methods.RENDER_HIT, ranker.engine, self.parsed, local_doc, score)
        return hit._replace(doc=doc, score=score)

    def explain(self, doc: int, score: float) -> dict[str, float]:
        """Return the features that ranked a page."""
        ranker = self.ranker
        is_best = any(other == doc for _, other in self.top(RERANK_DEPTH)[0][:RERANK_DEPTH])
        partition, local_doc = ranker.doc_values.locate(doc)
        return ranker.client.call_one(partition, methods.EXPLAIN, ranker.engine, self.parsed, local_doc, score, is_best)


class PartitionedRanker:
    """The port `Ranker` over all partitions, with one of their engines."""

    is_slow = True
    """True: a search waits for remote partitions, so it must not run on an event loop."""

    def __init__(self, client: PartitionClient, rows: DocValueCache, engine: str) -> None:
        """Take a client of the partitions, their rows, and the name of the engine that each ranks with."""
        self.client = client
        self.engine = engine
        self.doc_values = rows
        self._url_cache: dict[int, bytes] = {}

    def start_async(self, parsed: ParsedQuery) -> None:
        """Start nothing and return None: `plan` has nothing to wait for."""

    def plan(self, parsed: ParsedQuery) -> PartitionedPlan:
        """Return the query as partitions take it."""
        return PartitionedPlan(self, parsed)

    def cache_urls(self, hits: Mapping[int, Hit]) -> None:
        """Cache the URLs of rendered hits, by dense id."""
        if len(self._url_cache) > MAX_CACHED:
            self._url_cache = {}
        self._url_cache.update({doc: hit.url_json for doc, hit in hits.items()})

    def cached_url(self, doc: int) -> bytes | None:
        """Return the URL of a page as JSON text without quotes; None if it is not cached."""
        return self._url_cache.get(doc)

    def duplicates(self, doc: int) -> Sequence[int]:
        """Return ids of all near-duplicates of a page in all partitions, this page included; empty if it has none."""
        if not self.doc_values.row_of(doc)[-1]:
            return ()
        members_by_partition = self.client.search_each(methods.COPIES, self.doc_values.cluster[doc])
        copies = [
            (self.doc_values.global_id(partition, local_doc), row)
            for partition, members in members_by_partition.items()
            for local_doc, row in members
        ]
        for number, row in copies:
            self.doc_values.store(number, row)
        return [number for number, _ in copies]

    def terms(self, text: str, like: str = "") -> Sequence[str]:
        """Return the analyzed terms of a text, in the language that the text `like` seems to be in."""
        return self.client.call_first(methods.TERMS, self.engine, text, like) if like else analyze(text)

    def frequency(self, words: str) -> int:
        """Return the number of pages that have the rarest of the words; 0 if there are no words."""
        return self.client.call_first(methods.FREQUENCY, self.engine, words)

    def knows(self, word: str) -> bool:
        """Return True if a page has the word."""
        return bool(self.frequency(word))
