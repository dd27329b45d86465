"""Opens the search configuration that is measured, as a function from a query to ranked URLs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from webemu.emulator import ranking
from webemu.emulator.query import ParsedQuery
from webemu.emulator.types import Query
from webemu.emulator.world import MAX_RANK, World
from webemu.index.open import open_snapshot

RankFunction = Callable[[str], list[str]]
"""Function from a query to URLs, best first, none twice."""


@dataclass(frozen=True, slots=True)
class RankerConfig:
    """One search configuration."""

    collection: Path
    """Folder of the collection."""
    snapshot: str
    depth: int = 100
    """Number of results that are looked at."""
    engine: str = ""
    """Name of one of the snapshot's rankers; empty for its default."""
    as_shown: bool = False
    """True for results as an agent sees them (no duplicates, two per domain); False for the engine's ranking."""


def open_ranker(config: RankerConfig) -> RankFunction:
    """Open a configuration. Raises SnapshotError, and BadRequest if the snapshot has no such ranker."""
    world, depth = open_snapshot(config.collection, config.snapshot), config.depth
    world = world.with_engine(config.engine) if config.engine else world
    return (
        (lambda text: _search_results(world, text, depth))
        if config.as_shown
        else (lambda text: rank_live_pages(world, text, depth))
    )


def rank_live_pages(world: World, text: str, depth: int) -> list[str]:
    """Return the engine's own ranking of live pages."""
    return rank_parsed_query(world, world.parse(Query(text)), depth)


def rank_parsed_query(world: World, parsed: ParsedQuery, depth: int) -> list[str]:
    """Return the engine's own ranking of live pages for a parsed query, whose conditions all bind."""
    ranker = world.ranker
    plan, until = ranker.plan(parsed), ranker.doc_values.until
    limit = 2 * depth
    while True:  # a ranking may be short: it is cut before the tie at its end, and holds superseded captures
        entries, is_complete = plan.top(limit)
        live_entries = [entry for entry in entries if until[entry[1]] == ranking.FOREVER]
        if len(live_entries) >= depth or is_complete or limit >= ranking.MAX_DEPTH:
            return [plan.render_hit(doc, score).url for score, doc in live_entries[:depth]]
        limit *= 4


def _search_results(world: World, text: str, depth: int) -> list[str]:
    """Return the results that an agent is shown."""
    hits = world.search(Query(text, size=min(depth, MAX_RANK))).hits
    return list(dict.fromkeys(hit.url for hit in hits))
