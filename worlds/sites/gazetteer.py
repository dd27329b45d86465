"""The site of an outdated almanac: short entries on entities that other sites describe too, as they were in 2018.

`almanac.py` decides its entries and facts. Every page is dated 2018, so that a careful reader can tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds import almanac
from webemu.worlds.graph import Company, Town, University
from webemu.worlds.names import an
from webemu.worlds.prose import long_date, paragraph
from webemu.worlds.site_directory import GAZETTEER, Atlas, anchor
from webemu.worlds.sites.common import common, paged
from webemu.worlds.templates import page
from webemu.worlds.web import Leaf, Site

CLOSED = f"This entry was closed on {long_date(almanac.DAY)} and has not been revised."


def gazetteers(atlas: Atlas) -> list[Site]:
    """Return the site of the almanac."""
    nav = (("/", "Entries"), ("/about", "About"))
    return [
        Site(GAZETTEER, "Pocket Gazetteer", "plain", f"Places and firms from A to Z, edition of {almanac.YEAR}", partial(_entries, atlas), nav, "#704214",
             "Apache/2.2.34", dead=("/edition/2019",), moved=(("/index.html", "/", 301),))
    ]  # fmt: skip


def _entries(atlas: Atlas, site: Site) -> Iterator[Leaf]:
    entries = almanac.entries(atlas)
    items = [partial(anchor, almanac.path(entity), entity.title) for entity in entries]
    intro = f"No further {anchor('/edition/2019', 'edition')} has appeared."
    yield from paged(site, "/", f"{site.name}, edition of {almanac.YEAR}", items, 60, almanac.DAY, intro)
    for entity in entries:
        yield Leaf(almanac.path(entity), partial(_entry, atlas, entity, site), almanac.DAY)
    yield from common(site)


def _entry(atlas: Atlas, entity: Town | Company | University, site: Site) -> str:
    stated = [(fact.label, fact.text) for fact in almanac.then(atlas, entity)]
    rows = "".join(
        f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>\n"
        for label, text in _setting(atlas, entity) + stated
    )
    title = f"{entity.title} in {almanac.YEAR}"
    main = f"<h1>{escape(title)}</h1>\n{paragraph(_lead(atlas, entity))}<table>{rows}</table>\n{paragraph(CLOSED)}"
    head = f'<meta property="article:published_time" content="{almanac.DAY}T09:00:00+01:00">\n'
    return page(site, f"{title} - {site.name}", main, head=head)


def _lead(atlas: Atlas, entity: Town | Company | University) -> str:
    graph = atlas.graph
    country = graph.countries[entity.country if isinstance(entity, Town) else graph.towns[entity.town].country]
    match entity:
        case Town():
            what = f"a town in {escape(country.name)}, first mentioned in {entity.mentioned}"
        case Company():
            what = f"{an(country.adjective)} maker of {entity.industry}, founded in {entity.founded}"
        case University():
            what = f"{an(country.adjective)} university, established in {entity.established}"
    return f"<b>{escape(entity.name)}</b>: {what}."


def _setting(atlas: Atlas, entity: Town | Company | University) -> list[tuple[str, str]]:
    """Return the rows of an entry that are not outdated: where the entity is, and for a town the census that is
    quoted.
    """
    graph = atlas.graph
    if isinstance(entity, Town):
        return [("Region", graph.regions[entity.region].name), ("Census", "2011")]
    return [("Town", graph.towns[entity.town].name)]
