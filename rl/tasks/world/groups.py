"""Groups of entities that a page lists or that share a relation, and the evidence for them."""

from __future__ import annotations

from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Evidence
from webemu.rl.tasks.world.graph_tasks import comparison_value
from webemu.rl.tasks.world.words import join_with_and

MAX_PAGES_READ = 6
"""Largest group whose members' pages a task may require to be read."""
MAX_TABLE_ROWS = 25
"""Rows in the table of towns on a region's page."""
MAX_TOWNS_ON_RIVER_PAGE = 9
"""Towns that a river's page names."""


def list_populations(graph: Graph, region: Entity) -> list[Fact]:
    """Return the populations of a region's towns, largest first, as in the table on its page."""
    towns = [fact.subject for fact in graph.facts_naming(region) if fact.relation == "in_region"]
    return sorted(
        (population for town in towns if (population := graph.find_fact(town, "population"))),
        key=comparison_value,
        reverse=True,
    )


def table_row_evidence(region: Entity, population: Fact) -> Evidence:
    """Return the row of a town in the table on its region's page, as evidence."""
    return Evidence(region.url, f"{population.subject.name} | {population.text}", population.subject.name)


def list_river_towns(graph: Graph, river: Entity) -> list[Entity]:
    """Return the towns on a river."""
    return [fact.subject for fact in graph.facts_naming(river) if fact.relation == "on_river"]


def river_towns_evidence(graph: Graph, river: Entity) -> Evidence:
    """Return the sentence in which the river's page lists its towns, as evidence."""
    towns = [town.name for town in list_river_towns(graph, river)]
    names_text = join_with_and(towns[:MAX_TOWNS_ON_RIVER_PAGE])
    return Evidence(river.url, f"Towns on its banks are {names_text}.", names_text)


def draw_maker(graph: Graph, rng: Random, kind: str, relation: str) -> tuple[Entity, list[Fact]]:
    """Draw someone who made things of a kind; return the maker and the facts that name them as such, one for each
    thing.
    """
    maker_fact = graph.find_fact(rng.choice(graph.entities_of_kind(kind)), relation)
    assert maker_fact
    assert maker_fact.target
    return maker_fact.target, [fact for fact in graph.facts_naming(maker_fact.target) if fact.relation == relation]
