"""The body of an encyclopedia article about any entity: prose that states its facts, and tables of its series.

The sentences are in `articles.py`. `encyclopedia.py` adds title, infobox and references.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from webemu.worlds import articles as bank
from webemu.worlds.facts import format_number
from webemu.worlds.graph import (
    CENSUS_YEARS,
    PRIZE_YEARS,
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
from webemu.worlds.names import join_with_and, with_article
from webemu.worlds.people import SCHOLARS
from webemu.worlds.prose import MONTHS, SentencePicker, format_long_date, render_paragraph
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.site_directory import SiteDirectory, render_link, wiki_path
from webemu.worlds.stories import RESEARCH_TOPICS
from webemu.worlds.templates import render_table
from webemu.worlds.works_and_products import FESTIVAL_YEARS


class LinkingWriter(SentencePicker):
    """Picks the sentences of one article and links an entity the first time the article names it."""

    def __init__(self, directory: SiteDirectory, entity: Entity, *salt: object) -> None:
        super().__init__(seeded_rng(directory.graph.seed, "article", entity.key, *salt))
        self.directory, self.graph = directory, directory.graph
        self._linked_titles = {entity.title}

    def link_first_mention(self, entity: Entity) -> str:
        """Return the name of an entity as HTML, linked if this is its first mention."""
        text = entity.title if entity.kind == "river" else entity.name
        if entity.title in self._linked_titles:
            return escape(text)
        self._linked_titles.add(entity.title)
        return render_link(wiki_path(entity.title), text)

    def draw_history_slots(self) -> dict[str, object]:
        """Draw two years and a century for sentences about history."""
        y1 = self.rng.randint(1480, 1790)
        return {"y1": y1, "y2": self.rng.randint(1846, 1899), "c": f"{y1 // 100 + 1}th"}


def _write_town(writer: LinkingWriter, town: Town, early: bool) -> str:
    graph = writer.graph
    region = graph.regions[town.region]
    slots: dict[str, object] = {
        "name": escape(town.name), "region": writer.link_first_mention(region), "country": writer.link_first_mention(graph.countries[town.country]),
        "population": format_number(town.population[3]), "area": town.area, "trait": region.trait, "trade": town.trade,
        "sight": town.sight, "mentioned": town.first_mention_year, **writer.draw_history_slots(),
    }  # fmt: skip
    has_new_mayor = town.former_mayor >= 0
    mayor = graph.people[town.former_mayor if early else town.mayor]
    since = 2016 if early else "December 2024" if has_new_mayor else town.mayor_since
    river_sentence = (
        writer.pick(bank.TOWN_RIVER, river=writer.link_first_mention(graph.rivers[town.river]), **slots)
        if town.river >= 0
        else ""
    )
    former_mayor_sentence = (
        writer.pick(bank.TOWN_FORMER, former=writer.link_first_mention(graph.people[town.former_mayor]), **slots)
        if has_new_mayor and not early
        else ""
    )
    life = writer.pick_several(
        bank.TOWN_LIFE, 3, 5, capital=writer.link_first_mention(graph.towns[region.capital]), **slots
    )
    lead = render_paragraph(
        writer.pick(bank.TOWN_LEAD, **slots),
        river_sentence,
        writer.pick(bank.TOWN_PEOPLE, **slots),
        writer.pick(bank.TOWN_SIGHTS, **slots),
    )
    no_river_sentence = "" if river_sentence else writer.pick(bank.TOWN_DRY, **slots)
    census = render_table(
        ("Year", "Population"), [(str(y), format_number(p)) for y, p in zip(CENSUS_YEARS, town.population, strict=True)]
    )
    return (
        lead + "<h2>History</h2>\n" + render_paragraph(writer.pick(bank.TOWN_HISTORY, **slots), *writer.pick_several(bank.TOWN_PAST, 3, 5, **slots))
        + "<h2>Government</h2>\n" + render_paragraph(writer.pick(bank.TOWN_MAYOR, mayor=writer.link_first_mention(mayor), since=since, **slots), former_mayor_sentence)
        + "<h2>Geography and daily life</h2>\n" + render_paragraph(no_river_sentence, *life)
        + "<h2>Population history</h2>\n" + census + _render_natives(writer, town)
    )  # fmt: skip


def _render_natives(writer: LinkingWriter, town: Town) -> str:
    positions = writer.directory.people_born_in.get(town.key, [])[:12]
    if not positions:
        return ""
    items = "".join(
        f"<li>{writer.link_first_mention(p)} ({p.birth_date[:4]}{f'–{p.death_year}' if p.death_year else ''}), {p.occupation}</li>\n"
        for p in (writer.graph.people[n] for n in positions)
    )
    return f"<h2>People from {escape(town.name)}</h2>\n<ul>\n{items}</ul>\n"


def _write_person(writer: LinkingWriter, person: Person, early: bool) -> str:
    graph, rng = writer.graph, writer.rng
    home = graph.towns[person.birthplace]
    year = int(person.birth_date[:4])
    country = graph.countries[home.country]
    slots: dict[str, object] = {
        "name": escape(person.name), "surname": escape(person.surname), "he": person.subject_pronoun, "his": person.possessive_pronoun,
        "him": "her" if person.is_woman else "him", "He": person.subject_pronoun.capitalize(), "His": person.possessive_pronoun.capitalize(),
        "born": format_long_date(person.birth_date), "died": person.death_year, "occ": with_article(f"{country.adjective} {person.occupation}"),
        "y": year + 23, "y2": min(year + rng.randint(27, 34), 2022), "y3": min(year + rng.randint(38, 46), 2023),
        "father": with_article(rng.choice(("carpenter", "railway clerk", "doctor", "stonemason", "ferryman", "teacher", "baker", "surveyor"))),
        "mother": with_article(rng.choice(("midwife", "seamstress", "librarian", "pharmacist", "cook", "bookkeeper", "piano teacher"))),
        "topic": rng.choice(RESEARCH_TOPICS),
    }  # fmt: skip
    lead = writer.pick(
        bank.PERSON_LEAD_PAST if person.death_year else bank.PERSON_LEAD, place=writer.link_first_mention(home), **slots
    )
    slots["place"] = escape(home.name)
    crafts = bank.CRAFT.get(person.occupation) or (bank.SCIENCE if person.occupation in SCHOLARS else bank.ART)
    role_sentences = [
        writer.pick(("{surname} is known as {role}.", "Among other things {he} is {role}."), role=role, **slots)
        for role in _role_phrases(writer, person, early)
    ]
    school = writer.pick(
        bank.PERSON_SCHOOL, school=writer.link_first_mention(graph.universities[person.university]), **slots
    )
    work = (
        writer.pick(bank.PERSON_WORK, employer=writer.link_first_mention(graph.find_employer(person)), **slots)
        if person.employer
        else ""
    )
    return (
        render_paragraph(lead, *role_sentences[:2]) + "<h2>Early life</h2>\n" + render_paragraph(writer.pick(bank.PERSON_BIRTH, **slots), school)
        + "<h2>Career</h2>\n" + render_paragraph(work, *writer.pick_several(crafts, 2, 3, **slots), *role_sentences[2:]) + _render_works(writer, person)
        + "<h2>Personal life</h2>\n" + render_paragraph(*writer.pick_several(bank.PERSON_LIFE, 2, 4, **slots))
    )  # fmt: skip


def _role_phrases(writer: LinkingWriter, person: Person, early: bool) -> list[str]:
    """Return noun phrases for what a person is or founded or designed, with links."""
    graph, roles = writer.graph, []
    position = int(person.key.partition("/")[2])
    if position < len(graph.towns):
        town = graph.towns[position]
        if not (early and town.former_mayor >= 0):
            roles.append(f"the mayor of {writer.link_first_mention(town)}")
    roles += [
        f"the founder of {writer.link_first_mention(graph.companies[n])}"
        for n in writer.directory.companies_by_founder.get(person.key, [])
    ]
    roles += [
        f"the architect of the {writer.link_first_mention(graph.landmarks[n])}"
        for n in writer.directory.landmarks_by_architect.get(person.key, [])[:3]
    ]
    return roles


def _render_works(writer: LinkingWriter, person: Person) -> str:
    works = sorted(writer.directory.works_by.get(person.key, []), key=lambda work: (work.year, work.name))
    if not works:
        return ""
    items = "".join(f"<li>{writer.link_first_mention(work)} ({work.year})</li>\n" for work in works)
    return f"<h2>{'Novels' if works[0].kind == 'novel' else 'Films'}</h2>\n<ul>\n{items}</ul>\n"


def _write_company(writer: LinkingWriter, company: Company, early: bool) -> str:
    graph, rng = writer.graph, writer.rng
    town = graph.towns[company.town]
    span = max(2021 - company.founding_year, 3)
    slots: dict[str, object] = {
        "name": escape(company.name), "industry": with_article(f"{graph.countries[town.country].adjective} {company.industry}"),
        "town": writer.link_first_mention(town), "country": writer.link_first_mention(graph.countries[town.country]), "founded": company.founding_year,
        "founder": writer.link_first_mention(graph.people[company.founder]), "employees": format_number(company.employees),
        "y1": company.founding_year + 1 + rng.randint(1, span // 3), "y2": company.founding_year + 1 + span // 3 + rng.randint(0, span // 3),
        "y3": min(2022, company.founding_year + 2 * span // 3 + rng.randint(1, 4)),
    }  # fmt: skip
    products = [graph.products[n] for n in writer.directory.products_of.get(company.key, [])]
    items = "".join(
        f"<li>{writer.link_first_mention(item)}, {item.product_type} ({item.introduction_year})</li>\n"
        for item in products
    )
    return (
        render_paragraph(writer.pick(bank.COMPANY_LEAD, **slots), writer.pick(bank.COMPANY_FOUND, **slots), writer.pick(bank.COMPANY_STAFF, **slots))
        + "<h2>History</h2>\n" + render_paragraph(*writer.pick_several(bank.COMPANY_PAST, 4, 6, **slots))
        + (f"<h2>Products</h2>\n<ul>\n{items}</ul>\n" if items else "")
    )  # fmt: skip


def _write_product(writer: LinkingWriter, product: Product, early: bool) -> str:
    company = writer.graph.companies[product.company]
    slots: dict[str, object] = {
        "name": escape(product.name), "what": with_article(product.product_type), "company": writer.link_first_mention(company), "year": product.introduction_year,
        "company_plain": escape(company.name), "kg": f"{writer.rng.uniform(0.2, 14):.1f}",
    }  # fmt: skip
    return render_paragraph(
        writer.pick(bank.PRODUCT_LEAD, **slots), writer.pick(bank.PRODUCT_YEAR, **slots)
    ) + render_paragraph(*writer.pick_several(bank.PRODUCT_MORE, 3, 5, **slots))


def _write_work(writer: LinkingWriter, work: Work, early: bool) -> str:
    graph, novel = writer.graph, work.kind == "novel"
    slots: dict[str, object] = {
        "name": escape(work.name), "kind": "a novel" if novel else "a film", "maker": writer.link_first_mention(graph.people[work.creator]),
        "verb": "published" if novel else "released", "made": "written" if novel else "directed", "did": "wrote" if novel else "directed",
        "year": work.year, "theme": work.theme, "town": writer.link_first_mention(graph.towns[work.setting]), "py": work.prize_year,
    }  # fmt: skip
    prize = (
        writer.pick(bank.WORK_PRIZE, prize=writer.link_first_mention(graph.prizes[work.prize]), **slots)
        if work.prize >= 0
        else ""
    )
    house = f"It was {'published by' if novel else 'produced by'} {escape(work.publisher)}."
    lead = writer.pick(bank.WORK_LEAD, **slots)
    slots["maker"] = escape(graph.people[work.creator].name)
    return (
        render_paragraph(lead, house, prize) + "<h2>Content</h2>\n"
        + render_paragraph(writer.pick(bank.WORK_PLOT, **slots), writer.pick(bank.WORK_PLACE, **slots))
        + "<h2>Background and reception</h2>\n" + render_paragraph(writer.pick(bank.WORK_BY, **slots), *writer.pick_several(bank.WORK_MORE, 3, 4, **slots))
    )  # fmt: skip


def _write_prize(writer: LinkingWriter, prize: Prize, early: bool) -> str:
    graph, novel = writer.graph, prize.field == "novel"
    works = graph.novels if novel else graph.films
    kind = "a literary prize for the best novel of the year" if novel else "a prize for the best film of the year"
    slots: dict[str, object] = {
        "name": escape(prize.name),
        "kind": kind,
        "town": writer.link_first_mention(graph.towns[prize.town]),
        "year": prize.founding_year,
    }
    rows = [
        (str(year), writer.link_first_mention(works[n])) for year, n in zip(PRIZE_YEARS, prize.winners, strict=True)
    ]
    return (
        render_paragraph(writer.pick(bank.PRIZE_LEAD, **slots), f"It was established in {prize.founding_year}.", *writer.pick_several(bank.PRIZE_MORE[2:], 2, 4, **slots))
        + "<h2>Winners</h2>\n" + render_table(("Year", "Winner"), rows)
    )  # fmt: skip


def _write_landmark(writer: LinkingWriter, landmark: Landmark, early: bool) -> str:
    town = writer.graph.towns[landmark.town]
    slots: dict[str, object] = {
        "name": escape(landmark.name), "what": with_article(landmark.building_type), "town": writer.link_first_mention(town), "country": writer.link_first_mention(writer.graph.countries[town.country]),
        "opened": format_long_date(landmark.opening_date), "architect": writer.link_first_mention(writer.graph.people[landmark.architect]),
    }  # fmt: skip
    return render_paragraph(
        writer.pick(bank.LANDMARK_LEAD, **slots), writer.pick(bank.LANDMARK_OPEN, **slots)
    ) + render_paragraph(
        writer.pick(bank.LANDMARK_BY, **slots), *writer.pick_several(bank.LANDMARK_MORE, 3, 4, **slots)
    )


def _write_festival(writer: LinkingWriter, festival: Festival, early: bool) -> str:
    town = writer.graph.towns[festival.town]
    slots: dict[str, object] = {
        "name": escape(festival.name), "town": writer.link_first_mention(town), "country": writer.link_first_mention(writer.graph.countries[town.country]),
        "month": MONTHS[festival.month - 1], "since": festival.first_year,
    }  # fmt: skip
    rows = [(str(y), format_number(v)) for y, v in zip(FESTIVAL_YEARS, festival.visitors, strict=True)]
    return (
        render_paragraph(writer.pick(bank.FESTIVAL_LEAD, **slots), writer.pick(bank.FESTIVAL_MORE[:2], **slots), *writer.pick_several(bank.FESTIVAL_MORE[2:], 2, 4, **slots))
        + "<h2>Editions</h2>\n" + render_table(("Year", "Visitors"), rows)
    )  # fmt: skip


def _write_university(writer: LinkingWriter, university: University, early: bool) -> str:
    town = writer.graph.towns[university.town]
    slots: dict[str, object] = {
        "name": escape(university.name), "town": writer.link_first_mention(town), "country": writer.link_first_mention(writer.graph.countries[town.country]),
        "year": university.founding_year, "rector": writer.link_first_mention(writer.graph.people[university.rector]), "students": format_number(university.students),
        "strength": university.strength,
    }  # fmt: skip
    fact_sentences = [writer.pick((line,), **slots) for line in bank.UNIVERSITY_MORE[:4]]
    return render_paragraph(writer.pick(bank.UNIVERSITY_LEAD, **slots), *fact_sentences) + render_paragraph(
        *writer.pick_several(bank.UNIVERSITY_MORE[4:], 2, 4, **slots)
    )


def _write_river(writer: LinkingWriter, river: River, early: bool) -> str:
    towns = join_with_and([writer.link_first_mention(writer.graph.towns[n]) for n in river.towns[:9]])
    slots: dict[str, object] = {
        "name": escape(river.title), "country": writer.link_first_mention(writer.graph.countries[river.country]), "length": river.length,
        "source": escape(river.source), "mouth": escape(river.mouth), "towns": towns,
    }  # fmt: skip
    banks_sentence = writer.pick(bank.RIVER_MORE[2:3], **slots) if towns else ""
    return render_paragraph(
        writer.pick(bank.RIVER_LEAD, **slots), writer.pick(bank.RIVER_MORE[:2], **slots), banks_sentence
    ) + render_paragraph(*writer.pick_several(bank.RIVER_MORE[3:], 2, 3, **slots))


def _write_region(writer: LinkingWriter, region: Region, early: bool) -> str:
    graph = writer.graph
    slots: dict[str, object] = {
        "name": escape(region.name), "country": writer.link_first_mention(graph.countries[region.country]), "capital": writer.link_first_mention(graph.towns[region.capital]),
        "area": format_number(region.area), "population": format_number(region.population), "trait": region.trait,
    }  # fmt: skip
    towns = sorted(
        (graph.towns[n] for n in writer.directory.towns_in[region.key]), key=lambda town: -town.population[3]
    )
    rows = [(render_link(wiki_path(t.title), t.name), format_number(t.population[3])) for t in towns[:25]]
    return (
        render_paragraph(writer.pick(bank.REGION_LEAD, **slots), writer.pick(bank.REGION_MORE[:1], **slots), *writer.pick_several(bank.REGION_MORE[1:], 2, 4, **slots))
        + "<h2>Largest towns</h2>\n" + render_table(("Town", "Population (2021)"), rows)
    )  # fmt: skip


def _write_country(writer: LinkingWriter, country: Country, early: bool) -> str:
    graph = writer.graph
    regions = join_with_and(
        [writer.link_first_mention(region) for region in graph.regions if graph.countries[region.country] is country][
            :16
        ]
    )
    slots: dict[str, object] = {
        "name": escape(country.name), "population": format_number(country.population), "capital": writer.link_first_mention(graph.towns[country.capital]),
        "year": country.founding_year, "president": writer.link_first_mention(graph.people[country.president]), "currency": country.currency, "regions": regions,
    }  # fmt: skip
    return render_paragraph(writer.pick(bank.COUNTRY_LEAD, **slots)) + render_paragraph(
        *[writer.pick((line,), **slots) for line in bank.COUNTRY_MORE]
    )


_WRITERS: dict[str, Callable[..., str]] = {
    "town": _write_town, "person": _write_person, "company": _write_company, "product": _write_product, "novel": _write_work, "film": _write_work, "prize": _write_prize,
    "landmark": _write_landmark, "festival": _write_festival, "university": _write_university, "river": _write_river, "region": _write_region, "country": _write_country,
}  # fmt: skip
"""Functions that write an article's body, by kind of entity."""


def render_article_body(directory: SiteDirectory, entity: Entity, early: bool = False) -> str:
    """Return the article's body as HTML; `early` gives it as it stood before the mayors changed."""
    return _WRITERS[entity.kind](LinkingWriter(directory, entity), entity, early)
