"""What is measured: a setting of a collection's search, as a function from a query to URLs, the best first."""

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
"""URLs for a query, the best first, none twice."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One way of searching."""

    collection: Path
    snapshot: str
    depth: int = 100
    """How many results are looked at."""
    engine: str = ""
    """Which way of searching of those that the snapshot has; empty for its own."""
    shown: bool = False
    """As an agent is shown them: without duplicates, two of a domain. Else as the engine ranks them."""


def ranker(setting: Setting) -> Ranker:
    """Open it. Raises SnapshotError, and BadRequest for an engine that is not there."""
    world, depth = open_snapshot(setting.collection, setting.snapshot), setting.depth
    world = world.through(setting.engine) if setting.engine else world
    return (lambda text: _shown(world, text, depth)) if setting.shown else (lambda text: ranked(world, text, depth))


def ranked(world: World, text: str, depth: int) -> list[str]:
    """The engine's own ranking of the pages that are there now."""
    finder = world.finder
    plan, until = finder.plan(parse(text)), finder.columns.until
    limit = 2 * depth
    while True:  # a ranking is cut before the tie at its end, and holds captures that later ones took the place of
        found, complete = finder.top(plan, limit)
        now = [entry for entry in found if until[entry[1]] == ranking.FOREVER]
        if len(now) >= depth or complete or limit >= ranking.WIDEST:
            return [finder.hit(doc, score, plan).url for score, doc in now[:depth]]
        limit *= 4


def _shown(world: World, text: str, depth: int) -> list[str]:
    found = world.search(Query(text, size=min(depth, DEEPEST))).hits
    return list(dict.fromkeys(hit.url for hit in found))
