"""Ranks over all partitions as over one index: the port `webemu.emulator.ports.Ranker` on remote partitions.

The partitions' rankings are merged by (BM25 score, rank of the URL); the best of all are then reranked as in one
index. Filters, host crowding and duplicate collapse are those of `webemu.emulator.ranking`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, Protocol

from webemu.emulator import ranking
from webemu.emulator.errors import SnapshotError
from webemu.emulator.ports import ScoredDoc
from webemu.emulator.query import ParsedQuery
from webemu.emulator.ranking import MAX_DEPTH
from webemu.emulator.types import Hit
from webemu.index.analysis import extract_terms as analyze
from webemu.index.partitions import methods
from webemu.index.partitions.engine import TermKey
from webemu.index.partitions.methods import Answer, Method
from webemu.index.partitions.server import DocRow, MissingTerms, PartitionHit, PartitionRanking
from webemu.index.rank import RERANK_DEPTH

MAX_CACHED = 1 << 18
"""Pages and terms that are cached, at most."""
MAX_ROUNDS = 50
"""Times that partitions may ask for more frequencies during one call: each round makes the next possible."""
_EMPTY_QUERY = ParsedQuery()


class PartitionTransport(Protocol):
    """Port: sends calls to the partitions, wherever they are."""

    def ask(
        self, partitions: Sequence[int], method: str, arguments: tuple[object, ...], frequencies: Mapping[TermKey, int]
    ) -> list[Any]:
        """Return what `PartitionServer.answer` returns in each of the partitions, in order."""


class PartitionClient:
    """Calls partitions, and supplies the term frequencies over all of them. Thread-safe."""

    def __init__(self, transport: PartitionTransport, count: int) -> None:
        self._transport = transport
        self.count = count
        self._frequency_cache: dict[TermKey, int] = {}

    def call_all(self, method: Method[Answer], *arguments: object) -> list[Answer]:
        """Return the answers of all partitions, in their order."""
        return self._call(range(self.count), method, arguments)

    def call_one(self, partition: int, method: Method[Answer], *arguments: object) -> Answer:
        """Return the answer of one partition."""
        return self._call([partition], method, arguments)[0]

    def _call(self, partitions: Sequence[int], method: Method[Answer], arguments: tuple[object, ...]) -> list[Answer]:
        """Call partitions again with the frequencies they miss, until all have answered.

        Raises SnapshotError after `MAX_ROUNDS`.
        """
        # What the frequencies of one round reveal (other readings, other words) may need further ones in the next.
        frequencies: dict[TermKey, int] = {}
        answers_by_partition: dict[int, Answer] = {}
        waiting = list(partitions)
        for _ in range(MAX_ROUNDS):
            answers = dict(zip(waiting, self._transport.ask(waiting, method.name, arguments, frequencies), strict=True))
            missing = {part: answer for part, answer in answers.items() if isinstance(answer, MissingTerms)}
            answers_by_partition |= {part: answer for part, answer in answers.items() if part not in missing}
            if not missing:
                return [answers_by_partition[part] for part in partitions]
            waiting = list(missing)
            frequencies |= self._global_frequencies(set(chain.from_iterable(one.keys for one in missing.values())))
        raise SnapshotError(
            f"partitions still miss term frequencies after {MAX_ROUNDS} rounds of {method.name!r}",
            action="rebuild them: webemu snapshots split COUNT",
        )

    def _global_frequencies(self, terms: set[TermKey]) -> dict[TermKey, int]:
        """Return the number of pages of all partitions that have each term."""
        if unknown_terms := sorted(terms - self._frequency_cache.keys()):
            if len(self._frequency_cache) > MAX_CACHED:
                self._frequency_cache = {}
            counts = self._transport.ask(range(self.count), "frequencies", (unknown_terms,), {})
            self._frequency_cache |= dict(zip(unknown_terms, map(sum, zip(*counts, strict=True)), strict=True))
        return {key: self._frequency_cache[key] for key in terms}


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
        partition = sum(base <= doc for base in self._bases) - 1  # bases ascend: count those not above the id
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


RankedEntry = tuple[tuple[float, int, int], int, PartitionHit]
"""(sort key, dense id over all partitions, hit of its partition)."""


class MergedRanking(NamedTuple):
    """The rankings of all partitions as one."""

    certain: list[RankedEntry]
    """The beginning of the merged ranking, as far as no partition can have better hits that it did not send."""
    is_complete: bool
    """True if no partition has more hits."""
    by_score: bool
    """True if anything ranks."""
    reranks: bool
    """True if there is a second stage."""

    def take(self, limit: int) -> tuple[list[RankedEntry] | None, bool]:
        """Return the first `limit` hits, and True if there are no more; None for the hits if more must be requested."""
        if self.is_complete and len(self.certain) < limit:
            return self.certain, True
        if not self.by_score:
            return (self.certain[:limit], False) if len(self.certain) >= limit else (None, False)
        # Widen the list until it does not end inside a tie, by the same factor as one index does.
        while limit <= len(self.certain):
            untied = self._count_untied(limit)
            if untied >= (RERANK_DEPTH if self.reranks else 1):
                return self.certain[:untied], False
            limit *= 16
        return (self.certain, True) if self.is_complete else (None, False)

    def _count_untied(self, count: int) -> int:
        """Return how many of the first `limit` hits come before those that tie with the last of them."""
        last_score = self.certain[count - 1][0][0]
        while count and self.certain[count - 1][0][0] == last_score:
            count -= 1
        return count


@dataclass(frozen=True, slots=True)
class PartitionedPlan:
    """A prepared query over all partitions: it is sent to them as it was parsed."""

    ranker: PartitionedRanker
    parsed: ParsedQuery
    hits: dict[int, Hit] = field(default_factory=dict)
    """Rendered hits that came with the ranking, by dense id."""

    def top(self, limit: int) -> tuple[list[ScoredDoc], bool]:
        """Return the best `limit` entries as `webemu.index.rank_plan.RankPlan.top` would from one index of all pages.

        Entries are sorted by score, then URL; those that tie with the last one are left out unless there are no more,
        which the second value says.
        """
        requested = limit
        while True:
            merged = self._merge(requested)
            needed = max(limit, RERANK_DEPTH) if merged.reranks else limit
            ranked_entries, is_complete = merged.take(needed)
            if is_complete or ranked_entries is not None or requested >= MAX_DEPTH:
                break
            # The partitions sent too few hits to know the order of so many: ask all of them for more.
            requested = min(4 * requested, MAX_DEPTH)
        ranked_entries = merged.certain if ranked_entries is None else ranked_entries
        self._cache_hits(ranked_entries)
        hits = [(hit.score, number) for _, number, hit in ranked_entries]
        if merged.reranks:
            best = [(-hit.score * hit.factor, hit.order, number) for _, number, hit in ranked_entries[:RERANK_DEPTH]]
            hits[:RERANK_DEPTH] = [(-score, number) for score, _, number in sorted(best)]
        return hits, is_complete

    def _merge(self, limit: int) -> MergedRanking:
        """Return the merged ranking of the best `limit` of every partition."""
        ranker = self.ranker
        ranked = ranker.client.call_all(methods.RANK, ranker.engine, self.parsed, limit)
        entries = sorted(self._keyed_entries(ranked), key=lambda entry: entry[0])
        certain = [entry for entry in entries if not _may_be_preceded(entry[0], ranked)]
        return MergedRanking(
            certain, all(ranking.is_complete for ranking in ranked), any(ranking.by_score for ranking in ranked),
            any(ranking.reranks for ranking in ranked),
        )  # fmt: skip

    def _keyed_entries(self, ranked: Sequence[PartitionRanking]) -> Iterator[RankedEntry]:
        """Yield every hit of every partition with its sort key."""
        global_id = self.ranker.doc_values.global_id
        for partition, partition_ranking in enumerate(ranked):
            for hit in partition_ranking.hits:
                yield _sort_key(partition_ranking, partition, hit), global_id(partition, hit.doc), hit

    def _cache_hits(self, ranked_entries: Sequence[RankedEntry]) -> None:
        """Cache the rows, rendered hits and URLs that came with a ranking."""
        rendered_hits = {number: hit.hit for _, number, hit in ranked_entries if hit.hit is not None}
        for _, number, hit in ranked_entries:
            self.ranker.doc_values.store(number, hit.row)
        self.hits.update(rendered_hits)
        self.ranker.cache_urls(rendered_hits)

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
        members_by_partition = self.client.call_all(methods.COPIES, self.doc_values.cluster[doc])
        copies = [
            (self.doc_values.global_id(partition, local_doc), row)
            for partition, members in enumerate(members_by_partition)
            for local_doc, row in members
        ]
        for number, row in copies:
            self.doc_values.store(number, row)
        return [number for number, _ in copies]

    def terms(self, text: str, like: str = "") -> Sequence[str]:
        """Return the analyzed terms of a text, in the language that the text `like` seems to be in."""
        return self.client.call_one(0, methods.TERMS, self.engine, text, like) if like else analyze(text)

    def frequency(self, words: str) -> int:
        """Return the number of pages that have the rarest of the words; 0 if there are no words."""
        return self.client.call_one(0, methods.FREQUENCY, self.engine, words)

    def knows(self, word: str) -> bool:
        """Return True if a page has the word."""
        return bool(self.frequency(word))


def _sort_key(ranking: PartitionRanking, partition: int, hit: PartitionHit) -> tuple[float, int, int]:
    """Return the sort key of a hit: score and URL. If nothing ranks, one page of each partition in turn."""
    return (-hit.score, hit.order, partition) if ranking.by_score else (0.0, hit.doc, partition)


def _may_be_preceded(key: tuple[float, int, int], ranked: Sequence[PartitionRanking]) -> bool:
    """True if a partition with more hits may have some that come before this key. A partition sends complete ties or
    none.
    """
    for partition, partition_ranking in enumerate(ranked):
        if partition_ranking.is_complete or not partition_ranking.hits:
            continue
        last = _sort_key(partition_ranking, partition, partition_ranking.hits[-1])
        if key[:1] > last[:1] if partition_ranking.by_score else key > last:
            return True
    return False
