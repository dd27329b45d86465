"""Merges rankings of several partitions into one: first inside a process that has many, then over all processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from webemu.emulator.types import Hit
from webemu.index.rank import RERANK_DEPTH

DocRow = tuple[int, int, int, int, int, bool]
"""(since, until, day, domain, cluster, True if the page has duplicates) of a page."""
NO_ROW: DocRow = (0, 0, 0, 0, 0, False)
"""Row of a hit that was not read yet."""
SortKey = tuple[float, int, int]
"""Key that a ranking is sorted by: score and URL, or the place in a partition if nothing ranks."""


class PartitionHit(NamedTuple):
    """A page in the ranking of a partition."""

    score: float
    """BM25 score."""
    partition: int
    """Number of the partition."""
    doc: int
    """Dense id inside the partition."""
    order: int
    """Rank of its URL among all URLs of the catalog that the partition was built of."""
    factor: float = 1.0
    """Factor of the second stage; 1 if there is none."""
    row: DocRow = NO_ROW
    hit: Hit | None = None
    """Rendered hit of the best; None for the others."""


class PartitionRanking(NamedTuple):
    """The ranking of one or several partitions."""

    hits: list[PartitionHit]
    """The best hits, sorted; those that tie are all here, or none of them."""
    is_complete: bool
    """True if there are no more hits."""
    by_score: bool
    """True if anything ranks; else the order is that of the partitions."""
    reranks: bool
    """True if there is a second stage."""

    def cut(self, limit: int) -> PartitionRanking:
        """Return the first `limit` hits, and further ones that tie with the last of them."""
        limit = max(limit, RERANK_DEPTH) if self.reranks else limit
        if len(self.hits) <= limit:
            return self
        end = limit
        while self.by_score and end < len(self.hits) and self.hits[end].score == self.hits[limit - 1].score:
            end += 1
        return self._replace(hits=self.hits[:end], is_complete=self.is_complete and end == len(self.hits))

    def take(self, limit: int) -> tuple[list[PartitionHit] | None, bool]:
        """Return the first `limit` hits, and True if there are no more; None for the hits if more must be requested."""
        if self.is_complete and len(self.hits) < limit:
            return self.hits, True
        if not self.by_score:
            return (self.hits[:limit], False) if len(self.hits) >= limit else (None, False)
        # Widen the list until it does not end inside a tie, by the same factor as one index does.
        while limit <= len(self.hits):
            untied = self._count_untied(limit)
            if untied >= (RERANK_DEPTH if self.reranks else 1):
                return self.hits[:untied], False
            limit *= 16
        return (self.hits, True) if self.is_complete else (None, False)

    def _count_untied(self, count: int) -> int:
        """Return how many of the first `count` hits come before those that tie with the last of them."""
        last_score = self.hits[count - 1].score
        while count and self.hits[count - 1].score == last_score:
            count -= 1
        return count


def merge_rankings(rankings: Sequence[PartitionRanking]) -> PartitionRanking:
    """Return rankings as one, as far as none of them can have better hits that it does not tell of.

    There is at least one hit if any ranking has hits: the first of all.
    """
    by_score = any(ranking.by_score for ranking in rankings)
    bounds = [ranking.hits[-1] for ranking in rankings if ranking.hits and not ranking.is_complete]
    hits = sorted((hit for ranking in rankings for hit in ranking.hits), key=_score_key if by_score else _place_key)
    if bounds and by_score:  # those that tie with the last hit of a ranking are all known
        best_bound = max(bound.score for bound in bounds)
        hits = [hit for hit in hits if hit.score >= best_bound]
    elif bounds:
        first_bound = min(map(_place_key, bounds))
        hits = [hit for hit in hits if _place_key(hit) <= first_bound]
    return PartitionRanking(
        hits, all(ranking.is_complete for ranking in rankings), by_score, any(ranking.reranks for ranking in rankings)
    )


def _score_key(hit: PartitionHit) -> SortKey:
    return (-hit.score, hit.order, hit.partition)


def _place_key(hit: PartitionHit) -> SortKey:
    """Return a key by which one page of each partition comes in turn."""
    return (0.0, hit.doc, hit.partition)
