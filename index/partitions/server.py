"""Serves one partition: answers the calls of those who query all partitions, with plain values in and out.

A query may come before the partition knows how frequent its words are over all partitions. Then the answer is
`MissingTerms`, and the call is repeated with their frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from webemu.emulator.query import Parsed
from webemu.emulator.types import Archive, Capture, Hit
from webemu.index.engine import Engine
from webemu.index.open import open_snapshot
from webemu.index.partitions.engine import Key, PartEngine, Statistics, Unknown, Wondering
from webemu.index.rank import DEPTH, PLAIN

SHOWN = 20
"""Best hits that are sent rendered."""
LISTED = 500
"""SURT keys of a listing that are sent at once."""

Row = tuple[int, int, int, int, int, bool]
"""(since, until, day, domain, cluster, True if the page has duplicates) of a page."""


class Found(NamedTuple):
    """A page in the ranking of one partition."""

    score: float
    """BM25 score."""
    doc: int
    """Dense id inside the partition."""
    order: int
    """Rank of its URL among all URLs of the collection."""
    factor: float
    """Factor of the second stage; 1 if there is none."""
    row: Row
    hit: Hit | None
    """Rendered hit of the best `RENDERED_HITS`; None for the others."""


class Ranked(NamedTuple):
    """The ranking of one partition."""

    found: list[Found]
    complete: bool
    """True if there are no more hits."""
    by_score: bool
    """True if anything ranks; else the order is that of the partition."""
    reranks: bool
    """True if there is a second stage."""


class Wanted(NamedTuple):
    """Terms whose global frequency a call needs."""

    keys: tuple[Key, ...]


class Holder:
    """An open partition. Read-only and thread-safe."""

    def __init__(self, home: Path, snapshot: str, statistics: Statistics) -> None:
        """Open a snapshot of the partition whose folder is `home`. Raises SnapshotError."""
        world = open_snapshot(home, snapshot)
        assert isinstance(world.finder, Engine)
        self._statistics = statistics
        full = PartEngine.like(world.finder, statistics)
        self._engines = {"full": full, "plain": full.variant(PLAIN), "weak": full.variant(PLAIN, "title")}
        self._shelf = world.shelf
        self._columns = full.columns

    def answer(self, method: str, given: tuple[Any, ...], known: Mapping[Key, int]) -> Any:
        """Return the result of a method of the engine or the page store; `MissingTerms` if frequencies are missing.

        `frequencies` has frequencies over all partitions, which are cached.
        """
        self._statistics.learn(known)
        if method in _OF_ENGINES:
            return self._of_engine(method, *given)
        own = getattr(self, f"_{method}", None)
        return own(*given) if own else getattr(self._shelf, method)(*given)

    def _of_engine(self, method: str, name: str, *given: Any) -> Any:
        """Call a function with the named engine."""
        asked = _OF_ENGINES[method]
        try:
            return asked(self._engines[name], *given)
        except Unknown:  # run once more to collect all unknown terms, instead of one per round trip
            wondering = Wondering.like(self._engines[name], self._statistics)
            assert isinstance(wondering, Wondering)
            asked(wondering, *given)
            return Wanted(tuple(sorted(wondering.wanted)))

    def _frequencies(self, keys: list[Key]) -> list[int]:
        return [self._engines["full"].own_frequency(*key) for key in keys]

    def _rows(self, docs: list[int]) -> list[Row]:
        return [row(self._engines["full"], doc) for doc in docs]

    def _copies_in(self, cluster: int) -> list[tuple[int, Row]]:
        engine = self._engines["full"]
        return [(doc, row(engine, doc)) for doc in engine.members(cluster)]

    def _listing(self, first: str, last: str) -> list[tuple[str, list[Capture]]]:
        return list(islice(self._shelf.listing(first, last), LISTED))

    def _bytes_of(self, archive: Archive, offset: int, length: int) -> list[bytes]:
        return list(self._shelf.bytes_of(archive, offset, length))

    def _nearest(self, word: str) -> list[str]:
        return list(self._shelf.nearest(word))


def row(engine: Engine, doc: int) -> Row:
    """Return the values that decide whether a page is shown."""
    columns, cluster = engine.columns, engine.columns.cluster[doc]
    is_copied = len(engine.members(cluster)) > 0
    return columns.since[doc], columns.until[doc], columns.day[doc], columns.domain[doc], cluster, is_copied


def ranked(engine: Engine, parsed: Parsed, limit: int) -> Ranked:
    """Return the best of a partition by BM25, with the factors of the second stage."""
    plan = engine.plan(parsed)
    hits, complete = engine.first(plan, limit)
    factors = engine.factors(plan, hits[:DEPTH]) if plan.terms else []
    order = engine.columns.order
    found = [
        Found(
            score, doc, order[doc], factors[place] if place < len(factors) else 1.0, row(engine, doc),
            engine.hit(doc, score, plan) if place < SHOWN else None,
        )
        for place, (score, doc) in enumerate(hits)
    ]  # fmt: skip
    return Ranked(found, complete, bool(plan.hashes), bool(plan.terms))


def _hit(engine: Engine, parsed: Parsed, doc: int, score: float) -> Hit:
    return engine.hit(doc, score, engine.plan(parsed))


def _told(engine: Engine, parsed: Parsed, doc: int, score: float, is_best: bool) -> dict[str, float]:
    return engine.told(doc, score, engine.plan(parsed), is_best)


_OF_ENGINES: Mapping[str, Any] = {
    "ranked": ranked,
    "hit": _hit,
    "told": _told,
    "terms": Engine.terms,
    "frequency": Engine.frequency,
}
