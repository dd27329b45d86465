"""The encyclopedia: an article per entity, disambiguation pages, categories over several pages, and a main page.

`entries.py` writes the body of an article; this module adds what surrounds it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from html import escape
from itertools import islice

from webemu.worlds.facts import facts_of, number
from webemu.worlds.graph import Entity, Person, Town
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import LEXICON, Atlas, anchor, wiki_path
from webemu.worlds.sites.common import common
from webemu.worlds.sites.entries import entry
from webemu.worlds.templates import bullets, page, pager, table
from webemu.worlds.web import Leaf, Site

NAV = (
    ("/wiki/Main_Page", "Main page"), ("/wiki/Category:Towns", "Towns"), ("/wiki/Category:People", "People"),
    ("/wiki/Category:Companies", "Companies"), ("/wiki/Category:Novels", "Novels"), ("/wiki/Category:Films", "Films"),
    ("/wiki/List_of_towns_by_population", "Towns by population"),
)  # fmt: skip
CATEGORIES = {
    "country": "Countries", "region": "Regions", "river": "Rivers", "town": "Towns", "person": "People", "company": "Companies",
    "product": "Products", "university": "Universities", "novel": "Novels", "film": "Films", "prize": "Prizes",
    "landmark": "Landmarks", "festival": "Festivals",
}  # fmt: skip
"""Category by kind of entity."""
PER_PAGE = 200
"""Entries on one page of a category."""


def encyclopedia(atlas: Atlas) -> list[Site]:
    """Return the site of the encyclopedia."""
    return [
        Site(
            LEXICON, "OpenLexicon", "lexicon", "The encyclopedia written by its readers", partial(_leaves, atlas), NAV,
            server="ATS/9.2.5", dead=("/wiki/Deleted_page", "/wiki/Portal:Cartography"), gone=("/wiki/User:Sockpuppet_77",),
            moved=(("/", "/wiki/Main_Page", 301), ("/wiki/Mainpage", "/wiki/Main_Page", 301), ("/wiki/Special:Random", _random(atlas), 302)),
            disallow=("/w/", "/wiki/Special:"),
        )
    ]  # fmt: skip


def _random(atlas: Atlas) -> str:
    return wiki_path(dice(atlas.graph.seed, "random page").choice(atlas.graph.towns).title)


def _leaves(atlas: Atlas, site: Site) -> Iterator[Leaf]:
    yield Leaf("/wiki/Main_Page", partial(_main_page, atlas, site), "2024-11-30")
    for entity in atlas.graph.entities():
        changed = _is_changed(atlas, entity)
        yield Leaf(
            wiki_path(entity.title), partial(article, atlas, site, entity), _edited(atlas, entity, changed),
            before=partial(article, atlas, site, entity, True) if changed else None,
        )  # fmt: skip
    for name, entities in _namesakes(atlas).items():
        yield Leaf(wiki_path(f"{name} (disambiguation)"), partial(_disambiguation, site, name, entities), "2023-05-02")
    for kind, group in atlas.graph.groups().items():
        yield from _category(site, CATEGORIES[kind], sorted(group, key=lambda entity: entity.title))
    yield from _ranking(atlas, site)
    yield from common(site)


def _is_changed(atlas: Atlas, entity: Entity) -> bool:
    """True for towns whose mayor changed during the crawl, and for their new mayors."""
    if isinstance(entity, Person):
        position = int(entity.key.partition("/")[2])
        return position < len(atlas.graph.towns) and atlas.graph.towns[position].former_mayor >= 0
    return isinstance(entity, Town) and entity.former_mayor >= 0


def _edited(atlas: Atlas, entity: Entity, changed: bool) -> str:
    """Return the ISO date of an article's last edit."""
    rng = dice(atlas.graph.seed, "edited", entity.key)
    return "2024-12-02" if changed else f"2024-{rng.randint(1, 10):02d}-{rng.randint(1, 28):02d}"


def article(atlas: Atlas, site: Site, entity: Entity, early: bool = False) -> str:
    """Return an article with its infobox; `early` gives it as it stood before the mayors changed."""
    main = (
        f'<h1 id="firstHeading">{escape(entity.title)}</h1>\n{infobox(atlas, entity, early)}{_hatnote(atlas, entity)}'
    )
    main += entry(atlas, entity, early) + _references(atlas, entity)
    label = CATEGORIES[entity.kind]
    main += _categories(label)
    facts = ", ".join(f"{fact.label}: {fact.text}" for fact in facts_of(atlas.graph, entity)[:2] if not early)
    return page(site, f"{entity.title} - OpenLexicon", main, description=f"{entity.name}. {facts}")


def _categories(label: str) -> str:
    listed = f"<ul><li>{anchor(f'/wiki/Category:{label}', label)}</li></ul>"
    return f'<div id="catlinks" class="catlinks"><div id="mw-normal-catlinks" class="mw-normal-catlinks">Category: {listed}</div></div>\n'


def infobox(atlas: Atlas, entity: Entity, early: bool) -> str:
    """Return the table of an entity's facts; `early` gives it as it stood before the mayors changed."""
    rows = ""
    for fact in facts_of(atlas.graph, entity):
        text, target = fact.text, fact.target
        if early and isinstance(entity, Town):
            if fact.relation == "previous_mayor":
                continue
            if fact.relation == "mayor":
                target = atlas.graph.people[entity.former_mayor]
                text = target.name
            text = "2016" if fact.relation == "mayor_since" else text
        value = anchor(wiki_path(target.title), text) if target else escape(text)
        rows += f"<tr><th>{escape(fact.label)}</th><td>{value}</td></tr>\n"
    if website := _website(atlas, entity):
        rows += f"<tr><th>Website</th><td>{anchor(website, website.removeprefix('https://').rstrip('/'), 'nofollow')}</td></tr>\n"
    return f'<table class="infobox"><caption>{escape(entity.name)}</caption><tbody>\n{rows}</tbody></table>\n'


def _website(atlas: Atlas, entity: Entity) -> str:
    """Return the URL of the entity's own site, or of the work's page in its catalogue; empty for none."""
    kind, _, position = entity.key.partition("/")
    base = ""
    if kind == "town":
        base = atlas.council(atlas.graph.towns[int(position)])
    elif kind == "company":
        base = atlas.firm(atlas.graph.companies[int(position)])
    elif kind == "university" and int(position) in atlas.schools:
        base = atlas.school(atlas.graph.universities[int(position)])
    elif kind in ("novel", "film"):
        works = atlas.graph.novels if kind == "novel" else atlas.graph.films
        return atlas.catalogue(works[int(position)])
    return f"{base}/" if base else ""


def _hatnote(atlas: Atlas, entity: Entity) -> str:
    if entity.title == entity.name or entity.kind not in ("town", "person"):
        return ""
    link = anchor(wiki_path(f"{entity.name} (disambiguation)"), f"{entity.name} (disambiguation)")
    return f'<div class="hatnote" role="note"><i>For others of this name, see {link}.</i></div>\n'


def _references(atlas: Atlas, entity: Entity) -> str:
    """Return links to the four newest stories about an entity; empty if there is none."""
    cited = [atlas.stories[n] for n in atlas.about.get(entity.key, [])[:4]]
    if not cited:
        return ""
    items = [
        f"{anchor(atlas.story_url(story), f'“{story.headline}”')}. <i>{escape(atlas.papers[story.paper].name)}</i>, {story.day}."
        for story in cited
    ]
    return "<h2>References</h2>\n" + bullets(items, "refs")


def _namesakes(atlas: Atlas) -> dict[str, list[Entity]]:
    """Return the towns and people that share a name, by name."""
    named: dict[str, list[Entity]] = defaultdict(list)
    for entity in (*atlas.graph.towns, *atlas.graph.people):
        if entity.title != entity.name:
            named[entity.name].append(entity)
    return named


def _disambiguation(site: Site, name: str, entities: list[Entity]) -> str:
    items = bullets(f"{anchor(wiki_path(entity.title), entity.title)}, {_gloss(entity)}" for entity in entities)
    main = f"<h1>{escape(name)} (disambiguation)</h1>\n<p><b>{escape(name)}</b> may refer to:</p>\n{items}"
    main += '<div id="disambigbox" class="dmbox dmbox-disambig" role="note">This is a disambiguation page.</div>\n'
    return page(site, f"{name} (disambiguation) - OpenLexicon", main)


def _gloss(entity: Entity) -> str:
    return f"{entity.occupation} born in {entity.born[:4]}" if isinstance(entity, Person) else "a town"


def _category(site: Site, label: str, group: list[Entity]) -> Iterator[Leaf]:
    pages = max(1, -(-len(group) // PER_PAGE))
    for n in range(1, pages + 1):
        path = wiki_path(f"Category:{label}")
        part = group[(n - 1) * PER_PAGE : n * PER_PAGE]
        yield Leaf(
            path if n == 1 else f"{path}?page={n}", partial(_category_page, site, label, part, n, pages), "2024-11-20"
        )


def _category_page(site: Site, label: str, part: list[Entity], n: int, pages: int) -> str:
    letters: dict[str, list[Entity]] = defaultdict(list)
    for entity in part:
        letters[entity.title[0]].append(entity)
    main = f"<h1>Category:{label}</h1>\n{pager(wiki_path(f'Category:{label}'), n, pages)}"
    for letter, group in letters.items():
        main += f"<h3>{letter}</h3>\n" + bullets(anchor(wiki_path(entity.title), entity.title) for entity in group)
    return page(site, f"Category:{label}" + (f" (page {n})" if n > 1 else "") + " - OpenLexicon", main)


def _ranking(atlas: Atlas, site: Site) -> Iterator[Leaf]:
    towns = sorted(atlas.graph.towns, key=lambda town: (-town.population[3], town.title))
    pages, path = -(-len(towns) // 100), "/wiki/List_of_towns_by_population"
    for n in range(1, pages + 1):
        yield Leaf(
            path if n == 1 else f"{path}?page={n}", partial(_ranking_page, atlas, site, towns, n, pages), "2024-10-11"
        )


def _ranking_page(atlas: Atlas, site: Site, towns: list[Town], n: int, pages: int) -> str:
    start = (n - 1) * 100
    rows = [
        (
            str(start + k),
            anchor(wiki_path(t.title), t.title),
            escape(atlas.graph.regions[t.region].name),
            number(t.population[3]),
        )
        for k, t in enumerate(islice(towns, start, start + 100), 1)
    ]
    main = "<h1>List of towns by population</h1>\n<p>Figures are those of the 2021 census.</p>\n"
    main += table(("Rank", "Town", "Region", "Population (2021)"), rows) + pager(
        "/wiki/List_of_towns_by_population", n, pages
    )
    return page(site, "List of towns by population" + (f" (page {n})" if n > 1 else "") + " - OpenLexicon", main)


def _main_page(atlas: Atlas, site: Site) -> str:
    rng, graph = dice(atlas.graph.seed, "main page"), atlas.graph
    town = rng.choice([town for town in graph.towns if town.former_mayor < 0])
    picks = rng.sample(graph.entities(), 8)
    main = (
        f"<h1>Welcome to OpenLexicon</h1>\n<p>{number(len(graph.entities()))} articles in English.</p>\n<h2>From today's featured article</h2>\n"
        f"<p>{anchor(wiki_path(town.title), town.title)} grew rich on {town.trade} and is known for {town.sight}.</p>\n"
        f"<h2>Recently changed</h2>\n{bullets(anchor(wiki_path(entity.title), entity.title) for entity in picks)}"
        f'<p>See also: {anchor("/wiki/Portal:Cartography", "Portal:Cartography")}, {anchor("/wiki/Deleted_page", "Requested articles")}</p>\n'
    )  # fmt: skip
    return page(site, "OpenLexicon, the free encyclopedia", main)
