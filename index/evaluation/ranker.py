"""Opens the search configuration that is measured, as a function from a query to ranked URLs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from webemu.emulator import ranking
from webemu.emulator.query import parse
from webemu.emulator.types import Query
from webemu.emulator.world import DEEPEST, World
from webemu.index.open import open_snapshot

Ranker = Callable[[str], list[str]]
"""Function from a query to URLs, best first, none twice."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One search configuration."""

    collection: Path
    """Folder of the collection."""
    snapshot: str
    depth: int = 100
    """Number of results that are looked at."""
    engine: str = ""
    """Name of one of the snapshot's rankers; empty for its default."""
    shown: bool = False
    """True for results as an agent sees them (no duplicates, two per domain); False for the engine's ranking."""


def ranker(setting: Setting) -> Ranker:
    """Open a configuration. Raises SnapshotError, and BadRequest if the snapshot has no such ranker."""
    world, depth = open_snapshot(setting.collection, setting.snapshot), setting.depth
    world = world.through(setting.engine) if setting.engine else world
    return (lambda text: _shown(world, text, depth)) if setting.shown else (lambda text: ranked(world, text, depth))


def ranked(world: World, text: str, depth: int) -> list[str]:
    """Return the engine's own ranking of live pages."""
    finder = world.finder
    plan, until = finder.plan(parse(text)), finder.columns.until
    limit = 2 * depth
    while True:  # a ranking may be short: it is cut before the tie at its end, and holds superseded captures
        found, complete = finder.top(plan, limit)
        now = [entry for entry in found if until[entry[1]] == ranking.FOREVER]
        if len(now) >= depth or complete or limit >= ranking.WIDEST:
            return [finder.hit(doc, score, plan).url for score, doc in now[:depth]]
        limit *= 4


def _shown(world: World, text: str, depth: int) -> list[str]:
    """Return the results that an agent is shown."""
    found = world.search(Query(text, size=min(depth, DEEPEST))).hits
    return list(dict.fromkeys(hit.url for hit in found))
