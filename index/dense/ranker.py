"""Ranks with vectors: by them alone, fused with BM25, or with the best hits read by a cross-encoder.

This is the port `Ranker` over a snapshot with vectors. Conditions of a query hold for hits of the vectors as for
hits of the words. A query without words has no vector: the lexical engine answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from webemu.emulator.negations import drop_unwanted_words
from webemu.emulator.ports import DocValues, ScoredDoc
from webemu.emulator.query import ParsedQuery
from webemu.emulator.types import Hit
from webemu.index.dense.encoder import InlineEncoder, QueryEncoder
from webemu.index.dense.fusion import fuse_scores
from webemu.index.dense.model import PassageScorer
from webemu.index.dense.passages import cut_windows, window_mask
from webemu.index.dense.rescoring import Rescorer
from webemu.index.dense.store import Vector, VectorStore
from webemu.index.engine import RankEngine
from webemu.index.rank_plan import RankPlan

Mode = Literal["bm25", "dense", "hybrid", "rerank"]
"""Way of ranking."""
FUSION_DEPTH = 200
"""Depth of the two rankings that are fused; below it the words alone rank."""
RESCORED_DEPTH = 100
"""Depth of the ranking of words that a rescorer reads."""
CROSS_ENCODER_DEPTH = 50
"""Best hits that the cross-encoder reads."""
SCORE_STEP = 1e-8
"""Score difference between neighbours below the pool."""
CACHED_PLANS = 256
"""Queries whose rankings are cached, for their next pages and for repetitions."""
MAX_LISTED = 20_000
"""Pages up to which conditions become a list of ids; for wider conditions each candidate is checked."""
MAX_CHECKED = 20_000
"""Candidates that are checked at most."""

DocIds = NDArray[np.uint32]
"""Dense ids that a search is limited to."""


@dataclass(frozen=True, slots=True)
class HybridPlan:
    """A prepared query, with the upper part of its ranking."""

    ranker: HybridRanker
    lexical_plan: RankPlan
    """Plan of the lexical engine."""
    vector: Vector | None = None
    """Vector of the query; None if it has no words."""
    conditions: ParsedQuery | None = None
    """The query without its words; None if nothing else remains."""
    entries: tuple[ScoredDoc, ...] = ()
    """The fused or dense ranking, to depth `FUSION_DEPTH`."""
    lexical_docs: frozenset[int] = frozenset()
    """Pages that rank at least as high by words as by vectors; their snippet is chosen by words."""
    found_by_words: bool = False
    """True if the words found all pages, so that every snippet is chosen by words."""

    def top(self, limit: int) -> tuple[list[ScoredDoc], bool]:
        """Return the best `limit` (score, dense id) by score, then URL, and True if there are no more."""
        if self.vector is None:
            return self.lexical_plan.top(limit)
        entries = self.entries
        if limit <= len(entries):
            return list(entries[:limit]), False
        continued, is_complete = self.ranker.continue_ranking(self, limit)
        ranked_ids, last_score = {doc for _, doc in entries}, entries[-1][0] if entries else 1.0
        below = [doc for _, doc in continued if doc not in ranked_ids]
        # Pages below the pool have no fused score: theirs only continues downwards, to keep the order.
        ranked = [*entries, *[(last_score - SCORE_STEP * offset, doc) for offset, doc in enumerate(below, 1)]]
        return ranked[:limit], is_complete and len(ranked) <= limit

    def render_hit(self, doc: int, score: float) -> Hit:
        """Return what a result shows of a page: a snippet of its nearest passage, unless it was found by its words."""
        if self.vector is None or self.found_by_words or doc in self.lexical_docs:
            return self.lexical_plan.render_hit(doc, score)
        return self.lexical_plan.render_hit(doc, score, self.ranker.nearest_window_mask(self.vector, doc))

    def explain(self, doc: int, score: float) -> dict[str, float]:
        """Return the page's `score` here, and the features of the lexical engine."""
        lexical_scores = {ranked_doc: bm25 for bm25, ranked_doc in self.lexical_plan.top(FUSION_DEPTH)[0]}
        return {"score": round(score, 6)} | self.lexical_plan.explain(doc, lexical_scores.get(doc, 0.0))


class HybridRanker:
    """The port `Ranker` in one of the modes that use vectors. Thread-safe."""

    def __init__(
        self,
        engine: RankEngine,
        store: VectorStore,
        encoder: QueryEncoder | InlineEncoder,
        mode: Mode = "hybrid",
        cross_encoder: PassageScorer | None = None,
        rescorer: Rescorer | None = None,
    ) -> None:
        """Take the lexical engine, the vectors and the query encoder; mode `rerank` also needs the cross-encoder.

        With a rescorer the mode `hybrid` compares only the first pages of the words, which costs little.
        """
        self._engine = engine
        self._store = store
        self._encoder = encoder
        self._mode = mode
        self._cross_encoder = cross_encoder
        self._rescorer = rescorer
        self._cached_matching_docs = lru_cache(64)(self._find_matching)
        self._cached_plan = lru_cache(CACHED_PLANS)(self._make_plan)

    @property
    def doc_values(self) -> DocValues:
        """Per-document values of the snapshot."""
        return self._engine.doc_values

    @property
    def is_slow(self) -> bool:
        """True if encoding a query, or comparing all pages, takes too long for an event loop."""
        return self._rescorer is None

    def start_async(self, parsed: ParsedQuery) -> Future[Vector] | None:
        """Start encoding the query, and return a future of its vector; None if it has no words or takes no time."""
        return self._encoder.submit(parsed.words) if self.is_slow and parsed.words.strip() else None

    def plan(self, parsed: ParsedQuery) -> HybridPlan:
        """Return the prepared query with the upper part of its ranking; waits for the vector. Cached."""
        # Rescoring costs less than what a cache of long rankings does to the collection of garbage.
        return self._cached_plan(parsed) if self._rescorer is None else self._rescore(self._rescorer, parsed)

    def _rescore(self, rescorer: Rescorer, parsed: ParsedQuery) -> HybridPlan:
        """Return the plan of the words with its first pages rescored."""
        lexical_plan = self._engine.plan(parsed)
        if not parsed.words.strip():
            return HybridPlan(self, lexical_plan)
        vector = self._encoder.encode(drop_unwanted_words(parsed.words) or parsed.words)
        entries = rescorer.rescore(vector, lexical_plan.top(RESCORED_DEPTH)[0][:RESCORED_DEPTH])
        return HybridPlan(self, lexical_plan, vector, None, tuple(entries), found_by_words=True)

    def _make_plan(self, parsed: ParsedQuery) -> HybridPlan:
        """Compute what `plan` returns."""
        lexical_plan = self._engine.plan(parsed)
        if not parsed.words.strip():
            return HybridPlan(self, lexical_plan)
        vector, conditions = self._encoder.encode(parsed.words), _without_words(parsed)
        near = self._nearest(vector, conditions, FUSION_DEPTH)
        if self._mode == "dense":
            return HybridPlan(self, lexical_plan, vector, conditions, tuple(near))
        lexical_entries = lexical_plan.top(FUSION_DEPTH)[0][:FUSION_DEPTH]
        lexical_ids = np.array([doc for _, doc in lexical_entries], np.uint32)
        entries = fuse_scores(
            lexical_entries,
            near + self._store.nearest(vector, FUSION_DEPTH, lexical_ids),
            self._engine.doc_values.order,
        )
        if self._cross_encoder is not None:
            entries[:CROSS_ENCODER_DEPTH] = self._rerank(
                self._cross_encoder, parsed.words, vector, entries[:CROSS_ENCODER_DEPTH]
            )
        dense_ranks = {doc: rank for rank, (_, doc) in enumerate(near)}
        lexical_docs = frozenset(
            doc for rank, (_, doc) in enumerate(lexical_entries) if rank <= dense_ranks.get(doc, rank)
        )
        return HybridPlan(self, lexical_plan, vector, conditions, tuple(entries), lexical_docs)

    def continue_ranking(self, plan: HybridPlan, limit: int) -> tuple[list[ScoredDoc], bool]:
        """Return the ranking that continues below the plan's entries, from its beginning."""
        if self._mode == "dense" and plan.vector is not None:
            dense_entries = self._nearest(plan.vector, plan.conditions, limit, exact=True)
            return dense_entries, len(dense_entries) < limit
        return plan.lexical_plan.top(limit)

    def _nearest(
        self, vector: Vector, conditions: ParsedQuery | None, limit: int, exact: bool = False
    ) -> list[ScoredDoc]:
        """Return the nearest pages that meet the conditions."""
        doc_ids = self._cached_matching_docs(conditions) if conditions else None
        if doc_ids is not None or conditions is None:
            return self._store.nearest(vector, limit, doc_ids, exact)
        plan, requested = self._engine.plan(conditions), limit
        # Conditions that many pages meet: look at ever more candidates until enough of them meet the conditions.
        while True:
            requested = min(4 * requested, MAX_CHECKED)
            candidates = self._store.nearest(vector, requested, exact=exact)
            matching = [entry for entry in candidates if plan.matches(entry[1])]
            if len(matching) >= limit or len(candidates) < requested or requested == MAX_CHECKED:
                return matching[:limit]

    def _find_matching(self, conditions: ParsedQuery) -> DocIds | None:
        """Return the pages that meet the conditions; None if they are too many to list."""
        entries, is_complete = self._engine.plan(conditions).top(MAX_LISTED)
        return np.array([doc for _, doc in entries], np.uint32) if is_complete else None

    def _rerank(
        self, cross_encoder: PassageScorer, words: str, vector: Vector, entries: list[ScoredDoc]
    ) -> list[ScoredDoc]:
        """Return entries in the order of the cross-encoder, with scores between 2 and 3, which is above all others."""
        texts = [self._nearest_window(vector, doc) for _, doc in entries]
        scores = [round(score, 4) for score in cross_encoder(words, texts)] if texts else []
        # Squashed into (2, 3): fused scores are at most 2 (a share of 1 plus a cosine of 1), so the order is kept.
        scored_entries = [
            (2.5 + score / (1 + abs(score)) / 2, doc) for score, (_, doc) in zip(scores, entries, strict=True)
        ]
        order = self._engine.doc_values.order
        return sorted(scored_entries, key=lambda entry: (-entry[0], order[entry[1]]))

    def _nearest_window(self, vector: Vector, doc: int) -> str:
        """Return the passage of a page that is nearest to the query."""
        window = self._store.best_window(vector, doc)
        return cut_windows(*self._engine.read_texts(doc), window + 1)[window]

    def nearest_window_mask(self, vector: Vector, doc: int) -> int:
        """Return the mask of the passages of a page that are nearest to the query, for a snippet."""
        return window_mask(self._store.best_window(vector, doc))

    def duplicates(self, doc: int) -> Sequence[int]:
        """Return ids of all near-duplicates of a page, this page included; empty if it has none."""
        return self._engine.duplicates(doc)

    def terms(self, text: str, like: str = "") -> list[str]:
        """Return the analyzed terms of a text, in the language that the text `like` seems to be in."""
        return self._engine.terms(text, like)

    def frequency(self, words: str) -> int:
        """Return the number of pages that have the rarest of the words; 0 if there are no words."""
        return self._engine.frequency(words)

    def knows(self, word: str) -> bool:
        """Return True if a page has the word."""
        return self._engine.knows(word)


def _without_words(parsed: ParsedQuery) -> ParsedQuery | None:
    """Return the query without its words; None if no condition remains."""
    if not parsed.has_filters:
        return None
    return replace(
        parsed, words="", words_outside_groups="", any_of=tuple(group for group in parsed.any_of if group.is_filter)
    )
