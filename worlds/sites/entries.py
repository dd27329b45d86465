"""The body of an encyclopedia article about any entity: prose that states its facts, and tables of its series.

The sentences are in `articles.py`. `encyclopedia.py` adds title, infobox and references.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from webemu.worlds import articles as bank
from webemu.worlds.facts import number
from webemu.worlds.graph import (
    PRIZE_YEARS,
    YEARS,
    Company,
    Country,
    Entity,
    Festival,
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
from webemu.worlds.names import an, listing
from webemu.worlds.people import SCHOLARS
from webemu.worlds.prose import MONTHS, Voice, long_date, paragraph
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import Atlas, anchor, wiki_path
from webemu.worlds.stories import TOPICS
from webemu.worlds.templates import table
from webemu.worlds.works_and_products import YEARS_OF_FESTIVALS


class Pen(Voice):
    """Picks the sentences of one article and links an entity the first time the article names it."""

    def __init__(self, atlas: Atlas, entity: Entity, *salt: object) -> None:
        super().__init__(dice(atlas.graph.seed, "article", entity.key, *salt))
        self.atlas, self.graph = atlas, atlas.graph
        self._linked = {entity.title}

    def ref(self, entity: Entity) -> str:
        """Return the name of an entity as HTML, linked if this is its first mention."""
        text = entity.title if entity.kind == "river" else entity.name
        if entity.title in self._linked:
            return escape(text)
        self._linked.add(entity.title)
        return anchor(wiki_path(entity.title), text)

    def years(self) -> dict[str, object]:
        """Draw two years and a century for sentences about history."""
        y1 = self.rng.randint(1480, 1790)
        return {"y1": y1, "y2": self.rng.randint(1846, 1899), "c": f"{y1 // 100 + 1}th"}


def _town(pen: Pen, town: Town, early: bool) -> str:
    graph = pen.graph
    region = graph.regions[town.region]
    slots: dict[str, object] = {
        "name": escape(town.name), "region": pen.ref(region), "country": pen.ref(graph.countries[town.country]),
        "population": number(town.population[3]), "area": town.area, "trait": region.trait, "trade": town.trade,
        "sight": town.sight, "mentioned": town.mentioned, **pen.years(),
    }  # fmt: skip
    changed = town.former_mayor >= 0
    mayor = graph.people[town.former_mayor if early else town.mayor]
    since = 2016 if early else "December 2024" if changed else town.mayor_since
    river = pen.say(bank.TOWN_RIVER, river=pen.ref(graph.rivers[town.river]), **slots) if town.river >= 0 else ""
    former = (
        pen.say(bank.TOWN_FORMER, former=pen.ref(graph.people[town.former_mayor]), **slots)
        if changed and not early
        else ""
    )
    life = pen.some(bank.TOWN_LIFE, 3, 5, capital=pen.ref(graph.towns[region.capital]), **slots)
    lead = paragraph(
        pen.say(bank.TOWN_LEAD, **slots), river, pen.say(bank.TOWN_PEOPLE, **slots), pen.say(bank.TOWN_SIGHTS, **slots)
    )
    dry = "" if river else pen.say(bank.TOWN_DRY, **slots)
    census = table(("Year", "Population"), [(str(y), number(p)) for y, p in zip(YEARS, town.population, strict=True)])
    return (
        lead + "<h2>History</h2>\n" + paragraph(pen.say(bank.TOWN_HISTORY, **slots), *pen.some(bank.TOWN_PAST, 3, 5, **slots))
        + "<h2>Government</h2>\n" + paragraph(pen.say(bank.TOWN_MAYOR, mayor=pen.ref(mayor), since=since, **slots), former)
        + "<h2>Geography and daily life</h2>\n" + paragraph(dry, *life)
        + "<h2>Population history</h2>\n" + census + _natives(pen, town)
    )  # fmt: skip


def _natives(pen: Pen, town: Town) -> str:
    born = pen.atlas.natives.get(town.key, [])[:12]
    if not born:
        return ""
    items = "".join(
        f"<li>{pen.ref(p)} ({p.born[:4]}{f'–{p.died}' if p.died else ''}), {p.occupation}</li>\n"
        for p in (pen.graph.people[n] for n in born)
    )
    return f"<h2>People from {escape(town.name)}</h2>\n<ul>\n{items}</ul>\n"


def _person(pen: Pen, person: Person, early: bool) -> str:
    graph, rng = pen.graph, pen.rng
    home = graph.towns[person.birthplace]
    year = int(person.born[:4])
    country = graph.countries[home.country]
    slots: dict[str, object] = {
        "name": escape(person.name), "surname": escape(person.surname), "he": person.he, "his": person.his,
        "him": "her" if person.woman else "him", "He": person.he.capitalize(), "His": person.his.capitalize(),
        "born": long_date(person.born), "died": person.died, "occ": an(f"{country.adjective} {person.occupation}"),
        "y": year + 23, "y2": min(year + rng.randint(27, 34), 2022), "y3": min(year + rng.randint(38, 46), 2023),
        "father": an(rng.choice(("carpenter", "railway clerk", "doctor", "stonemason", "ferryman", "teacher", "baker", "surveyor"))),
        "mother": an(rng.choice(("midwife", "seamstress", "librarian", "pharmacist", "cook", "bookkeeper", "piano teacher"))),
        "topic": rng.choice(TOPICS),
    }  # fmt: skip
    lead = pen.say(bank.PERSON_LEAD_PAST if person.died else bank.PERSON_LEAD, place=pen.ref(home), **slots)
    slots["place"] = escape(home.name)
    crafts = bank.CRAFT.get(person.occupation) or (bank.SCIENCE if person.occupation in SCHOLARS else bank.ART)
    known = [
        pen.say(("{surname} is known as {role}.", "Among other things {he} is {role}."), role=role, **slots)
        for role in _roles(pen, person, early)
    ]
    school = pen.say(bank.PERSON_SCHOOL, school=pen.ref(graph.universities[person.university]), **slots)
    work = pen.say(bank.PERSON_WORK, employer=pen.ref(graph.employer(person)), **slots) if person.employer else ""
    return (
        paragraph(lead, *known[:2]) + "<h2>Early life</h2>\n" + paragraph(pen.say(bank.PERSON_BIRTH, **slots), school)
        + "<h2>Career</h2>\n" + paragraph(work, *pen.some(crafts, 2, 3, **slots), *known[2:]) + _works(pen, person)
        + "<h2>Personal life</h2>\n" + paragraph(*pen.some(bank.PERSON_LIFE, 2, 4, **slots))
    )  # fmt: skip


def _roles(pen: Pen, person: Person, early: bool) -> list[str]:
    """Return noun phrases for what a person is or founded or designed, with links."""
    graph, roles = pen.graph, []
    position = int(person.key.partition("/")[2])
    if position < len(graph.towns):
        town = graph.towns[position]
        if not (early and town.former_mayor >= 0):
            roles.append(f"the mayor of {pen.ref(town)}")
    roles += [f"the founder of {pen.ref(graph.companies[n])}" for n in pen.atlas.founded.get(person.key, [])]
    roles += [f"the architect of the {pen.ref(graph.landmarks[n])}" for n in pen.atlas.designed.get(person.key, [])[:3]]
    return roles


def _works(pen: Pen, person: Person) -> str:
    works = sorted(pen.atlas.made.get(person.key, []), key=lambda work: (work.year, work.name))
    if not works:
        return ""
    items = "".join(f"<li>{pen.ref(work)} ({work.year})</li>\n" for work in works)
    return f"<h2>{'Novels' if works[0].kind == 'novel' else 'Films'}</h2>\n<ul>\n{items}</ul>\n"


def _company(pen: Pen, company: Company, early: bool) -> str:
    graph, rng = pen.graph, pen.rng
    town = graph.towns[company.town]
    span = max(2021 - company.founded, 3)
    slots: dict[str, object] = {
        "name": escape(company.name), "industry": an(f"{graph.countries[town.country].adjective} {company.industry}"),
        "town": pen.ref(town), "country": pen.ref(graph.countries[town.country]), "founded": company.founded,
        "founder": pen.ref(graph.people[company.founder]), "employees": number(company.employees),
        "y1": company.founded + 1 + rng.randint(1, span // 3), "y2": company.founded + 1 + span // 3 + rng.randint(0, span // 3),
        "y3": min(2022, company.founded + 2 * span // 3 + rng.randint(1, 4)),
    }  # fmt: skip
    products = [graph.products[n] for n in pen.atlas.products.get(company.key, [])]
    items = "".join(f"<li>{pen.ref(item)}, {item.what} ({item.introduced})</li>\n" for item in products)
    return (
        paragraph(pen.say(bank.COMPANY_LEAD, **slots), pen.say(bank.COMPANY_FOUND, **slots), pen.say(bank.COMPANY_STAFF, **slots))
        + "<h2>History</h2>\n" + paragraph(*pen.some(bank.COMPANY_PAST, 4, 6, **slots))
        + (f"<h2>Products</h2>\n<ul>\n{items}</ul>\n" if items else "")
    )  # fmt: skip


def _product(pen: Pen, product: Product, early: bool) -> str:
    company = pen.graph.companies[product.company]
    slots: dict[str, object] = {
        "name": escape(product.name), "what": an(product.what), "company": pen.ref(company), "year": product.introduced,
        "company_plain": escape(company.name), "kg": f"{pen.rng.uniform(0.2, 14):.1f}",
    }  # fmt: skip
    return paragraph(pen.say(bank.PRODUCT_LEAD, **slots), pen.say(bank.PRODUCT_YEAR, **slots)) + paragraph(
        *pen.some(bank.PRODUCT_MORE, 3, 5, **slots)
    )


def _work(pen: Pen, work: Work, early: bool) -> str:
    graph, novel = pen.graph, work.kind == "novel"
    slots: dict[str, object] = {
        "name": escape(work.name), "kind": "a novel" if novel else "a film", "maker": pen.ref(graph.people[work.maker]),
        "verb": "published" if novel else "released", "made": "written" if novel else "directed", "did": "wrote" if novel else "directed",
        "year": work.year, "theme": work.theme, "town": pen.ref(graph.towns[work.setting]), "py": work.prize_year,
    }  # fmt: skip
    prize = pen.say(bank.WORK_PRIZE, prize=pen.ref(graph.prizes[work.prize]), **slots) if work.prize >= 0 else ""
    house = f"It was {'published by' if novel else 'produced by'} {escape(work.house)}."
    lead = pen.say(bank.WORK_LEAD, **slots)
    slots["maker"] = escape(graph.people[work.maker].name)
    return (
        paragraph(lead, house, prize) + "<h2>Content</h2>\n"
        + paragraph(pen.say(bank.WORK_PLOT, **slots), pen.say(bank.WORK_PLACE, **slots))
        + "<h2>Background and reception</h2>\n" + paragraph(pen.say(bank.WORK_BY, **slots), *pen.some(bank.WORK_MORE, 3, 4, **slots))
    )  # fmt: skip


def _prize(pen: Pen, prize: Prize, early: bool) -> str:
    graph, novel = pen.graph, prize.field == "novel"
    works = graph.novels if novel else graph.films
    kind = "a literary prize for the best novel of the year" if novel else "a prize for the best film of the year"
    slots: dict[str, object] = {
        "name": escape(prize.name),
        "kind": kind,
        "town": pen.ref(graph.towns[prize.town]),
        "year": prize.established,
    }
    rows = [(str(year), pen.ref(works[n])) for year, n in zip(PRIZE_YEARS, prize.winners, strict=True)]
    return (
        paragraph(pen.say(bank.PRIZE_LEAD, **slots), f"It was established in {prize.established}.", *pen.some(bank.PRIZE_MORE[2:], 2, 4, **slots))
        + "<h2>Winners</h2>\n" + table(("Year", "Winner"), rows)
    )  # fmt: skip


def _landmark(pen: Pen, mark: Landmark, early: bool) -> str:
    town = pen.graph.towns[mark.town]
    slots: dict[str, object] = {
        "name": escape(mark.name), "what": an(mark.what), "town": pen.ref(town), "country": pen.ref(pen.graph.countries[town.country]),
        "opened": long_date(mark.opened), "architect": pen.ref(pen.graph.people[mark.architect]),
    }  # fmt: skip
    return paragraph(pen.say(bank.LANDMARK_LEAD, **slots), pen.say(bank.LANDMARK_OPEN, **slots)) + paragraph(
        pen.say(bank.LANDMARK_BY, **slots), *pen.some(bank.LANDMARK_MORE, 3, 4, **slots)
    )


def _festival(pen: Pen, festival: Festival, early: bool) -> str:
    town = pen.graph.towns[festival.town]
    slots: dict[str, object] = {
        "name": escape(festival.name), "town": pen.ref(town), "country": pen.ref(pen.graph.countries[town.country]),
        "month": MONTHS[festival.month - 1], "since": festival.since,
    }  # fmt: skip
    rows = [(str(y), number(v)) for y, v in zip(YEARS_OF_FESTIVALS, festival.visitors, strict=True)]
    return (
        paragraph(pen.say(bank.FESTIVAL_LEAD, **slots), pen.say(bank.FESTIVAL_MORE[:2], **slots), *pen.some(bank.FESTIVAL_MORE[2:], 2, 4, **slots))
        + "<h2>Editions</h2>\n" + table(("Year", "Visitors"), rows)
    )  # fmt: skip


def _university(pen: Pen, school: University, early: bool) -> str:
    town = pen.graph.towns[school.town]
    slots: dict[str, object] = {
        "name": escape(school.name), "town": pen.ref(town), "country": pen.ref(pen.graph.countries[town.country]),
        "year": school.established, "rector": pen.ref(pen.graph.people[school.rector]), "students": number(school.students),
        "strength": school.strength,
    }  # fmt: skip
    first = [pen.say((line,), **slots) for line in bank.UNIVERSITY_MORE[:4]]
    return paragraph(pen.say(bank.UNIVERSITY_LEAD, **slots), *first) + paragraph(
        *pen.some(bank.UNIVERSITY_MORE[4:], 2, 4, **slots)
    )


def _river(pen: Pen, river: River, early: bool) -> str:
    towns = listing([pen.ref(pen.graph.towns[n]) for n in river.towns[:9]])
    slots: dict[str, object] = {
        "name": escape(river.title), "country": pen.ref(pen.graph.countries[river.country]), "length": river.length,
        "source": escape(river.source), "mouth": escape(river.mouth), "towns": towns,
    }  # fmt: skip
    banks = pen.say(bank.RIVER_MORE[2:3], **slots) if towns else ""
    return paragraph(pen.say(bank.RIVER_LEAD, **slots), pen.say(bank.RIVER_MORE[:2], **slots), banks) + paragraph(
        *pen.some(bank.RIVER_MORE[3:], 2, 3, **slots)
    )


def _region(pen: Pen, region: Region, early: bool) -> str:
    graph = pen.graph
    slots: dict[str, object] = {
        "name": escape(region.name), "country": pen.ref(graph.countries[region.country]), "capital": pen.ref(graph.towns[region.capital]),
        "area": number(region.area), "population": number(region.population), "trait": region.trait,
    }  # fmt: skip
    towns = sorted((graph.towns[n] for n in pen.atlas.towns_in[region.key]), key=lambda town: -town.population[3])
    rows = [(anchor(wiki_path(t.title), t.name), number(t.population[3])) for t in towns[:25]]
    return (
        paragraph(pen.say(bank.REGION_LEAD, **slots), pen.say(bank.REGION_MORE[:1], **slots), *pen.some(bank.REGION_MORE[1:], 2, 4, **slots))
        + "<h2>Largest towns</h2>\n" + table(("Town", "Population (2021)"), rows)
    )  # fmt: skip


def _country(pen: Pen, country: Country, early: bool) -> str:
    graph = pen.graph
    regions = listing([pen.ref(region) for region in graph.regions if graph.countries[region.country] is country][:16])
    slots: dict[str, object] = {
        "name": escape(country.name), "population": number(country.population), "capital": pen.ref(graph.towns[country.capital]),
        "year": country.founded, "president": pen.ref(graph.people[country.president]), "currency": country.currency, "regions": regions,
    }  # fmt: skip
    return paragraph(pen.say(bank.COUNTRY_LEAD, **slots)) + paragraph(
        *[pen.say((line,), **slots) for line in bank.COUNTRY_MORE]
    )


_WRITE: dict[str, Callable[..., str]] = {
    "town": _town, "person": _person, "company": _company, "product": _product, "novel": _work, "film": _work, "prize": _prize,
    "landmark": _landmark, "festival": _festival, "university": _university, "river": _river, "region": _region, "country": _country,
}  # fmt: skip
"""Functions that write an article's body, by kind of entity."""


def entry(atlas: Atlas, entity: Entity, early: bool = False) -> str:
    """Return the article's body as HTML; `early` gives it as it stood before the mayors changed."""
    return _WRITE[entity.kind](Pen(atlas, entity), entity, early)
