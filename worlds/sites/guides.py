"""The travel guide: regions, weekends in towns, a calendar of festivals, and short versions in other languages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.facts import format_number
from webemu.worlds.graph import Region, Town
from webemu.worlds.names import slugify
from webemu.worlds.prose import MONTHS, SentencePicker, format_long_date, render_paragraph
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.site_directory import TRAVEL_HOST, SiteDirectory, draw_towns, render_link
from webemu.worlds.sites.common import list_common_pages, list_paged
from webemu.worlds.templates import render_list, render_page, render_table
from webemu.worlds.web import Site, SitePage

TOWN_SENTENCES = (
    "Start at the station and [turn left|follow the smell of bread].", "{sight} is worth [the climb|an hour|a second look].", "{town} lives slowly, except on market day.", "Sleep in one of the [four|six] small inns; the large hotel is closed.",
    "{region} is known for {trait}, and you see it from the train.", "In the evening people walk along the [quay|ramparts|main street] and look at each other.", "Boats can be hired from May to September.", "The town grew rich on {trade}.",
)  # fmt: skip
TRANSLATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "de": ("{town}: ein Wochenende", ("{town} hat {population} Einwohner und liegt in {region}.", "Die Stadt wurde im Jahr {mentioned} zum ersten Mal erwähnt.", "Der Fluss {river} fließt langsam durch den alten Teil der Stadt.", "Am besten reist man mit der Bahn an und bleibt zwei Nächte.", "Das Museum ist montags geschlossen.")),
    "fr": ("{town} : deux jours sans voiture", ("{town} compte {population} habitants et se trouve en {region}.", "La ville est mentionnée pour la première fois en {mentioned}.", "La rivière {river} traverse lentement les vieux quartiers.", "Le marché du jeudi est le cœur de la ville.", "On y mange bien et l'on s'y couche tôt.")),
    "es": ("{town}: guía para viajeros lentos", ("{town} tiene {population} habitantes y está en {region}.", "La ciudad se menciona por primera vez en el año {mentioned}.", "El río {river} cruza despacio el barrio antiguo.", "Conviene llegar en tren y quedarse dos noches.", "El museo cierra los lunes.")),
    "ru": ("{town}: выходные без спешки", ("В городе {town} живёт {population} человек, он находится в области {region}.", "Впервые город упоминается в {mentioned} году.", "Река {river} медленно течёт через старый город.", "Лучше всего приехать поездом и остаться на две ночи.", "По понедельникам музей закрыт.")),
    "ja": ("{town}でゆっくり過ごす週末", ("{town}は{region}にある町で、人口は{population}人です。", "この町の名前が初めて記録に現れるのは{mentioned}年です。", "{river}川が古い町並みの中をゆっくりと流れています。", "列車で行き、二泊するのがおすすめです。", "博物館は月曜日が休みです。")),
    "zh": ("{town}慢游周末", ("{town}位于{region}，人口{population}。", "这座小城最早见于{mentioned}年的文献。", "{river}河缓缓流过老城区。", "最好乘火车前往，住上两晚。", "博物馆星期一闭馆。")),
}  # fmt: skip
"""Title and sentences of the translated pages, by language."""


def build_guides(directory: SiteDirectory) -> list[Site]:
    """Return the site of the travel guide."""
    return [_build_travel_guide(directory)]


def _build_travel_guide(directory: SiteDirectory) -> Site:
    nav = (
        ("/", "Home"),
        ("/regions", "Regions"),
        ("/calendar", "Festival calendar"),
        *((f"/{code}/", code) for code in TRANSLATIONS),
    )
    return Site(TRAVEL_HOST, "Slow Roads", "magazine", "Travel without hurry", partial(_list_pages, directory), nav, "#2d6a6a", "nginx", not_found_paths=("/map/interactive",),
                redirects=(("/guides", "/regions", 301), ("/surprise", "/calendar", 302)), failing_paths=(("/booking", 502),), disallowed_prefixes=("/booking",))  # fmt: skip


def _list_pages(directory: SiteDirectory, site: Site) -> Iterator[SitePage]:
    graph, towns = directory.graph, draw_towns(directory, "travel", 36)
    links = render_list(render_link(_guide_path(town), f"A weekend in {town.title}") for town in towns[:12])
    yield SitePage(
        "/",
        partial(
            render_page,
            site,
            f"{site.name} - {site.tagline}",
            f"<h1>Where to go</h1>\n{links}<p>{render_link('/map/interactive', 'Map')} · {render_link('/booking', 'Rooms')}</p>\n",
        ),
        "2024-10-30",
    )
    items = [partial(render_link, f"/region/{slugify(region.name)}", region.name) for region in graph.regions]
    yield from list_paged(site, "/regions", "Regions", items, 40)
    in_region: dict[int, list[Town]] = {}
    for town in towns:
        in_region.setdefault(town.region, []).append(town)
    for n, region in enumerate(graph.regions):
        region_towns = in_region.get(n, [])
        yield SitePage(
            f"/region/{slugify(region.name)}",
            partial(_render_region, directory, region, region_towns, site),
            "2024-05-05",
        )
    for town in towns:
        yield SitePage(
            _guide_path(town),
            partial(_render_weekend, directory, town, site),
            f"2023-{seeded_rng(town.key, 'guide').randint(1, 12):02d}-10",
        )
    yield _build_calendar(directory, site)
    for code, (title, text) in TRANSLATIONS.items():
        yield from _list_translated_pages(directory, code, title, text, towns, site)
    yield from list_common_pages(site)


def _build_calendar(directory: SiteDirectory, site: Site) -> SitePage:
    """Return the page that lists all festivals by month."""
    graph = directory.graph
    rows = [
        (
            MONTHS[festival.month - 1],
            render_link(directory.wiki_url(festival), festival.name),
            escape(graph.towns[festival.town].name),
        )
        for festival in sorted(graph.festivals, key=lambda festival: (festival.month, festival.name))
    ]
    body = "<h1>Festival calendar</h1>\n" + render_table(("Month", "Festival", "Town"), rows)
    return SitePage("/calendar", partial(render_page, site, f"Festival calendar - {site.name}", body), "2024-02-01")


def _guide_path(town: Town) -> str:
    return f"/town/{slugify(town.title)}"


def _render_region(directory: SiteDirectory, region: Region, towns: list[Town], site: Site) -> str:
    picker = SentencePicker(seeded_rng(directory.graph.seed, "route", region.key))
    intro = (
        "{region} is known for {trait}.",
        "Give {region} a week, or [two|three] if it rains.",
        "The slow trains of {region} stop everywhere, and so should you.",
    )
    sentences = picker.pick_several(intro, 2, 3, region=escape(region.name), trait=region.trait)
    links = render_list(render_link(_guide_path(town), f"A weekend in {town.title}") for town in towns)
    background_link = f"<p>Background: {render_link(directory.wiki_url(region), region.name)} in OpenLexicon.</p>\n"
    return render_page(
        site,
        f"{region.name} - {site.name}",
        f"<h1>{escape(region.name)}</h1>\n{render_paragraph(*sentences)}{links if towns else ''}{background_link}",
    )


def _render_weekend(directory: SiteDirectory, town: Town, site: Site) -> str:
    graph = directory.graph
    picker, region = SentencePicker(seeded_rng(graph.seed, "weekend", town.key)), graph.regions[town.region]
    sight = town.sight[0].upper() + town.sight[1:]
    sentences = picker.pick_several(
        TOWN_SENTENCES,
        5,
        7,
        sight=sight,
        town=escape(town.name),
        region=escape(region.name),
        trait=region.trait,
        trade=town.trade,
    )
    landmarks = [graph.landmarks[n] for n in directory.landmarks_in.get(town.key, ())]
    items = render_list(
        f"{render_link(directory.wiki_url(landmark), landmark.name)}, opened on {format_long_date(landmark.opening_date)}"
        for landmark in landmarks
    )
    facts = render_table(
        ("", ""),
        [
            ("Region", render_link(f"/region/{slugify(region.name)}", region.name)),
            ("Inhabitants", format_number(town.population[3])),
        ],
    )
    versions = " ".join(
        render_link(f"/{code}/{slugify(town.title)}", code)
        for code in TRANSLATIONS
        if _is_translated(directory, code, town)
    )
    content = (
        f"<h1>A weekend in {escape(town.title)}</h1>\n{render_paragraph(*sentences[:3])}{render_paragraph(*sentences[3:])}{facts}"
        + (f"<h3>To see</h3>\n{items}" if landmarks else "")
        + (f"<p>{versions}</p>\n" if versions else "")
    )
    return render_page(
        site,
        f"A weekend in {town.title} - {site.name}",
        content,
        aside=f"<p>{render_link(directory.wiki_url(town), f'{town.name} in OpenLexicon')}</p>",
    )


def _is_translated(directory: SiteDirectory, code: str, town: Town) -> bool:
    """True if the town has a page in that language; about one in six towns on a river has."""
    return town.river >= 0 and seeded_rng(directory.graph.seed, "translated", code, town.key).random() < 0.16


def _list_translated_pages(
    directory: SiteDirectory, code: str, title: str, text: tuple[str, ...], towns: list[Town], site: Site
) -> Iterator[SitePage]:
    translated_towns = [town for town in towns if _is_translated(directory, code, town)]
    links = render_list(
        render_link(f"/{code}/{slugify(town.title)}", title.format(town=town.name)) for town in translated_towns
    )
    yield SitePage(
        f"/{code}/",
        partial(render_page, site, f"{site.name} ({code})", f"<h1>{site.name} ({code})</h1>\n{links}", language=code),
        "2024-06-01",
        code,
    )
    for town in translated_towns:
        yield SitePage(
            f"/{code}/{slugify(town.title)}",
            partial(_render_translation, directory, code, title, text, town, site),
            "2024-06-01",
            code,
        )


def _render_translation(
    directory: SiteDirectory, code: str, title: str, text: tuple[str, ...], town: Town, site: Site
) -> str:
    graph = directory.graph
    slots = {
        "town": town.name,
        "population": format_number(town.population[3]),
        "region": graph.regions[town.region].name,
        "mentioned": town.first_mention_year,
        "river": graph.rivers[town.river].name,
    }
    name = title.format_map(slots)
    content = (
        f"<h1>{escape(name)}</h1>\n"
        + render_paragraph(*(escape(line.format_map(slots)) for line in text))
        + f"<p>{render_link(_guide_path(town), 'English')}</p>\n"
    )
    head = f'<link rel="alternate" hreflang="en" href="{escape(site.base_url + _guide_path(town))}">\n'
    return render_page(site, f"{name} - {site.name}", content, head=head, language=code)
