"""Facts of an outdated almanac: values that were true on 1 January 2018, many of which have changed since.

The almanac is a trap for agents that trust the first page they find. `sites/gazetteer.py` renders its pages;
`tasks.py` writes its facts to `graph.jsonl` with the date for which they hold.
"""

from __future__ import annotations

from webemu.worlds.facts import Fact, number
from webemu.worlds.graph import Company, Entity, Town, University
from webemu.worlds.names import family, slug
from webemu.worlds.places import tongue_of
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import GAZETTEER, Atlas, some_towns

YEAR = 2018
"""Year of the almanac's edition."""
DAY = f"{YEAR}-01-01"
"""ISO date for which the almanac's facts hold."""


def entries(atlas: Atlas) -> list[Town | Company | University]:
    """Return the entities with an entry: some towns (all whose mayor changed lately), some companies, all
    universities.

    Towns come first, by title; then companies, by name.
    """
    graph = atlas.graph
    changed = [town for town in graph.towns if town.former_mayor >= 0]
    others = [town for town in some_towns(atlas, "gazetteer", 26) if town.mayor_since != YEAR]
    towns = sorted({*changed, *others}, key=lambda town: town.title)
    old = [company for company in graph.companies if company.founded < YEAR - 1]
    picked = dice(graph.seed, "gazetteer firms").sample(old, min(len(old), max(5, round(16 * atlas.scale))))
    companies = sorted(picked, key=lambda company: company.name)
    return [*towns, *companies, *graph.universities]


def address(entity: Entity) -> str:
    """Return the URL of an entity's entry in the almanac."""
    return f"https://{GAZETTEER}{path(entity)}"


def path(entity: Entity) -> str:
    """Return the path of an entity's entry on the almanac's site."""
    return f"/{entity.kind}/{slug(entity.title)}"


def then(atlas: Atlas, entity: Town | Company | University) -> list[Fact]:
    """Return the facts of the entry that hold for a certain date, which are the ones that may be outdated."""
    if isinstance(entity, Town):
        return [Fact("population_2011", "Population", number(entity.population[2])), _mayor(atlas, entity)]
    now = entity.employees if isinstance(entity, Company) else entity.students
    what = "employees" if isinstance(entity, Company) else "students"
    return [Fact(f"{what}_{YEAR}", what.capitalize(), number(_earlier(atlas, entity, now)))]


def _mayor(atlas: Atlas, town: Town) -> Fact:
    """Return the mayor of 2018. A mayor of that time who is not in the graph is a name without an article."""
    graph = atlas.graph
    if town.former_mayor < 0 and town.mayor_since > YEAR:
        return Fact(f"mayor_{YEAR}", "Mayor", _forgotten(atlas, town))
    person = graph.people[town.former_mayor if town.former_mayor >= 0 else town.mayor]
    return Fact(f"mayor_{YEAR}", "Mayor", person.name, person)


def _forgotten(atlas: Atlas, town: Town) -> str:
    """Invent a name that no person in the graph has."""
    rng, tongue = dice(atlas.graph.seed, "mayor then", town.key), tongue_of(town.country)
    while True:
        name = f"{rng.choice(tongue.women + tongue.men)} {family(rng, tongue)}"
        if name not in atlas.graph.people_names:
            return name


def _earlier(atlas: Atlas, entity: Entity, now: int) -> int:
    """Return an earlier count, always different from the one of today."""
    share = dice(atlas.graph.seed, "earlier", entity.key).choice((0.62, 0.71, 0.83, 0.88, 1.09, 1.17, 1.31))
    # One is added if rounding gave the same number as today.
    return max(round(now * share), 5) + (round(now * share) == now)
