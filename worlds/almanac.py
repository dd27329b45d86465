"""Facts of an outdated almanac: values that were true on 1 January 2018, many of which have changed since.

The almanac is a trap for agents that trust the first page they find. `sites/gazetteer.py` renders its pages;
`tasks.py` writes its facts to `graph.jsonl` with the date for which they hold.
"""

from __future__ import annotations

from webemu.worlds.facts import Fact, format_number
from webemu.worlds.graph import Company, Entity, Town, University
from webemu.worlds.names import invent_family_name, slugify
from webemu.worlds.places import syllable_set_of
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.site_directory import GAZETTEER_HOST, SiteDirectory, draw_towns

EDITION_YEAR = 2018
"""Year of the almanac's edition."""
EDITION_DATE = f"{EDITION_YEAR}-01-01"
"""ISO date for which the almanac's facts hold."""


def list_entries(directory: SiteDirectory) -> list[Town | Company | University]:
    """Return the entities with an entry: some towns (all whose mayor changed lately), some companies, all
    universities.

    Towns come first, by title; then companies, by name.
    """
    graph = directory.graph
    changed_towns = [town for town in graph.towns if town.former_mayor >= 0]
    unchanged = [town for town in draw_towns(directory, "gazetteer", 26) if town.mayor_since != EDITION_YEAR]
    towns = sorted({*changed_towns, *unchanged}, key=lambda town: town.title)
    old_companies = [company for company in graph.companies if company.founding_year < EDITION_YEAR - 1]
    picked = seeded_rng(graph.seed, "gazetteer firms").sample(
        old_companies, min(len(old_companies), max(5, round(16 * directory.scale)))
    )
    companies = sorted(picked, key=lambda company: company.name)
    return [*towns, *companies, *graph.universities]


def entry_url(entity: Entity) -> str:
    """Return the URL of an entity's entry in the almanac."""
    return f"https://{GAZETTEER_HOST}{entry_path(entity)}"


def entry_path(entity: Entity) -> str:
    """Return the path of an entity's entry on the almanac's site."""
    return f"/{entity.kind}/{slugify(entity.title)}"


def outdated_facts(directory: SiteDirectory, entity: Town | Company | University) -> list[Fact]:
    """Return the facts of the entry that hold for a certain date, which are the ones that may be outdated."""
    if isinstance(entity, Town):
        return [
            Fact("population_2011", "Population", format_number(entity.population[2])),
            _mayor_fact(directory, entity),
        ]
    current_count = entity.employees if isinstance(entity, Company) else entity.students
    relation = "employees" if isinstance(entity, Company) else "students"
    return [
        Fact(
            f"{relation}_{EDITION_YEAR}",
            relation.capitalize(),
            format_number(_earlier_count(directory, entity, current_count)),
        )
    ]


def _mayor_fact(directory: SiteDirectory, town: Town) -> Fact:
    """Return the mayor of 2018. A mayor of that time who is not in the graph is a name without an article."""
    graph = directory.graph
    if town.former_mayor < 0 and town.mayor_since > EDITION_YEAR:
        return Fact(f"mayor_{EDITION_YEAR}", "Mayor", _invent_mayor_name(directory, town))
    person = graph.people[town.former_mayor if town.former_mayor >= 0 else town.mayor]
    return Fact(f"mayor_{EDITION_YEAR}", "Mayor", person.name, person)


def _invent_mayor_name(directory: SiteDirectory, town: Town) -> str:
    """Invent a name that no person in the graph has."""
    rng, syllables = seeded_rng(directory.graph.seed, "mayor then", town.key), syllable_set_of(town.country)
    while True:
        name = f"{rng.choice(syllables.female_names + syllables.male_names)} {invent_family_name(rng, syllables)}"
        if name not in directory.graph.people_names:
            return name


def _earlier_count(directory: SiteDirectory, entity: Entity, current_count: int) -> int:
    """Return an earlier count, always different from the one of today."""
    share = seeded_rng(directory.graph.seed, "earlier", entity.key).choice((0.62, 0.71, 0.83, 0.88, 1.09, 1.17, 1.31))
    # One is added if rounding gave the same number as today.
    return max(round(current_count * share), 5) + (round(current_count * share) == current_count)
