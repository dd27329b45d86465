"""Facts that each entity's encyclopedia article states.

One list feeds the infobox, `graph.jsonl` and the tasks, so that they can never disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webemu.worlds.graph import (
    Company,
    Country,
    Entity,
    Festival,
    Graph,
    Landmark,
    Person,
    Prize,
    Product,
    Region,
    River,
    Town,
    University,
    Work,
)
from webemu.worlds.prose import format_long_date


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement about an entity, as a row of its infobox."""

    relation: str
    """Name of the relation in `graph.jsonl`, such as `born_in`."""
    label: str
    """Heading of the infobox row."""
    text: str
    """Value of the infobox row."""
    target: Entity | None = None
    """Entity that the text names, or None."""


def format_number(value: int) -> str:
    """Return the number with commas between thousands."""
    return f"{value:,}"


def _entity_fact(relation: str, label: str, target: Entity) -> Fact:
    """Return a fact whose value is the name of another entity, as it stands on pages."""
    return Fact(relation, label, target.title if target.kind in ("river", "town") else target.name, target)


def _town_facts(graph: Graph, town: Town) -> list[Fact]:
    facts = [
        _entity_fact("in_country", "Country", graph.countries[town.country]),
        _entity_fact("in_region", "Region", graph.regions[town.region]),
    ]
    if town.river >= 0:
        facts.append(_entity_fact("on_river", "River", graph.rivers[town.river]))
    facts += [
        Fact("population", "Population", format_number(town.population[3])),
        Fact("census_year", "Census", "2021"),
        Fact("area", "Area", f"{town.area} km²"),
        Fact("first_mentioned", "First mentioned", str(town.first_mention_year)),
        _entity_fact("mayor", "Mayor", graph.people[town.mayor]),
        Fact("mayor_since", "Mayor since", str(town.mayor_since)),
    ]
    if town.former_mayor >= 0:
        facts.append(_entity_fact("previous_mayor", "Previous mayor", graph.people[town.former_mayor]))
    return facts


def _person_facts(graph: Graph, person: Person) -> list[Fact]:
    facts = [
        Fact("born_on", "Date of birth", format_long_date(person.birth_date)),
        _entity_fact("born_in", "Place of birth", graph.towns[person.birthplace]),
        Fact("occupation", "Occupation", person.occupation.capitalize()),
        _entity_fact("educated_at", "Education", graph.universities[person.university]),
    ]
    if person.employer:
        facts.append(_entity_fact("employer", "Employer", graph.find_employer(person)))
    if person.death_year:
        facts.append(Fact("died_in_year", "Year of death", str(person.death_year)))
    return facts


def _company_facts(graph: Graph, company: Company) -> list[Fact]:
    return [
        Fact("founded_in_year", "Founded", str(company.founding_year)),
        _entity_fact("founded_by", "Founder", graph.people[company.founder]),
        _entity_fact("headquartered_in", "Headquarters", graph.towns[company.town]),
        Fact("industry", "Industry", company.industry.capitalize()),
        Fact("employees", "Employees", format_number(company.employees)),
    ]


def _product_facts(graph: Graph, product: Product) -> list[Fact]:
    return [
        _entity_fact("made_by", "Manufacturer", graph.companies[product.company]),
        Fact("type", "Type", product.product_type.capitalize()),
        Fact("introduced_in_year", "Introduced", str(product.introduction_year)),
    ]


def _work_facts(graph: Graph, work: Work) -> list[Fact]:
    novel = work.kind == "novel"
    return [
        _entity_fact("author" if novel else "director", "Author" if novel else "Director", graph.people[work.creator]),
        Fact(
            "published_in_year" if novel else "released_in_year", "Published" if novel else "Released", str(work.year)
        ),
        Fact("publisher" if novel else "studio", "Publisher" if novel else "Studio", work.publisher),
        _entity_fact("set_in", "Set in", graph.towns[work.setting]),
    ]


def _prize_facts(graph: Graph, prize: Prize) -> list[Fact]:
    return [
        Fact("awarded_for", "Awarded for", "Best novel" if prize.field == "novel" else "Best film"),
        Fact("established_in_year", "Established", str(prize.founding_year)),
        _entity_fact("awarded_in", "Ceremony", graph.towns[prize.town]),
    ]


def _landmark_facts(graph: Graph, landmark: Landmark) -> list[Fact]:
    return [
        _entity_fact("stands_in", "Town", graph.towns[landmark.town]),
        Fact("opened_on", "Opened", format_long_date(landmark.opening_date)),
        _entity_fact("architect", "Architect", graph.people[landmark.architect]),
    ]


def _festival_facts(graph: Graph, festival: Festival) -> list[Fact]:
    return [
        _entity_fact("held_in", "Town", graph.towns[festival.town]),
        Fact("first_held_in_year", "First held", str(festival.first_year)),
    ]


def _university_facts(graph: Graph, university: University) -> list[Fact]:
    return [
        _entity_fact("located_in", "Town", graph.towns[university.town]),
        Fact("established_in_year", "Established", str(university.founding_year)),
        _entity_fact("rector", "Rector", graph.people[university.rector]),
        Fact("students", "Students", format_number(university.students)),
    ]


def _river_facts(graph: Graph, river: River) -> list[Fact]:
    return [
        _entity_fact("in_country", "Country", graph.countries[river.country]),
        Fact("length", "Length", f"{river.length} km"),
        Fact("source", "Source", river.source),
        Fact("mouth", "Mouth", river.mouth),
    ]


def _region_facts(graph: Graph, region: Region) -> list[Fact]:
    return [
        _entity_fact("in_country", "Country", graph.countries[region.country]),
        _entity_fact("capital", "Capital", graph.towns[region.capital]),
        Fact("population", "Population", format_number(region.population)),
        Fact("area", "Area", f"{format_number(region.area)} km²"),
    ]


def _country_facts(graph: Graph, country: Country) -> list[Fact]:
    return [
        _entity_fact("capital", "Capital", graph.towns[country.capital]),
        Fact("population", "Population", format_number(country.population)),
        Fact("currency", "Currency", country.currency.capitalize()),
        _entity_fact("president", "President", graph.people[country.president]),
        Fact("founded_in_year", "Independence", str(country.founding_year)),
    ]


_FACT_BUILDERS: dict[str, Callable[..., list[Fact]]] = {
    "town": _town_facts, "person": _person_facts, "company": _company_facts, "product": _product_facts, "novel": _work_facts, "film": _work_facts,
    "prize": _prize_facts, "landmark": _landmark_facts, "festival": _festival_facts, "university": _university_facts, "river": _river_facts,
    "region": _region_facts, "country": _country_facts,
}  # fmt: skip


def list_facts(graph: Graph, entity: Entity) -> list[Fact]:
    """Return all facts in the infobox of `entity`, in its order."""
    return _FACT_BUILDERS[entity.kind](graph, entity)


def find_fact(graph: Graph, entity: Entity, relation: str) -> Fact:
    """Return the fact of `entity` with that relation. Raises KeyError if it has none."""
    for candidate in list_facts(graph, entity):
        if candidate.relation == relation:
            return candidate
    raise KeyError(f"{entity.title} has no fact with the relation {relation}")
