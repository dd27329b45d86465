"""The site of an outdated almanac: short entries on entities that other sites describe too, as they were in 2018.

`almanac.py` decides its entries and facts. Every page is dated 2018, so that a careful reader can tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds import almanac
from webemu.worlds.graph import Company, Town, University
from webemu.worlds.names import with_article
from webemu.worlds.prose import format_long_date, render_paragraph
from webemu.worlds.site_directory import GAZETTEER_HOST, SiteDirectory, render_link
from webemu.worlds.sites.common import list_common_pages, list_paged
from webemu.worlds.templates import render_page
from webemu.worlds.web import Site, SitePage

CLOSING_NOTE = f"This entry was closed on {format_long_date(almanac.EDITION_DATE)} and has not been revised."


def build_gazetteer(directory: SiteDirectory) -> list[Site]:
    """Return the site of the almanac."""
    nav = (("/", "Entries"), ("/about", "About"))
    return [
        Site(GAZETTEER_HOST, "Pocket Gazetteer", "plain", f"Places and firms from A to Z, edition of {almanac.EDITION_YEAR}", partial(_list_pages, directory), nav, "#704214",
             "Apache/2.2.34", not_found_paths=("/edition/2019",), redirects=(("/index.html", "/", 301),))
    ]  # fmt: skip


def _list_pages(directory: SiteDirectory, site: Site) -> Iterator[SitePage]:
    entries = almanac.list_entries(directory)
    items = [partial(render_link, almanac.entry_path(entity), entity.title) for entity in entries]
    intro = f"No further {render_link('/edition/2019', 'edition')} has appeared."
    yield from list_paged(
        site, "/", f"{site.name}, edition of {almanac.EDITION_YEAR}", items, 60, almanac.EDITION_DATE, intro
    )
    for entity in entries:
        yield SitePage(
            almanac.entry_path(entity), partial(_render_entry, directory, entity, site), almanac.EDITION_DATE
        )
    yield from list_common_pages(site)


def _render_entry(directory: SiteDirectory, entity: Town | Company | University, site: Site) -> str:
    dated_rows = [(fact.label, fact.text) for fact in almanac.outdated_facts(directory, entity)]
    rows = "".join(
        f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>\n"
        for label, text in _undated_rows(directory, entity) + dated_rows
    )
    title = f"{entity.title} in {almanac.EDITION_YEAR}"
    content = f"<h1>{escape(title)}</h1>\n{render_paragraph(_describe_entity(directory, entity))}<table>{rows}</table>\n{render_paragraph(CLOSING_NOTE)}"
    head = f'<meta property="article:published_time" content="{almanac.EDITION_DATE}T09:00:00+01:00">\n'
    return render_page(site, f"{title} - {site.name}", content, head=head)


def _describe_entity(directory: SiteDirectory, entity: Town | Company | University) -> str:
    graph = directory.graph
    country = graph.countries[entity.country if isinstance(entity, Town) else graph.towns[entity.town].country]
    match entity:
        case Town():
            description = f"a town in {escape(country.name)}, first mentioned in {entity.first_mention_year}"
        case Company():
            description = (
                f"{with_article(country.adjective)} maker of {entity.industry}, founded in {entity.founding_year}"
            )
        case University():
            description = f"{with_article(country.adjective)} university, established in {entity.founding_year}"
    return f"<b>{escape(entity.name)}</b>: {description}."


def _undated_rows(directory: SiteDirectory, entity: Town | Company | University) -> list[tuple[str, str]]:
    """Return the rows of an entry that are not outdated: where the entity is, and for a town the census that is
    quoted.
    """
    graph = directory.graph
    if isinstance(entity, Town):
        return [("Region", graph.regions[entity.region].name), ("Census", "2011")]
    return [("Town", graph.towns[entity.town].name)]
