"""What an old book of reference states: values that were true on 1 January 2018, many of which have changed since."""

from __future__ import annotations

from webemu.worlds.facts import Fact, number
from webemu.worlds.graph import Company, Entity, Town, University
from webemu.worlds.names import family, slug
from webemu.worlds.places import tongue_of
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import GAZETTEER, Atlas, some_towns

YEAR = 2018
DAY = f"{YEAR}-01-01"


def entries(atlas: Atlas) -> list[Town | Company | University]:
    """Whom the book has entries on: towns (all whose mayor changed lately), companies, universities."""
    graph = atlas.graph
    changed = [town for town in graph.towns if town.former_mayor >= 0]
    others = [town for town in some_towns(atlas, "gazetteer", 26) if town.mayor_since != YEAR]
    towns = sorted({*changed, *others}, key=lambda town: town.title)
    old = [company for company in graph.companies if company.founded < YEAR - 1]
    picked = dice(graph.seed, "gazetteer firms").sample(old, min(len(old), max(5, round(16 * atlas.scale))))
    companies = sorted(picked, key=lambda company: company.name)
    return [*towns, *companies, *graph.universities]


def address(entity: Entity) -> str:
    return f"https://{GAZETTEER}{path(entity)}"


def path(entity: Entity) -> str:
    return f"/{entity.kind}/{slug(entity.title)}"


def then(atlas: Atlas, entity: Town | Company | University) -> list[Fact]:
    """What the entry states that has a date."""
    if isinstance(entity, Town):
        return [Fact("population_2011", "Population", number(entity.population[2])), _mayor(atlas, entity)]
    now = entity.employees if isinstance(entity, Company) else entity.students
    what = "employees" if isinstance(entity, Company) else "students"
    return [Fact(f"{what}_{YEAR}", what.capitalize(), number(_earlier(atlas, entity, now)))]


def _mayor(atlas: Atlas, town: Town) -> Fact:
    """Of someone who was mayor before people with an article of their own, the name is all there is."""
    graph = atlas.graph
    if town.former_mayor < 0 and town.mayor_since > YEAR:
        return Fact(f"mayor_{YEAR}", "Mayor", _forgotten(atlas, town))
    person = graph.people[town.former_mayor if town.former_mayor >= 0 else town.mayor]
    return Fact(f"mayor_{YEAR}", "Mayor", person.name, person)


def _forgotten(atlas: Atlas, town: Town) -> str:
    rng, tongue = dice(atlas.graph.seed, "mayor then", town.key), tongue_of(town.country)
    while True:
        name = f"{rng.choice(tongue.women + tongue.men)} {family(rng, tongue)}"
        if name not in atlas.graph.people_names:
            return name


def _earlier(atlas: Atlas, entity: Entity, now: int) -> int:
    share = dice(atlas.graph.seed, "earlier", entity.key).choice((0.62, 0.71, 0.83, 0.88, 1.09, 1.17, 1.31))
    return max(round(now * share), 5) + (round(now * share) == now)
