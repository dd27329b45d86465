"""The encyclopedia: an article per entity, disambiguation pages, categories over several pages, and a main page.

`entries.py` writes the body of an article; this module adds what surrounds it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from html import escape
from itertools import islice

from webemu.worlds.facts import format_number, list_facts
from webemu.worlds.graph import Entity, Person, Town
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.site_directory import LEXICON_HOST, SiteDirectory, render_link, wiki_path
from webemu.worlds.sites.common import list_common_pages
from webemu.worlds.sites.entries import render_article_body
from webemu.worlds.templates import render_list, render_page, render_pager, render_table
from webemu.worlds.web import Site, SitePage

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
ENTRIES_PER_PAGE = 200
"""Entries on one page of a category."""


def build_encyclopedia(directory: SiteDirectory) -> list[Site]:
    """Return the site of the encyclopedia."""
    return [
        Site(
            LEXICON_HOST, "OpenLexicon", "lexicon", "The encyclopedia written by its readers", partial(_list_pages, directory), NAV,
            server="ATS/9.2.5", not_found_paths=("/wiki/Deleted_page", "/wiki/Portal:Cartography"), gone_paths=("/wiki/User:Sockpuppet_77",),
            redirects=(("/", "/wiki/Main_Page", 301), ("/wiki/Mainpage", "/wiki/Main_Page", 301), ("/wiki/Special:Random", _random_article_path(directory), 302)),
            disallowed_prefixes=("/w/", "/wiki/Special:"),
        )
    ]  # fmt: skip


def _random_article_path(directory: SiteDirectory) -> str:
    return wiki_path(seeded_rng(directory.graph.seed, "random page").choice(directory.graph.towns).title)


def _list_pages(directory: SiteDirectory, site: Site) -> Iterator[SitePage]:
    yield SitePage("/wiki/Main_Page", partial(_render_main_page, directory, site), "2024-11-30")
    for entity in directory.graph.list_entities():
        is_changed = _is_changed(directory, entity)
        yield SitePage(
            wiki_path(entity.title), partial(render_article, directory, site, entity), _last_edited(directory, entity, is_changed),
            render_before=partial(render_article, directory, site, entity, True) if is_changed else None,
        )  # fmt: skip
    for name, entities in _find_namesakes(directory).items():
        yield SitePage(
            wiki_path(f"{name} (disambiguation)"), partial(_render_disambiguation, site, name, entities), "2023-05-02"
        )
    for kind, group in directory.graph.group_by_kind().items():
        yield from _list_category_pages(site, CATEGORIES[kind], sorted(group, key=lambda entity: entity.title))
    yield from _list_ranking_pages(directory, site)
    yield from list_common_pages(site)


def _is_changed(directory: SiteDirectory, entity: Entity) -> bool:
    """True for towns whose mayor changed during the crawl, and for their new mayors."""
    if isinstance(entity, Person):
        position = int(entity.key.partition("/")[2])
        return position < len(directory.graph.towns) and directory.graph.towns[position].former_mayor >= 0
    return isinstance(entity, Town) and entity.former_mayor >= 0


def _last_edited(directory: SiteDirectory, entity: Entity, is_changed: bool) -> str:
    """Return the ISO date of an article's last edit."""
    rng = seeded_rng(directory.graph.seed, "edited", entity.key)
    return "2024-12-02" if is_changed else f"2024-{rng.randint(1, 10):02d}-{rng.randint(1, 28):02d}"


def render_article(directory: SiteDirectory, site: Site, entity: Entity, early: bool = False) -> str:
    """Return an article with its infobox; `early` gives it as it stood before the mayors changed."""
    content = f'<h1 id="firstHeading">{escape(entity.title)}</h1>\n{render_infobox(directory, entity, early)}{_render_hatnote(entity)}'
    content += render_article_body(directory, entity, early) + _render_references(directory, entity)
    label = CATEGORIES[entity.kind]
    content += _render_category_box(label)
    facts = ", ".join(f"{fact.label}: {fact.text}" for fact in list_facts(directory.graph, entity)[:2] if not early)
    return render_page(site, f"{entity.title} - OpenLexicon", content, description=f"{entity.name}. {facts}")


def _render_category_box(label: str) -> str:
    category_list = f"<ul><li>{render_link(f'/wiki/Category:{label}', label)}</li></ul>"
    return f'<div id="catlinks" class="catlinks"><div id="mw-normal-catlinks" class="mw-normal-catlinks">Category: {category_list}</div></div>\n'


def render_infobox(directory: SiteDirectory, entity: Entity, early: bool) -> str:
    """Return the table of an entity's facts; `early` gives it as it stood before the mayors changed."""
    rows = ""
    for fact in list_facts(directory.graph, entity):
        text, target = fact.text, fact.target
        if early and isinstance(entity, Town):
            if fact.relation == "previous_mayor":
                continue
            if fact.relation == "mayor":
                target = directory.graph.people[entity.former_mayor]
                text = target.name
            text = "2016" if fact.relation == "mayor_since" else text
        value = render_link(wiki_path(target.title), text) if target else escape(text)
        rows += f"<tr><th>{escape(fact.label)}</th><td>{value}</td></tr>\n"
    if website := _website_url(directory, entity):
        rows += f"<tr><th>Website</th><td>{render_link(website, website.removeprefix('https://').rstrip('/'), 'nofollow')}</td></tr>\n"
    return f'<table class="infobox"><caption>{escape(entity.name)}</caption><tbody>\n{rows}</tbody></table>\n'


def _website_url(directory: SiteDirectory, entity: Entity) -> str:
    """Return the URL of the entity's own site, or of the work's page in its catalogue; empty for none."""
    kind, _, position = entity.key.partition("/")
    base = ""
    if kind == "town":
        base = directory.council_url(directory.graph.towns[int(position)])
    elif kind == "company":
        base = directory.company_url(directory.graph.companies[int(position)])
    elif kind == "university" and int(position) in directory.universities_with_site:
        base = directory.university_url(directory.graph.universities[int(position)])
    elif kind in ("novel", "film"):
        works = directory.graph.novels if kind == "novel" else directory.graph.films
        return directory.catalogue_url(works[int(position)])
    return f"{base}/" if base else ""


def _render_hatnote(entity: Entity) -> str:
    if entity.title == entity.name or entity.kind not in ("town", "person"):
        return ""
    link = render_link(wiki_path(f"{entity.name} (disambiguation)"), f"{entity.name} (disambiguation)")
    return f'<div class="hatnote" role="note"><i>For others of this name, see {link}.</i></div>\n'


def _render_references(directory: SiteDirectory, entity: Entity) -> str:
    """Return links to the four newest stories about an entity; empty if there is none."""
    stories = [directory.stories[n] for n in directory.stories_about.get(entity.key, [])[:4]]
    if not stories:
        return ""
    items = [
        f"{render_link(directory.story_url(story), f'“{story.headline}”')}. <i>{escape(directory.papers[story.paper].name)}</i>, {story.day}."
        for story in stories
    ]
    return "<h2>References</h2>\n" + render_list(items, "refs")


def _find_namesakes(directory: SiteDirectory) -> dict[str, list[Entity]]:
    """Return the towns and people that share a name, by name."""
    entities_by_name: dict[str, list[Entity]] = defaultdict(list)
    for entity in (*directory.graph.towns, *directory.graph.people):
        if entity.title != entity.name:
            entities_by_name[entity.name].append(entity)
    return entities_by_name


def _render_disambiguation(site: Site, name: str, entities: list[Entity]) -> str:
    items = render_list(
        f"{render_link(wiki_path(entity.title), entity.title)}, {_describe_briefly(entity)}" for entity in entities
    )
    content = f"<h1>{escape(name)} (disambiguation)</h1>\n<p><b>{escape(name)}</b> may refer to:</p>\n{items}"
    content += '<div id="disambigbox" class="dmbox dmbox-disambig" role="note">This is a disambiguation page.</div>\n'
    return render_page(site, f"{name} (disambiguation) - OpenLexicon", content)


def _describe_briefly(entity: Entity) -> str:
    return f"{entity.occupation} born in {entity.birth_date[:4]}" if isinstance(entity, Person) else "a town"


def _list_category_pages(site: Site, label: str, group: list[Entity]) -> Iterator[SitePage]:
    pages = max(1, -(-len(group) // ENTRIES_PER_PAGE))
    for n in range(1, pages + 1):
        path = wiki_path(f"Category:{label}")
        page_entities = group[(n - 1) * ENTRIES_PER_PAGE : n * ENTRIES_PER_PAGE]
        yield SitePage(
            path if n == 1 else f"{path}?page={n}",
            partial(_render_category_page, site, label, page_entities, n, pages),
            "2024-11-20",
        )


def _render_category_page(site: Site, label: str, page_entities: list[Entity], n: int, pages: int) -> str:
    letters: dict[str, list[Entity]] = defaultdict(list)
    for entity in page_entities:
        letters[entity.title[0]].append(entity)
    content = f"<h1>Category:{label}</h1>\n{render_pager(wiki_path(f'Category:{label}'), n, pages)}"
    for letter, group in letters.items():
        content += f"<h3>{letter}</h3>\n" + render_list(
            render_link(wiki_path(entity.title), entity.title) for entity in group
        )
    return render_page(site, f"Category:{label}" + (f" (page {n})" if n > 1 else "") + " - OpenLexicon", content)


def _list_ranking_pages(directory: SiteDirectory, site: Site) -> Iterator[SitePage]:
    towns = sorted(directory.graph.towns, key=lambda town: (-town.population[3], town.title))
    pages, path = -(-len(towns) // 100), "/wiki/List_of_towns_by_population"
    for n in range(1, pages + 1):
        yield SitePage(
            path if n == 1 else f"{path}?page={n}",
            partial(_render_ranking_page, directory, site, towns, n, pages),
            "2024-10-11",
        )


def _render_ranking_page(directory: SiteDirectory, site: Site, towns: list[Town], n: int, pages: int) -> str:
    start = (n - 1) * 100
    rows = [
        (
            str(start + k),
            render_link(wiki_path(t.title), t.title),
            escape(directory.graph.regions[t.region].name),
            format_number(t.population[3]),
        )
        for k, t in enumerate(islice(towns, start, start + 100), 1)
    ]
    content = "<h1>List of towns by population</h1>\n<p>Figures are those of the 2021 census.</p>\n"
    content += render_table(("Rank", "Town", "Region", "Population (2021)"), rows) + render_pager(
        "/wiki/List_of_towns_by_population", n, pages
    )
    return render_page(
        site, "List of towns by population" + (f" (page {n})" if n > 1 else "") + " - OpenLexicon", content
    )


def _render_main_page(directory: SiteDirectory, site: Site) -> str:
    rng, graph = seeded_rng(directory.graph.seed, "main page"), directory.graph
    town = rng.choice([town for town in graph.towns if town.former_mayor < 0])
    picks = rng.sample(graph.list_entities(), 8)
    content = (
        f"<h1>Welcome to OpenLexicon</h1>\n<p>{format_number(len(graph.list_entities()))} articles in English.</p>\n<h2>From today's featured article</h2>\n"
        f"<p>{render_link(wiki_path(town.title), town.title)} grew rich on {town.trade} and is known for {town.sight}.</p>\n"
        f"<h2>Recently changed</h2>\n{render_list(render_link(wiki_path(entity.title), entity.title) for entity in picks)}"
        f'<p>See also: {render_link("/wiki/Portal:Cartography", "Portal:Cartography")}, {render_link("/wiki/Deleted_page", "Requested articles")}</p>\n'
    )  # fmt: skip
    return render_page(site, "OpenLexicon, the free encyclopedia", content)
