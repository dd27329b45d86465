"""Groups of entities that a page lists or that share a relation, and the evidence for them."""

from __future__ import annotations

from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Evidence
from webemu.rl.tasks.world.graph_tasks import size
from webemu.rl.tasks.world.words import listing

MOST_READ = 6
"""Largest group whose members' pages a task may require to be read."""
MOST_IN_TABLE = 25
"""Rows in the table of towns on a region's page."""
MOST_ON_BANKS = 9
"""Towns that a river's page names."""


def towns_of(graph: Graph, region: Entity) -> list[Fact]:
    """Return the populations of a region's towns, largest first, as in the table on its page."""
    towns = [fact.subject for fact in graph.naming(region) if fact.relation == "in_region"]
    return sorted((found for town in towns if (found := graph.fact(town, "population"))), key=size, reverse=True)


def in_table(region: Entity, population: Fact) -> Evidence:
    """Return the row of a town in the table on its region's page, as evidence."""
    return Evidence(region.url, f"{population.subject.name} | {population.text}", population.subject.name)


def on_river(graph: Graph, river: Entity) -> list[Entity]:
    """Return the towns on a river."""
    return [fact.subject for fact in graph.naming(river) if fact.relation == "on_river"]


def on_banks(graph: Graph, river: Entity) -> Evidence:
    """Return the sentence in which the river's page lists its towns, as evidence."""
    towns = [town.name for town in on_river(graph, river)]
    listed = listing(towns[:MOST_ON_BANKS])
    return Evidence(river.url, f"Towns on its banks are {listed}.", listed)


def made_by(graph: Graph, rng: Random, kind: str, relation: str) -> tuple[Entity, list[Fact]]:
    """Draw someone who made things of a kind; return the maker and the facts that name them as such, one for each
    thing.
    """
    made = graph.fact(rng.choice(graph.of(kind)), relation)
    assert made
    assert made.target
    return made.target, [fact for fact in graph.naming(made.target) if fact.relation == relation]
