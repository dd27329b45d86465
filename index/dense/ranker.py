"""Ranks with vectors: by them alone, fused with BM25, or with the best hits read by a cross-encoder.

This is the port `Ranker` over a snapshot with vectors. Conditions of a query hold for hits of the vectors as for hits
of the words. A query without words has no vector: the lexical engine answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from webemu.emulator.ports import Entry, Numbers
from webemu.emulator.query import Parsed
from webemu.emulator.types import Hit
from webemu.index.dense.encoder import Encoder
from webemu.index.dense.fusion import fused
from webemu.index.dense.model import Judge
from webemu.index.dense.passages import mask, windows
from webemu.index.dense.store import Store, Vector
from webemu.index.engine import Engine

Mode = Literal["bm25", "dense", "hybrid", "rerank"]
"""Way of ranking."""
POOL = 200
"""Depth of the two rankings that are fused; below it the words alone rank."""
RERANKED = 50
"""Best hits that the cross-encoder reads."""
STEP = 1e-8
"""Score difference between neighbours below the pool."""
PLANS = 256
"""Queries whose rankings are cached, for their next pages and for repetitions."""
LISTED = 20_000
"""Pages up to which conditions become a list of ids; for wider conditions each candidate is checked."""
ASKED = 20_000
"""Candidates that are checked at most."""

Among = NDArray[np.uint32]
"""Dense ids that a search is limited to."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A prepared query, with the upper part of its ranking."""

    words: Any
    """Plan of the lexical engine."""
    vector: Vector | None = None
    """Vector of the query; None if it has no words."""
    conditions: Parsed | None = None
    """The query without its words; None if nothing else remains."""
    entries: tuple[Entry, ...] = ()
    """The fused or dense ranking, to depth `FUSION_DEPTH`."""
    worded: frozenset[int] = frozenset()
    """Pages that rank at least as high by words as by vectors; their snippet is chosen by words."""


class HybridFinder:
    """The port `Ranker` in one of the modes that use vectors. Thread-safe."""

    def __init__(
        self, engine: Engine, store: Store, encoder: Encoder, mode: Mode = "hybrid", judge: Judge | None = None
    ) -> None:
        """Take the lexical engine, the vectors and the query encoder; mode `rerank` also needs the cross-encoder
        `judge`.
        """
        self._engine = engine
        self._store = store
        self._encoder = encoder
        self._mode = mode
        self._judge = judge
        self._among = lru_cache(64)(self._meeting)
        self._planned = lru_cache(PLANS)(self._plan)

    @property
    def columns(self) -> Numbers:
        """Per-document values of the snapshot."""
        return self._engine.columns

    is_long = True
    """True: encoding a query takes too long for an event loop."""

    def ready(self, parsed: Parsed) -> Future[Vector] | None:
        """Start encoding the query, and return a future of its vector; None if it has no words."""
        return self._encoder.ask(parsed.words) if parsed.words.strip() else None

    def plan(self, parsed: Parsed) -> Plan:
        """Return the prepared query with the upper part of its ranking; waits for the vector. Cached."""
        return self._planned(parsed)

    def _plan(self, parsed: Parsed) -> Plan:
        """Compute what `plan` returns."""
        words = self._engine.plan(parsed)
        if not parsed.words.strip():
            return Plan(words)
        vector, conditions = self._encoder.vector(parsed.words), _without_words(parsed)
        near = self._near(vector, conditions, POOL)
        if self._mode == "dense":
            return Plan(words, vector, conditions, tuple(near))
        found = self._engine.top(words, POOL)[0][:POOL]
        others = np.array([doc for _, doc in found], np.uint32)
        entries = fused(found, near + self._store.best(vector, POOL, others), self._engine.columns.order)
        if self._judge is not None:
            entries[:RERANKED] = self._judged(self._judge, parsed.words, vector, entries[:RERANKED])
        places = {doc: place for place, (_, doc) in enumerate(near)}
        worded = frozenset(doc for place, (_, doc) in enumerate(found) if place <= places.get(doc, place))
        return Plan(words, vector, conditions, tuple(entries), worded)

    def top(self, plan: Plan, limit: int) -> tuple[list[Entry], bool]:
        """Return the best `limit` (score, dense id) by score, then URL, and True if there are no more."""
        if plan.vector is None:
            return self._engine.top(plan.words, limit)
        entries = plan.entries
        if limit <= len(entries):
            return list(entries[:limit]), False
        more, complete = self._below(plan, limit)
        known, last = {doc for _, doc in entries}, entries[-1][0] if entries else 1.0
        below = [doc for _, doc in more if doc not in known]
        # Pages below the pool have no fused score: theirs only continues downwards, to keep the order.
        ranked = [*entries, *[(last - STEP * place, doc) for place, doc in enumerate(below, 1)]]
        return ranked[:limit], complete and len(ranked) <= limit

    def _below(self, plan: Plan, limit: int) -> tuple[list[Entry], bool]:
        """Return the ranking that continues below the plan's entries, from its beginning."""
        if self._mode == "dense" and plan.vector is not None:
            found = self._near(plan.vector, plan.conditions, limit, exact=True)
            return found, len(found) < limit
        return self._engine.top(plan.words, limit)

    def _near(self, vector: Vector, conditions: Parsed | None, limit: int, exact: bool = False) -> list[Entry]:
        """Return the nearest pages that meet the conditions."""
        among = self._among(conditions) if conditions else None
        if among is not None or conditions is None:
            return self._store.best(vector, limit, among, exact)
        plan, wanted = self._engine.plan(conditions), limit
        # Conditions that many pages meet: look at ever more candidates until enough of them meet the conditions.
        while True:
            wanted = min(4 * wanted, ASKED)
            found = self._store.best(vector, wanted, exact=exact)
            met = [entry for entry in found if self._engine.meets(plan, entry[1])]
            if len(met) >= limit or len(found) < wanted or wanted == ASKED:
                return met[:limit]

    def _meeting(self, conditions: Parsed) -> Among | None:
        """Return the pages that meet the conditions; None if they are too many to list."""
        found, complete = self._engine.top(self._engine.plan(conditions), LISTED)
        return np.array([doc for _, doc in found], np.uint32) if complete else None

    def _judged(self, judge: Judge, words: str, vector: Vector, entries: list[Entry]) -> list[Entry]:
        """Return entries in the order of the cross-encoder, with scores between 2 and 3, which is above all others."""
        texts = [self._passage(vector, doc) for _, doc in entries]
        scores = [round(score, 4) for score in judge(words, texts)] if texts else []
        # Squashed into (2, 3): fused scores are at most 2 (a share of 1 plus a cosine of 1), so the order is kept.
        judged = [(2.5 + score / (1 + abs(score)) / 2, doc) for score, (_, doc) in zip(scores, entries, strict=True)]
        order = self._engine.columns.order
        return sorted(judged, key=lambda entry: (-entry[0], order[entry[1]]))

    def _passage(self, vector: Vector, doc: int) -> str:
        """Return the passage of a page that is nearest to the query."""
        window = self._store.window(vector, doc)
        return windows(*self._engine.texts(doc), window + 1)[window]

    def hit(self, doc: int, score: float, plan: Plan) -> Hit:
        """Return what a result shows of a page: a snippet of its nearest passage, unless it was found by its words."""
        if plan.vector is None or doc in plan.worded:
            return self._engine.hit(doc, score, plan.words)
        return self._engine.hit(doc, score, plan.words, mask(self._store.window(plan.vector, doc)))

    def explain(self, doc: int, score: float, plan: Plan) -> dict[str, float]:
        """Return the page's `score` here, and the features of the lexical engine."""
        by_words = {found: worth for worth, found in self._engine.top(plan.words, POOL)[0]}
        return {"score": round(score, 6)} | self._engine.explain(doc, by_words.get(doc, 0.0), plan.words)

    def copies(self, doc: int) -> Sequence[int]:
        """Return ids of all near-duplicates of a page, this page included; empty if it has none."""
        return self._engine.copies(doc)

    def terms(self, text: str, like: str = "") -> list[str]:
        """Return the analyzed terms of a text, in the language that the text `like` seems to be in."""
        return self._engine.terms(text, like)

    def frequency(self, words: str) -> int:
        """Return the number of pages that have the rarest of the words; 0 if there are no words."""
        return self._engine.frequency(words)


def _without_words(parsed: Parsed) -> Parsed | None:
    """Return the query without its words; None if no condition remains."""
    if not parsed.conditional:
        return None
    return replace(parsed, words="", alone="", either=tuple(group for group in parsed.either if group.binds))
