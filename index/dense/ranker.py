"""The port of ranking with vectors: by them alone, fused with the words, or with the best read by a cross-encoder.

Conditions of a query hold for what the vectors find as for what the words find. A query without words has no vector:
the engine answers it.
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
POOL = 200
"""How deep the two rankings are fused; below, the words alone rank."""
RERANKED = 50
STEP = 1e-8
"""Between the scores of what ranks below."""
PLANS = 256
"""Queries whose rankings are kept: for the next page, and for who asks the same."""
LISTED = 20_000
"""Conditions that so many pages meet are a list of pages; of wider ones each candidate is asked."""
ASKED = 20_000
"""So many candidates are asked at most."""

Among = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Plan:
    """A query made ready, and the upper part of its ranking."""

    words: Any
    """The engine's plan."""
    vector: Vector | None = None
    """None where there are no words."""
    conditions: Parsed | None = None
    """All but the words; None where nothing is asked."""
    entries: tuple[Entry, ...] = ()
    worded: frozenset[int] = frozenset()
    """What stands higher by its words than by its vectors."""


class HybridFinder:
    """Ranks pages in one of the modes that have vectors. Thread-safe."""

    def __init__(
        self, engine: Engine, store: Store, encoder: Encoder, mode: Mode = "hybrid", judge: Judge | None = None
    ) -> None:
        """`judge` is what `rerank` needs."""
        self._engine = engine
        self._store = store
        self._encoder = encoder
        self._mode = mode
        self._judge = judge
        self._among = lru_cache(64)(self._meeting)
        self._planned = lru_cache(PLANS)(self._plan)

    @property
    def columns(self) -> Numbers:
        return self._engine.columns

    is_long = True

    def ready(self, parsed: Parsed) -> Future[Vector] | None:
        """The vector that `plan` waits for; None where there are no words."""
        return self._encoder.ask(parsed.words) if parsed.words.strip() else None

    def plan(self, parsed: Parsed) -> Plan:
        """Rank what the query is answered with, but for what is far below."""
        return self._planned(parsed)

    def _plan(self, parsed: Parsed) -> Plan:
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
        """The best `limit` (score, dense id) by score, then URL; and whether there are no more."""
        if plan.vector is None:
            return self._engine.top(plan.words, limit)
        entries = plan.entries
        if limit <= len(entries):
            return list(entries[:limit]), False
        more, complete = self._below(plan, limit)
        known, last = {doc for _, doc in entries}, entries[-1][0] if entries else 1.0
        below = [doc for _, doc in more if doc not in known]
        ranked = [*entries, *[(last - STEP * place, doc) for place, doc in enumerate(below, 1)]]
        return ranked[:limit], complete and len(ranked) <= limit

    def _below(self, plan: Plan, limit: int) -> tuple[list[Entry], bool]:
        """The ranking that goes on where the plan's ends, from its beginning."""
        if self._mode == "dense" and plan.vector is not None:
            found = self._near(plan.vector, plan.conditions, limit, exact=True)
            return found, len(found) < limit
        return self._engine.top(plan.words, limit)

    def _near(self, vector: Vector, conditions: Parsed | None, limit: int, exact: bool = False) -> list[Entry]:
        """The nearest pages that meet the conditions."""
        among = self._among(conditions) if conditions else None
        if among is not None or conditions is None:
            return self._store.best(vector, limit, among, exact)
        plan, wanted = self._engine.plan(conditions), limit
        while True:
            wanted = min(4 * wanted, ASKED)
            found = self._store.best(vector, wanted, exact=exact)
            met = [entry for entry in found if self._engine.meets(plan, entry[1])]
            if len(met) >= limit or len(found) < wanted or wanted == ASKED:
                return met[:limit]

    def _meeting(self, conditions: Parsed) -> Among | None:
        """The pages that meet some conditions; None if they are too many to be listed."""
        found, complete = self._engine.top(self._engine.plan(conditions), LISTED)
        return np.array([doc for _, doc in found], np.uint32) if complete else None

    def _judged(self, judge: Judge, words: str, vector: Vector, entries: list[Entry]) -> list[Entry]:
        """The best, ordered anew by a model that reads them: above all others, between 2 and 3."""
        texts = [self._passage(vector, doc) for _, doc in entries]
        scores = [round(score, 4) for score in judge(words, texts)] if texts else []
        judged = [(2.5 + score / (1 + abs(score)) / 2, doc) for score, (_, doc) in zip(scores, entries, strict=True)]
        order = self._engine.columns.order
        return sorted(judged, key=lambda entry: (-entry[0], order[entry[1]]))

    def _passage(self, vector: Vector, doc: int) -> str:
        """The passage of a page that is nearest."""
        window = self._store.window(vector, doc)
        return windows(*self._engine.texts(doc), window + 1)[window]

    def hit(self, doc: int, score: float, plan: Plan) -> Hit:
        """What is shown of a page: out of its nearest passage, unless its words were what it was found by."""
        if plan.vector is None or doc in plan.worded:
            return self._engine.hit(doc, score, plan.words)
        return self._engine.hit(doc, score, plan.words, mask(self._store.window(plan.vector, doc)))

    def explain(self, doc: int, score: float, plan: Plan) -> dict[str, float]:
        """Its score here, and what the engine makes of it by its words."""
        by_words = {found: worth for worth, found in self._engine.top(plan.words, POOL)[0]}
        return {"score": round(score, 6)} | self._engine.explain(doc, by_words.get(doc, 0.0), plan.words)

    def copies(self, doc: int) -> Sequence[int]:
        return self._engine.copies(doc)

    def terms(self, text: str, like: str = "") -> list[str]:
        return self._engine.terms(text, like)

    def frequency(self, words: str) -> int:
        return self._engine.frequency(words)


def _without_words(parsed: Parsed) -> Parsed | None:
    """All that a query asks but its words, None for nothing."""
    if not parsed.conditional:
        return None
    return replace(parsed, words="", alone="", either=tuple(group for group in parsed.either if group.binds))
