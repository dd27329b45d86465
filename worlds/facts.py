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
from webemu.worlds.prose import long_date


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


def number(value: int) -> str:
    """Return the number with commas between thousands."""
    return f"{value:,}"


def _to(relation: str, label: str, target: Entity) -> Fact:
    """Return a fact whose value is the name of another entity, as it stands on pages."""
    return Fact(relation, label, target.title if target.kind in ("river", "town") else target.name, target)


def _town(graph: Graph, town: Town) -> list[Fact]:
    facts = [
        _to("in_country", "Country", graph.countries[town.country]),
        _to("in_region", "Region", graph.regions[town.region]),
    ]
    if town.river >= 0:
        facts.append(_to("on_river", "River", graph.rivers[town.river]))
    facts += [
        Fact("population", "Population", number(town.population[3])),
        Fact("census_year", "Census", "2021"),
        Fact("area", "Area", f"{town.area} km²"),
        Fact("first_mentioned", "First mentioned", str(town.mentioned)),
        _to("mayor", "Mayor", graph.people[town.mayor]),
        Fact("mayor_since", "Mayor since", str(town.mayor_since)),
    ]
    if town.former_mayor >= 0:
        facts.append(_to("previous_mayor", "Previous mayor", graph.people[town.former_mayor]))
    return facts


def _person(graph: Graph, person: Person) -> list[Fact]:
    facts = [
        Fact("born_on", "Date of birth", long_date(person.born)),
        _to("born_in", "Place of birth", graph.towns[person.birthplace]),
        Fact("occupation", "Occupation", person.occupation.capitalize()),
        _to("educated_at", "Education", graph.universities[person.university]),
    ]
    if person.employer:
        facts.append(_to("employer", "Employer", graph.employer(person)))
    if person.died:
        facts.append(Fact("died_in_year", "Year of death", str(person.died)))
    return facts


def _company(graph: Graph, company: Company) -> list[Fact]:
    return [
        Fact("founded_in_year", "Founded", str(company.founded)),
        _to("founded_by", "Founder", graph.people[company.founder]),
        _to("headquartered_in", "Headquarters", graph.towns[company.town]),
        Fact("industry", "Industry", company.industry.capitalize()),
        Fact("employees", "Employees", number(company.employees)),
    ]


def _product(graph: Graph, product: Product) -> list[Fact]:
    return [
        _to("made_by", "Manufacturer", graph.companies[product.company]),
        Fact("type", "Type", product.what.capitalize()),
        Fact("introduced_in_year", "Introduced", str(product.introduced)),
    ]


def _work(graph: Graph, work: Work) -> list[Fact]:
    novel = work.kind == "novel"
    return [
        _to("author" if novel else "director", "Author" if novel else "Director", graph.people[work.maker]),
        Fact(
            "published_in_year" if novel else "released_in_year", "Published" if novel else "Released", str(work.year)
        ),
        Fact("publisher" if novel else "studio", "Publisher" if novel else "Studio", work.house),
        _to("set_in", "Set in", graph.towns[work.setting]),
    ]


def _prize(graph: Graph, prize: Prize) -> list[Fact]:
    return [
        Fact("awarded_for", "Awarded for", "Best novel" if prize.field == "novel" else "Best film"),
        Fact("established_in_year", "Established", str(prize.established)),
        _to("awarded_in", "Ceremony", graph.towns[prize.town]),
    ]


def _landmark(graph: Graph, mark: Landmark) -> list[Fact]:
    return [
        _to("stands_in", "Town", graph.towns[mark.town]),
        Fact("opened_on", "Opened", long_date(mark.opened)),
        _to("architect", "Architect", graph.people[mark.architect]),
    ]


def _festival(graph: Graph, festival: Festival) -> list[Fact]:
    return [
        _to("held_in", "Town", graph.towns[festival.town]),
        Fact("first_held_in_year", "First held", str(festival.since)),
    ]


def _university(graph: Graph, school: University) -> list[Fact]:
    return [
        _to("located_in", "Town", graph.towns[school.town]),
        Fact("established_in_year", "Established", str(school.established)),
        _to("rector", "Rector", graph.people[school.rector]),
        Fact("students", "Students", number(school.students)),
    ]


def _river(graph: Graph, river: River) -> list[Fact]:
    return [
        _to("in_country", "Country", graph.countries[river.country]),
        Fact("length", "Length", f"{river.length} km"),
        Fact("source", "Source", river.source),
        Fact("mouth", "Mouth", river.mouth),
    ]


def _region(graph: Graph, region: Region) -> list[Fact]:
    return [
        _to("in_country", "Country", graph.countries[region.country]),
        _to("capital", "Capital", graph.towns[region.capital]),
        Fact("population", "Population", number(region.population)),
        Fact("area", "Area", f"{number(region.area)} km²"),
    ]


def _country(graph: Graph, country: Country) -> list[Fact]:
    return [
        _to("capital", "Capital", graph.towns[country.capital]),
        Fact("population", "Population", number(country.population)),
        Fact("currency", "Currency", country.currency.capitalize()),
        _to("president", "President", graph.people[country.president]),
        Fact("founded_in_year", "Independence", str(country.founded)),
    ]


_STATE: dict[str, Callable[..., list[Fact]]] = {
    "town": _town, "person": _person, "company": _company, "product": _product, "novel": _work, "film": _work,
    "prize": _prize, "landmark": _landmark, "festival": _festival, "university": _university, "river": _river,
    "region": _region, "country": _country,
}  # fmt: skip


def facts_of(graph: Graph, entity: Entity) -> list[Fact]:
    """Return all facts in the infobox of `entity`, in its order."""
    return _STATE[entity.kind](graph, entity)


def fact(graph: Graph, entity: Entity, relation: str) -> Fact:
    """Return the fact of `entity` with that relation. Raises KeyError if it has none."""
    for found in facts_of(graph, entity):
        if found.relation == relation:
            return found
    raise KeyError(f"{entity.title} has no fact with the relation {relation}")
