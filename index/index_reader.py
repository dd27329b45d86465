"""Reads the open index of a snapshot for ranking: Tantivy hits, result records and per-document values.

It knows neither queries nor rankings: `webemu.index.engine` makes plans of parsed queries and
`webemu.index.rank_plan` runs them, both on one `IndexReader`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

import tantivy
from tantivy import DocAddress, Query

from webemu.emulator.dates import format_day
from webemu.emulator.ports import ScoredDoc
from webemu.index.blobs import Blobs
from webemu.index.columns import Columns
from webemu.index.duplicate_clusters import Duplicates
from webemu.index.rank import Weights, document_prior, recency
from webemu.index.records import is_published

DAY_SECONDS = 86_400
"""Seconds of a day."""
SCORE = itemgetter(0)
"""Returns the score of a ranked page."""
TantivyHit = tuple[float, DocAddress]
"""One page as Tantivy ranks it: (score, address)."""


@dataclass(frozen=True, slots=True)
class IndexFiles:
    """The open files of a snapshot that rankings are made of."""

    index: tantivy.Index
    bases: Sequence[int]
    """First dense id of each Tantivy segment."""
    records: Sequence[Blobs]
    """Result records of each shard."""
    record_bases: Sequence[int]
    """First dense id of each shard's result records."""
    columns: Columns
    duplicates: Duplicates


class Period(NamedTuple):
    """Times that a query wants pages to be from."""

    is_recent: bool = False
    years: frozenset[int] = frozenset()


ANY_TIME = Period()
"""No wish."""


class IndexReader:
    """Reads pages of an index by dense id. Read-only and thread-safe."""

    def __init__(self, files: IndexFiles, weights: Weights, documents: int, newest_day: int | None) -> None:
        """Take the open files and the weights of the ranking features.

        - documents: as the attribute
        - newest_day: day number of the last capture of the crawl; None to read it from the columns
        """
        self.searcher = files.index.searcher()
        self.bases = files.bases
        """First dense id of each Tantivy segment."""
        # Segments in the order of their dense ids, to find the segment of a page by bisection.
        self._segments_by_base = sorted(zip(files.bases, range(len(files.bases)), strict=True))
        self._records = files.records
        self._record_bases = files.record_bases
        self.columns = files.columns
        self.weights = weights
        self.documents = documents
        """Number of searchable pages, of all partitions if the index is partitioned."""
        self._known_newest_day = newest_day

    def search(self, query: Query, limit: int) -> list[TantivyHit]:
        """Return Tantivy's best `limit` hits."""
        return self.searcher.search(query, limit, count=False).hits

    def matches(self, query: Query, doc: int) -> bool:
        """True if a page is among all that a Tantivy query matches."""
        base, segment = self._segments_by_base[bisect_right(self._segments_by_base, doc, key=itemgetter(0)) - 1]
        address = DocAddress(segment, doc - base)
        try:  # wrapped in a constant score: a bare MustNot query claims to match the first page of each segment
            return bool(Query.const_score_query(query, 1.0).explain(self.searcher, address))
        except ValueError:  # the library raises for a page that does not match
            return False

    def read_record(self, doc: int) -> memoryview:
        """Return the result record of a page."""
        bases = self._record_bases
        shard = len(bases) - 1
        while bases[shard] > doc:  # a linear scan, since there are few shards
            shard -= 1
        return self._records[shard][doc - bases[shard]]

    def read_records(self, docs: Iterable[int]) -> list[memoryview]:
        """Return the result records of pages, as `read_record` does."""
        bases, shards, last = self._record_bases, self._records, len(self._record_bases) - 1
        records = []
        for doc in docs:
            shard = last
            while bases[shard] > doc:
                shard -= 1
            records.append(shards[shard][doc - bases[shard]])
        return records

    def break_ties(self, hits: list[ScoredDoc]) -> list[ScoredDoc]:
        """Return hits that are sorted by score with equal scores sorted by URL. Changes the list in place."""
        if len(set(map(SCORE, hits))) == len(hits):  # as in most rankings
            return hits
        order, end = self.columns.order, 0  # `end`: hits before it are in their final order
        for start in [
            start for start, (score, next_score) in enumerate(pairwise(map(SCORE, hits))) if score == next_score
        ]:
            if start >= end:
                end = start + 2
                while end < len(hits) and hits[end][0] == hits[start][0]:
                    end += 1
                hits[start:end] = sorted(hits[start:end], key=lambda hit: order[hit[1]])
        return hits

    def document_prior(self, doc: int, period: Period) -> float:
        """Return the query-independent part of a page's factor, and how well the page fits the wanted time."""
        columns = self.columns
        prior = document_prior(self.weights, columns.host[doc], columns.address[doc], columns.quality[doc])
        return prior + self.weights.fresh * self.freshness(doc, period) if period != ANY_TIME else prior

    def freshness(self, doc: int, period: Period) -> float:
        """Return how well a page fits the time that a query wants, in [0, 1].

        It is the page's recency if recent pages are wanted. Otherwise it is 1 for a page whose own publication date
        is in a year that the query names, and 0 for others.
        """
        day = self.columns.day[doc]
        if period.is_recent:
            return recency(self._newest_day - day)
        return float(int(format_day(day)[:4]) in period.years and is_published(self.read_record(doc)))

    @cached_property
    def _newest_day(self) -> int:
        """Day number of the last capture of the crawl."""
        if self._known_newest_day is not None:
            return self._known_newest_day
        return max(self.columns.since, default=0) // DAY_SECONDS
