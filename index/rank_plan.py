"""Runs a prepared query: the port `webemu.emulator.ports.SearchPlan` over one Tantivy index.

The first stage is BM25 by Tantivy. The second stage (`webemu.index.rank`) reorders the top. Plans are made by
`webemu.index.engine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tantivy import Query

from webemu.emulator.ports import ScoredDoc
from webemu.emulator.ranking import MAX_DEPTH
from webemu.emulator.types import Hit
from webemu.index.index_reader import ANY_TIME, SCORE, IndexReader, Period
from webemu.index.rank import LENGTHS, RERANK_DEPTH, rerank_factors
from webemu.index.record_reader import Pairs, Terms
from webemu.index.records import match_features, read_hit
from webemu.index.snippets import NO_CHOICE, SnippetChoice, choose_snippet

MAX_KEPT_HITS = 5000
"""Hits of a search that a plan keeps, at most: from so many the first thousand results are selected."""


@dataclass(frozen=True, slots=True)
class RerankInputs:
    """Words and pairs of words that the second stage of ranking looks for in the best pages."""

    terms: Terms = ()
    """Hashes of each word's readings and the word's rareness (idf); empty if nothing is reranked."""
    pairs: Pairs = ()
    """Neighbouring words of the query, each pair in its possible spellings."""
    period: Period = ANY_TIME
    """Times that the query wants pages to be from."""


NO_RERANKING = RerankInputs()
"""Inputs of a plan without a second stage."""


@dataclass(frozen=True, slots=True)
class RankPlan:
    """A prepared query: what Tantivy searches, and what snippets and the second stage look for."""

    reader: IndexReader
    query: Query | None
    """Tantivy query; None matches no page."""
    hashes: Sequence[int] = ()
    """Term hashes for the snippet, rarest first; empty if nothing ranks."""
    rerank: RerankInputs = NO_RERANKING
    snippets: SnippetChoice = NO_CHOICE
    """The choice of sentences that snippets show."""
    deepest_search: list[tuple[int, list[ScoredDoc]]] = field(default_factory=list)
    """The limit of the deepest search up to `MAX_KEPT_HITS` and its hits, which serve all smaller limits; empty before
    the first.
    """

    @property
    def reranks(self) -> bool:
        """True if there is a second stage, that is if a feature has a weight and the query has words."""
        return bool(self.rerank.terms)

    def top(self, limit: int) -> tuple[list[ScoredDoc], bool]:
        """Return the best `limit` (score, dense id) by score, then URL, and True if there are no more.

        Unless there are no more, hits that tie with the last one are left out, since others of the tie may be missing.
        If all hits tie, the search widens until the tie ends or `webemu.emulator.ranking.MAX_DEPTH` hits are read. A
        query without words ranks nothing: its hits come in the order of the crawl.
        """
        hits, is_complete = self.bm25_candidates(limit)
        if self.reranks:
            hits[:RERANK_DEPTH] = self._rerank(hits[:RERANK_DEPTH])
        return hits, is_complete

    def bm25_candidates(self, limit: int) -> tuple[list[ScoredDoc], bool]:
        """Return `top` as BM25 alone ranks it, with at least `RERANK_DEPTH` hits if there is a second stage."""
        if self.query is None:
            return [], True
        reranks = self.reranks
        limit = max(limit, RERANK_DEPTH) if reranks else limit
        hits, is_complete = self._search(self.query, limit)
        if self.hashes:
            # Widen the search until the second stage has enough hits above the tie at the end of the list.
            while not is_complete and _count_untied(hits) < (RERANK_DEPTH if reranks else 1) and limit < MAX_DEPTH:
                limit = min(16 * limit, MAX_DEPTH)
                hits, is_complete = self._search(self.query, limit)
            if not is_complete:
                hits = hits[: _count_untied(hits)] or hits
        return hits, is_complete

    def _search(self, query: Query, limit: int) -> tuple[list[ScoredDoc], bool]:
        """Return Tantivy's best `limit` hits, those of one score by URL if anything ranks, and True if there are no
        more.
        """
        deepest = self.deepest_search[0] if self.deepest_search else (0, [])
        if deepest[0] < limit:
            bases = self.reader.bases
            tantivy_hits = self.reader.search(query, limit)
            hits = [(score, bases[address.segment_ord] + address.doc) for score, address in tantivy_hits]
            deepest = limit, self.reader.break_ties(hits) if self.hashes else hits
            if limit <= MAX_KEPT_HITS:
                self.deepest_search[:] = [deepest]
        hits = deepest[1][:limit]
        # A limit of all documents is complete too, even if exactly as many were found.
        return hits, len(hits) < limit or limit >= self.reader.documents

    def _rerank(self, hits: list[ScoredDoc]) -> list[ScoredDoc]:
        """Return hits ordered by the second stage. No factor is below 1, so none falls below the hits that are not
        reranked.
        """
        scored_hits = [
            (score * multiplier, doc) for (score, doc), multiplier in zip(hits, self.rerank_factors(hits), strict=True)
        ]
        return self.reader.break_ties(sorted(scored_hits, key=SCORE, reverse=True))

    def rerank_factors(self, hits: Sequence[ScoredDoc]) -> list[float]:
        """Return the factor by which the second stage multiplies each hit's score, 1 or more."""
        reader, inputs = self.reader, self.rerank
        records = reader.read_records([doc for _, doc in hits])
        matched_features = match_features(records, inputs.terms, inputs.pairs)
        priors = None
        if reader.weights.has_prior or inputs.period != ANY_TIME:
            priors = [reader.document_prior(doc, inputs.period) for _, doc in hits]
        return rerank_factors(reader.weights, matched_features, priors)

    def render_hit(self, doc: int, score: float, passage_mask: int = 0) -> Hit:
        """Return what a result shows of a page: title, snippet, date.

        `passage_mask` has a bit for each passage that the snippet is chosen from; 0 allows all.
        """
        record = self.reader.read_record(doc)
        hit = read_hit(record, doc, score, self.hashes, passage_mask)
        return choose_snippet(hit, record, self.snippets) if self.snippets.characters else hit

    def explain(self, doc: int, score: float) -> dict[str, float]:
        """Return the features that ranked a page.

        These are `bm25`, the features of `webemu.index.rank`, and `factor`, by which BM25 was multiplied: 1 if the
        page was too far down to be reranked.
        """
        reranked = self.top(RERANK_DEPTH)[0][:RERANK_DEPTH] if self.reranks else []
        return self.explain_factors(doc, score, any(other == doc for _, other in reranked))

    def explain_factors(self, doc: int, score: float, is_best: bool) -> dict[str, float]:
        """Return `explain` for a page that is known to be among those reranked (`is_best`) or not."""
        reader, inputs = self.reader, self.rerank
        columns = reader.columns
        matched = match_features([reader.read_record(doc)], inputs.terms, inputs.pairs)[0]
        multiplier = 1.0
        if is_best:
            prior = reader.document_prior(doc, inputs.period)
            (multiplier,) = rerank_factors(reader.weights, [matched], [prior])
        title, passage, order, passages = matched
        features = {"bm25": score / multiplier, "title": title, "passage": passage, "order": order}
        features["length"] = LENGTHS[passages]
        features |= {"host": columns.host[doc], "address": columns.address[doc], "quality": columns.quality[doc]}
        features |= {"fresh": reader.freshness(doc, inputs.period), "factor": multiplier}
        return {name: round(value, 4) for name, value in features.items()}

    def matches(self, doc: int) -> bool:
        """True if a page is among all that the query matches."""
        return self.query is not None and self.reader.matches(self.query, doc)


def _count_untied(hits: Sequence[ScoredDoc]) -> int:
    """Return how many entries of a ranking come before those that tie with its last one."""
    last_score, end = hits[-1][0], len(hits)
    while end and hits[end - 1][0] == last_score:
        end -= 1
    return end
