"""Serves the partitions that one process has, and answers for all of them at once.

A search is answered with the best hits of all partitions of the process, so that a thousand partitions cost their
caller no more messages than there are processes. A partition that cannot be opened is named in the answer, and tried
again later.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby, islice
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from webemu.emulator.errors import EmulatorError, SnapshotError
from webemu.emulator.logs import event_extra
from webemu.emulator.query import ParsedQuery
from webemu.emulator.types import Capture
from webemu.index.index_reader import IndexFiles
from webemu.index.manifest import Manifest
from webemu.index.open import SnapshotPageStore, open_files
from webemu.index.partitions.engine import (
    GlobalTermStatistics,
    MissingTermCollector,
    PartitionEngine,
    TermKey,
    UnknownTermFrequency,
)
from webemu.index.partitions.merged_ranking import PartitionHit, PartitionRanking, merge_rankings
from webemu.index.partitions.methods import GROUP_METHODS, LISTING_BATCH, GroupAnswer, PartitionCall, SurtCaptures
from webemu.index.partitions.server import ENGINE_FUNCTIONS, PartitionServer
from webemu.index.partitions.split import PartitionSet, partition_folder, read_partitions
from webemu.index.rank import RERANK_DEPTH, Weights
from webemu.index.rank_plan import RankPlan
from webemu.index.titles import Completion, select_best

log = logging.getLogger("webemu.serve")

RENDERED_HITS = 20
"""Best hits that are sent rendered."""
MAX_OPEN_SETS = 4
"""Sets of partitions that stay open: the one that is served, and those that sessions began with."""
REOPEN_SECONDS = 1.0
"""Seconds after which a partition that could not be opened is tried again."""


OpenFiles = tuple[Manifest, IndexFiles, SnapshotPageStore]
"""An open snapshot."""


class PartitionGroup:
    """The partitions of one process. Each is opened when it is first needed. Read-only and thread-safe."""

    def __init__(self, collection: Path, parts: int) -> None:
        """Take the folder of the collection, and the number of partitions that it was split into."""
        self._collection = collection
        self._parts = parts
        self._sets: OrderedDict[str, _OpenSet] = OrderedDict()
        self._lock = Lock()

    def open(self, first: int, step: int) -> None:
        """Open every `step`-th partition of the served set from `first` on. Raises SnapshotError if there is no set."""
        partition_set = read_partitions(self._collection, self._parts)
        self._open_set(partition_set.id).servers(range(first, len(partition_set.snapshots), step))

    def answer(self, partitions: Sequence[int], call: PartitionCall) -> GroupAnswer:
        """Return what these partitions answer to a call.

        Raises:
            SnapshotError: there is no such set of partitions.
            EmulatorError: as the method raises it.
        """
        statistics, servers, lost = self._open_set(call.partition_set).servers(partitions)
        if call.are_final:
            statistics.learn(call.frequencies)
        else:
            statistics = statistics.extended(call.frequencies)
            servers = {number: server.with_statistics(statistics) for number, server in servers.items()}
        responders = _AskedPartitions(servers, statistics, set(lost))
        try:
            value = responders.answer(call.method, call.arguments)
        except UnknownTermFrequency:
            return GroupAnswer(None, responders.missing_terms(call.method, call.arguments), tuple(responders.lost))
        return GroupAnswer(value, (), tuple(sorted(responders.lost)))

    def _open_set(self, set_id: str) -> _OpenSet:
        """Return an open set of partitions, of which the latest are kept."""
        with self._lock:
            if (open_set := self._sets.get(set_id)) is None:
                partition_set = read_partitions(self._collection, self._parts, set_id)
                open_set = self._sets[set_id] = _OpenSet(self._collection, partition_set, list(self._sets.values()))
                while len(self._sets) > MAX_OPEN_SETS:
                    self._sets.popitem(last=False)
            self._sets.move_to_end(set_id)
            return open_set


class _OpenSet:
    """Partitions of one set, as far as they were opened."""

    def __init__(self, collection: Path, partition_set: PartitionSet, other_sets: Sequence[_OpenSet]) -> None:
        """Take over the partitions that other sets have open and that are of this one too."""
        self._collection = collection
        self._partition_set = partition_set
        self._statistics = partition_set.statistics()
        self._opened: dict[tuple[int, str], OpenFiles] = {
            key: open_set._opened[key]
            for open_set in other_sets
            for key in enumerate(partition_set.snapshots)
            if key in open_set._opened
        }
        """Open snapshots, by partition and id."""
        self._servers: dict[int, PartitionServer] = {}
        self._tried_at: dict[int, float] = {}
        """Times at which partitions could not be opened."""
        self._lock = Lock()

    def servers(self, partitions: Sequence[int]) -> tuple[GlobalTermStatistics, dict[int, PartitionServer], list[int]]:
        """Return the statistics of all partitions, these partitions by number, and those that cannot be opened."""
        servers, lost = {}, []
        for number in partitions:
            if (server := self._servers.get(number)) is None:
                server = self._open(number)
            if server is None:
                lost.append(number)
            else:
                servers[number] = server
        return self._statistics, servers, lost

    def _open(self, number: int) -> PartitionServer | None:
        """Return a partition, opened; None if it cannot be."""
        with self._lock:
            if number in self._servers:
                return self._servers[number]
            if monotonic() - self._tried_at.get(number, -REOPEN_SECONDS) < REOPEN_SECONDS:
                return None
            partition_set = self._partition_set
            try:
                snapshot = partition_set.snapshots[number]
                if (number, snapshot) not in self._opened:
                    home = partition_folder(self._collection, partition_set.parts, number)
                    self._opened[number, snapshot] = open_files(home, snapshot)
                manifest, files, page_store = self._opened[number, snapshot]
                self._servers[number] = PartitionServer(
                    page_store,
                    files,
                    Weights.from_manifest(manifest.weights),
                    self._statistics,
                    partition_set.superseded.get(number, {}),
                    partition_set.copies.get(number, {}),
                )
            except (EmulatorError, OSError, ValueError, IndexError) as error:
                log_fields = event_extra("partition_lost", partition=number)
                log.error("part %d of the index cannot be opened: %s", number, error, extra=log_fields)
                self._tried_at[number] = monotonic()
                return None
            return self._servers[number]


class _AskedPartitions:
    """The partitions that one call goes to."""

    def __init__(
        self, servers: Mapping[int, PartitionServer], statistics: GlobalTermStatistics, lost: set[int]
    ) -> None:
        self._servers = dict(servers)
        self._statistics = statistics
        self.lost = lost
        """Partitions that could not answer."""

    def answer(self, method: str, arguments: tuple[Any, ...]) -> object:
        """Return the answers of all partitions, or their one answer. Raises UnknownTermFrequency."""
        if method in GROUP_METHODS:
            return getattr(self, f"_{method}")(*arguments)
        answers = {}
        for number, server in list(self._servers.items()):
            try:
                answer = server.answer(method, arguments)
                if answer or len(self._servers) == 1:
                    answers[number] = answer
            except (SnapshotError, OSError):
                self._lose(number)
        return answers

    def missing_terms(self, method: str, arguments: tuple[Any, ...]) -> tuple[TermKey, ...]:
        """Return all terms that a call needs the frequencies of, instead of one for each round trip."""
        engine_name, *engine_arguments = arguments
        # All partitions read a query alike, so the first one knows what the others need.
        engine = next(iter(self._servers.values())).engine(engine_name)
        collector = MissingTermCollector.over_same_files(engine, self._statistics)
        assert isinstance(collector, MissingTermCollector)
        if method == "rank":
            collector.plan(engine_arguments[0])
        else:
            ENGINE_FUNCTIONS[method](collector, *engine_arguments)
        return tuple(sorted(collector.missing_terms))

    def _lose(self, number: int) -> None:
        """Go on without a partition whose files cannot be read."""
        self.lost.add(number)
        del self._servers[number]

    def _rank(self, engine_name: str, parsed: ParsedQuery, limit: int) -> PartitionRanking:
        """Return the best of all partitions by BM25, with the factors of the second stage."""
        plans: dict[int, RankPlan] = {}
        rankings = []
        for number, server in list(self._servers.items()):
            engine = server.engine(engine_name)
            plan = plans[number] = engine.plan(parsed)
            try:
                rankings.append(_rank_by_bm25(engine, plan, number, limit))
            except (SnapshotError, OSError, ValueError):
                self._lose(number)
        ranking = merge_rankings(rankings).cut(limit)
        factors = _rerank_factors(plans, ranking.hits[:RERANK_DEPTH]) if ranking.reranks else {}
        return ranking._replace(
            hits=[
                hit._replace(
                    factor=factors.get((hit.partition, hit.doc), 1.0),
                    row=self._servers[hit.partition].row(hit.doc),
                    hit=plans[hit.partition].render_hit(hit.doc, hit.score) if place < RENDERED_HITS else None,
                )
                for place, hit in enumerate(ranking.hits)
            ]
        )

    def _frequencies(self, keys: list[TermKey]) -> list[int]:
        """Return the number of pages of all partitions that have each term."""
        engines = [server.engine("full") for server in self._servers.values()]
        return [sum(engine.local_frequency(*key) for engine in engines) for key in keys]

    def _listing(self, first: str, last: str) -> list[SurtCaptures]:
        """Return the first keys of a listing."""
        listings = [_numbered_listing(number, server, first, last) for number, server in self._servers.items()]
        merged = merge(*listings, key=lambda entry: entry[0])
        grouped = ((key, [pair for _, pairs in same for pair in pairs]) for key, same in groupby(merged, _listing_key))
        return [(key.decode("utf-8", "surrogatepass"), pairs) for key, pairs in islice(grouped, LISTING_BATCH)]

    def _complete(self, prefix: str, limit: int) -> list[Completion]:
        """Return the best completions of titles."""
        stores = [server.page_store for server in self._servers.values()]
        return select_best((completion for store in stores for completion in store.complete(prefix, limit)), limit)


def _rank_by_bm25(engine: PartitionEngine, plan: RankPlan, number: int, limit: int) -> PartitionRanking:
    """Return the best of one partition."""
    hits, is_complete = plan.bm25_candidates(limit)
    order = engine.doc_values.order
    return PartitionRanking(
        [PartitionHit(score, number, doc, order[doc]) for score, doc in hits],
        is_complete,
        bool(plan.hashes),
        plan.reranks,
    )


def _rerank_factors(plans: Mapping[int, RankPlan], hits: Sequence[PartitionHit]) -> dict[tuple[int, int], float]:
    """Return the factors of the second stage by partition and dense id."""
    factors: dict[tuple[int, int], float] = {}
    for number in {hit.partition for hit in hits}:
        scored_docs = [(hit.score, hit.doc) for hit in hits if hit.partition == number]
        values = plans[number].rerank_factors(scored_docs)
        factors |= {(number, doc): value for (_, doc), value in zip(scored_docs, values, strict=True)}
    return factors


def _numbered_listing(
    number: int, server: PartitionServer, first: str, last: str
) -> Iterator[tuple[bytes, list[tuple[int, Capture]]]]:
    """Yield the keys of one partition's listing as bytes, which sort as listings do."""
    for key, captures in server.page_store.listing(first, last):
        yield key.encode("utf-8", "surrogatepass"), [(number, capture) for capture in captures]


def _listing_key(entry: tuple[bytes, list[tuple[int, Capture]]]) -> bytes:
    return entry[0]
