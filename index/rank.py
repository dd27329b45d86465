"""The second stage of ranking: one formula that multiplies the BM25 score of the best pages.

    score = BM25 x (1 + named x title + together x passage + ordered x order
                      + long x length x passage^2 + fresh x recency
                      + host x host + address x address + quality x quality)

Each feature is in [0, 1], so the factor is bounded by 1 plus the sum of the weights. Titles and link texts also count
in the first stage, inside the field that BM25 reads (`webemu.index.text`). docs/signals.md has the features and their
sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import log
from operator import add

from webemu.index.record_reader import MAX_PASSAGES, Features

HALF_RECENCY_DAYS = 365
"""Days of a year, after which recency is a half."""
RERANK_DEPTH = 20
"""Number of best pages that the second stage reorders."""
LENGTHS = (0.0, *(log(passages) / log(MAX_PASSAGES) for passages in range(1, MAX_PASSAGES + 1)))
"""Length of a text on a logarithmic scale, in [0, 1], by the number of passages in its record."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the ranking features of a snapshot. They are part of its id, and JSON of these names is accepted as
    input.
    """

    title: int = 2
    """Times that a title is written into the field that BM25 reads."""
    anchors: int = 2
    """Times that a link text is written into that field, at most; 0 leaves link texts out."""
    named: float = 2.0
    """Weight of the title match: the idf-weighted share of the query in the title, and the share of the title in the
    query.
    """
    together: float = 1.0
    """Weight of passage coverage: the idf-weighted share of the query in the passage that has most of it, and in the
    three neighbouring passages that have most of it; the mean of both.
    """
    ordered: float = 1.0
    """Weight of word order: the share of neighbouring query words that also stand side by side in those three
    passages.
    """
    fresh: float = 0.5
    """Weight of recency for queries that ask for new pages; a page a year older than the newest one has half of it."""
    host: float = 0.0
    """Weight of the host's link centrality."""
    address: float = 0.0
    """Weight of the URL's form: short and shallow is better."""
    quality: float = 0.0
    """Weight of the text's quality."""
    long: float = 0.3
    """Weight of the text's length, on a logarithmic scale, for pages that say the query in one place: BM25 divides by
    the length of reference pages more than is good for them, but without that condition long pages pass short ones.
    """

    @property
    def reranks(self) -> bool:
        """True if any feature has a weight, so that there is a second stage."""
        return self.has_prior or any((self.named, self.together, self.ordered, self.fresh, self.long))

    @property
    def has_prior(self) -> bool:
        """True if any query-independent feature has a weight."""
        return any((self.host, self.address, self.quality))

    @classmethod
    def from_manifest(cls, stored_weights: Mapping[str, float]) -> Weights:
        """Return the weights that a manifest holds; unknown names are ignored."""
        field_names = {field.name for field in fields(cls)}
        weights = {name: value for name, value in stored_weights.items() if name in field_names}
        defaults = cls()
        title, anchors = weights.pop("title", defaults.title), weights.pop("anchors", defaults.anchors)
        return cls(int(title), int(anchors), **weights)


FLAT_BM25 = Weights(title=1, anchors=0, named=0.0, together=0.0, ordered=0.0, fresh=0.0, long=0.0)
"""Weights of flat BM25: titles count once, link texts and the second stage not at all."""


def rerank_factors(
    weights: Weights, matched_features: Sequence[Features], priors: Iterable[float] | None = None
) -> list[float]:
    """Return the factors by which BM25 is multiplied; `priors` are what `document_prior` returns, None if all are 0."""
    named, together, ordered, long = weights.named, weights.together, weights.ordered, weights.long
    # One expression for all pages, since it is computed for twenty of every search.
    factors = [
        1.0 + named * title + together * passage + ordered * order + long * LENGTHS[passages] * passage * passage
        for title, passage, order, passages in matched_features
    ]
    return factors if priors is None else list(map(add, factors, priors))


def document_prior(weights: Weights, host: float, address: float, quality: float) -> float:
    """Return the query-independent part of a page's factor."""
    return weights.host * host + weights.address * address + weights.quality * quality


def recency(age: int) -> float:
    """Return the recency of a page that is `age` days older than the newest of the crawl, in [0, 1]."""
    return HALF_RECENCY_DAYS / (HALF_RECENCY_DAYS + max(0, age))
