"""The travel guide: regions, weekends in towns, a calendar of festivals, and short versions in other languages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.facts import number
from webemu.worlds.graph import Region, Town
from webemu.worlds.names import slug
from webemu.worlds.prose import MONTHS, Voice, long_date, paragraph
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import TRAVEL, Atlas, anchor, some_towns
from webemu.worlds.sites.common import common, paged
from webemu.worlds.templates import bullets, page, table
from webemu.worlds.web import Leaf, Site

WALK = (
    "Start at the station and [turn left|follow the smell of bread].", "{sight} is worth [the climb|an hour|a second look].", "{town} lives slowly, except on market day.", "Sleep in one of the [four|six] small inns; the large hotel is closed.",
    "{region} is known for {trait}, and you see it from the train.", "In the evening people walk along the [quay|ramparts|main street] and look at each other.", "Boats can be hired from May to September.", "The town grew rich on {trade}.",
)  # fmt: skip
FOREIGN: dict[str, tuple[str, tuple[str, ...]]] = {
    "de": ("{town}: ein Wochenende", ("{town} hat {population} Einwohner und liegt in {region}.", "Die Stadt wurde im Jahr {mentioned} zum ersten Mal erwähnt.", "Der Fluss {river} fließt langsam durch den alten Teil der Stadt.", "Am besten reist man mit der Bahn an und bleibt zwei Nächte.", "Das Museum ist montags geschlossen.")),
    "fr": ("{town} : deux jours sans voiture", ("{town} compte {population} habitants et se trouve en {region}.", "La ville est mentionnée pour la première fois en {mentioned}.", "La rivière {river} traverse lentement les vieux quartiers.", "Le marché du jeudi est le cœur de la ville.", "On y mange bien et l'on s'y couche tôt.")),
    "es": ("{town}: guía para viajeros lentos", ("{town} tiene {population} habitantes y está en {region}.", "La ciudad se menciona por primera vez en el año {mentioned}.", "El río {river} cruza despacio el barrio antiguo.", "Conviene llegar en tren y quedarse dos noches.", "El museo cierra los lunes.")),
    "ru": ("{town}: выходные без спешки", ("В городе {town} живёт {population} человек, он находится в области {region}.", "Впервые город упоминается в {mentioned} году.", "Река {river} медленно течёт через старый город.", "Лучше всего приехать поездом и остаться на две ночи.", "По понедельникам музей закрыт.")),
    "ja": ("{town}でゆっくり過ごす週末", ("{town}は{region}にある町で、人口は{population}人です。", "この町の名前が初めて記録に現れるのは{mentioned}年です。", "{river}川が古い町並みの中をゆっくりと流れています。", "列車で行き、二泊するのがおすすめです。", "博物館は月曜日が休みです。")),
    "zh": ("{town}慢游周末", ("{town}位于{region}，人口{population}。", "这座小城最早见于{mentioned}年的文献。", "{river}河缓缓流过老城区。", "最好乘火车前往，住上两晚。", "博物馆星期一闭馆。")),
}  # fmt: skip
"""Title and sentences of the translated pages, by language."""


def guides(atlas: Atlas) -> list[Site]:
    """Return the site of the travel guide."""
    return [_travel(atlas)]


def _travel(atlas: Atlas) -> Site:
    nav = (
        ("/", "Home"),
        ("/regions", "Regions"),
        ("/calendar", "Festival calendar"),
        *((f"/{code}/", code) for code in FOREIGN),
    )
    return Site(TRAVEL, "Slow Roads", "magazine", "Travel without hurry", partial(_routes, atlas), nav, "#2d6a6a", "nginx", dead=("/map/interactive",),
                moved=(("/guides", "/regions", 301), ("/surprise", "/calendar", 302)), broken=(("/booking", 502),), disallow=("/booking",))  # fmt: skip


def _routes(atlas: Atlas, site: Site) -> Iterator[Leaf]:
    graph, towns = atlas.graph, some_towns(atlas, "travel", 36)
    links = bullets(anchor(_guide(town), f"A weekend in {town.title}") for town in towns[:12])
    yield Leaf(
        "/",
        partial(
            page,
            site,
            f"{site.name} - {site.tagline}",
            f"<h1>Where to go</h1>\n{links}<p>{anchor('/map/interactive', 'Map')} · {anchor('/booking', 'Rooms')}</p>\n",
        ),
        "2024-10-30",
    )
    items = [partial(anchor, f"/region/{slug(region.name)}", region.name) for region in graph.regions]
    yield from paged(site, "/regions", "Regions", items, 40)
    in_region: dict[int, list[Town]] = {}
    for town in towns:
        in_region.setdefault(town.region, []).append(town)
    for n, region in enumerate(graph.regions):
        mine = in_region.get(n, [])
        yield Leaf(f"/region/{slug(region.name)}", partial(_region, atlas, region, mine, site), "2024-05-05")
    for town in towns:
        yield Leaf(
            _guide(town), partial(_weekend, atlas, town, site), f"2023-{dice(town.key, 'guide').randint(1, 12):02d}-10"
        )
    rows = [
        (MONTHS[party.month - 1], anchor(atlas.wiki(party), party.name), escape(graph.towns[party.town].name))
        for party in sorted(graph.festivals, key=lambda party: (party.month, party.name))
    ]
    yield Leaf(
        "/calendar",
        partial(
            page,
            site,
            f"Festival calendar - {site.name}",
            "<h1>Festival calendar</h1>\n" + table(("Month", "Festival", "Town"), rows),
        ),
        "2024-02-01",
    )
    for code, (title, text) in FOREIGN.items():
        yield from _translated(atlas, code, title, text, towns, site)
    yield from common(site)


def _guide(town: Town) -> str:
    return f"/town/{slug(town.title)}"


def _region(atlas: Atlas, region: Region, towns: list[Town], site: Site) -> str:
    voice = Voice(dice(atlas.graph.seed, "route", region.key))
    intro = (
        "{region} is known for {trait}.",
        "Give {region} a week, or [two|three] if it rains.",
        "The slow trains of {region} stop everywhere, and so should you.",
    )
    said = voice.some(intro, 2, 3, region=escape(region.name), trait=region.trait)
    links = bullets(anchor(_guide(town), f"A weekend in {town.title}") for town in towns)
    more = f"<p>Background: {anchor(atlas.wiki(region), region.name)} in OpenLexicon.</p>\n"
    return page(
        site,
        f"{region.name} - {site.name}",
        f"<h1>{escape(region.name)}</h1>\n{paragraph(*said)}{links if towns else ''}{more}",
    )


def _weekend(atlas: Atlas, town: Town, site: Site) -> str:
    graph = atlas.graph
    voice, region = Voice(dice(graph.seed, "weekend", town.key)), graph.regions[town.region]
    sight = town.sight[0].upper() + town.sight[1:]
    said = voice.some(
        WALK,
        5,
        7,
        sight=sight,
        town=escape(town.name),
        region=escape(region.name),
        trait=region.trait,
        trade=town.trade,
    )
    marks = [graph.landmarks[n] for n in atlas.sights.get(town.key, ())]
    items = bullets(f"{anchor(atlas.wiki(mark), mark.name)}, opened on {long_date(mark.opened)}" for mark in marks)
    facts = table(
        ("", ""),
        [("Region", anchor(f"/region/{slug(region.name)}", region.name)), ("Inhabitants", number(town.population[3]))],
    )
    versions = " ".join(
        anchor(f"/{code}/{slug(town.title)}", code) for code in FOREIGN if _is_translated(atlas, code, town)
    )
    main = (
        f"<h1>A weekend in {escape(town.title)}</h1>\n{paragraph(*said[:3])}{paragraph(*said[3:])}{facts}"
        + (f"<h3>To see</h3>\n{items}" if marks else "")
        + (f"<p>{versions}</p>\n" if versions else "")
    )
    return page(
        site,
        f"A weekend in {town.title} - {site.name}",
        main,
        aside=f"<p>{anchor(atlas.wiki(town), f'{town.name} in OpenLexicon')}</p>",
    )


def _is_translated(atlas: Atlas, code: str, town: Town) -> bool:
    """True if the town has a page in that language; about one in six towns on a river has."""
    return town.river >= 0 and dice(atlas.graph.seed, "translated", code, town.key).random() < 0.16


def _translated(
    atlas: Atlas, code: str, title: str, text: tuple[str, ...], towns: list[Town], site: Site
) -> Iterator[Leaf]:
    mine = [town for town in towns if _is_translated(atlas, code, town)]
    links = bullets(anchor(f"/{code}/{slug(town.title)}", title.format(town=town.name)) for town in mine)
    yield Leaf(
        f"/{code}/",
        partial(page, site, f"{site.name} ({code})", f"<h1>{site.name} ({code})</h1>\n{links}", language=code),
        "2024-06-01",
        code,
    )
    for town in mine:
        yield Leaf(
            f"/{code}/{slug(town.title)}", partial(_foreign, atlas, code, title, text, town, site), "2024-06-01", code
        )


def _foreign(atlas: Atlas, code: str, title: str, text: tuple[str, ...], town: Town, site: Site) -> str:
    graph = atlas.graph
    slots = {
        "town": town.name,
        "population": number(town.population[3]),
        "region": graph.regions[town.region].name,
        "mentioned": town.mentioned,
        "river": graph.rivers[town.river].name,
    }
    name = title.format_map(slots)
    main = (
        f"<h1>{escape(name)}</h1>\n"
        + paragraph(*(escape(line.format_map(slots)) for line in text))
        + f"<p>{anchor(_guide(town), 'English')}</p>\n"
    )
    head = f'<link rel="alternate" hreflang="en" href="{escape(site.base + _guide(town))}">\n'
    return page(site, f"{name} - {site.name}", main, head=head, language=code)
