"""Groups that a page lists or that a relation makes, and how pages state them."""

from __future__ import annotations

from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Evidence
from webemu.rl.tasks.world.graph_tasks import size
from webemu.rl.tasks.world.words import listing

MOST_READ = 6
"""Pages of a group that a task may need."""
MOST_IN_TABLE = 25
"""Rows of the table of towns on a region's page."""
MOST_ON_BANKS = 9
"""Towns that a river's page names."""


def towns_of(graph: Graph, region: Entity) -> list[Fact]:
    """Populations of the region's towns, largest first, as in the table on its page."""
    towns = [fact.subject for fact in graph.naming(region) if fact.relation == "in_region"]
    return sorted((found for town in towns if (found := graph.fact(town, "population"))), key=size, reverse=True)


def in_table(region: Entity, population: Fact) -> Evidence:
    """The row of a town in that table."""
    return Evidence(region.url, f"{population.subject.name} | {population.text}", population.subject.name)


def on_river(graph: Graph, river: Entity) -> list[Entity]:
    return [fact.subject for fact in graph.naming(river) if fact.relation == "on_river"]


def on_banks(graph: Graph, river: Entity) -> Evidence:
    """The sentence in which the river's page lists its towns."""
    towns = [town.name for town in on_river(graph, river)]
    listed = listing(towns[:MOST_ON_BANKS])
    return Evidence(river.url, f"Towns on its banks are {listed}.", listed)


def made_by(graph: Graph, rng: Random, kind: str, relation: str) -> tuple[Entity, list[Fact]]:
    """Someone who made things of a kind, and the facts that say of each thing that it is theirs."""
    made = graph.fact(rng.choice(graph.of(kind)), relation)
    assert made
    assert made.target
    return made.target, [fact for fact in graph.naming(made.target) if fact.relation == relation]
