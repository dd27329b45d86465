"""Travel guide in many languages, local pages, job board, and private homepages of an older web."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from ingest.synth.atlas import DIRECTORY, HOMEPAGES, JOBS, LEXICON, TRAVEL, Atlas, anchor
from ingest.synth.dice import dice
from ingest.synth.facts import number
from ingest.synth.graph import Company, Person, Region, Town
from ingest.synth.names import family, slug
from ingest.synth.places import tongue_of
from ingest.synth.prose import MONTHS, Voice, long_date, paragraph
from ingest.synth.sites.common import common, paged
from ingest.synth.templates import bullets, page, table
from ingest.synth.web import Leaf, Site

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
TRADES = (
    "Bakery",
    "Plumber",
    "Solicitor",
    "Bicycle repairs",
    "Dentist",
    "Florist",
    "Locksmith",
    "Bookbinder",
    "Piano tuner",
    "Roofer",
    "Chimney sweep",
    "Veterinary practice",
    "Tailor",
    "Ironmonger",
)
STREETS = (
    "Station Road",
    "Mill Lane",
    "Market Square",
    "Quay Street",
    "School Lane",
    "Bridge Street",
    "Old Ramparts",
    "Tannery Row",
)
POSTS = (
    "toolmaker",
    "night porter",
    "bookkeeper",
    "apprentice joiner",
    "test engineer",
    "sales clerk",
    "driver",
    "translator",
    "quality inspector",
    "archivist",
    "cook",
    "surveyor",
)
OFFERS = (
    "[Full|Part] time, to start in [January|spring].",
    "You like [order|people|early mornings].",
    "We offer a [warm canteen|bicycle|season ticket].",
    "Experience with {industry} helps but is not required.",
    "Letters only, please; no videos.",
    "The pay follows the regional agreement.",
)
HOBBIES = (
    "steam locomotives",
    "my beehives",
    "old maps",
    "the choir",
    "mushrooms",
    "chess problems",
    "our allotment",
    "bell towers",
    "moths",
)
PRIVATE = (
    "Willkommen! Welcome! Bienvenue!",
    "I have collected {hobby} since {year}.",
    "This page is best viewed with your own eyes.",
    "Under construction since {year}.",
    "I live in {town} with my family and a cat named {cat}.",
    "New photographs will follow as soon as the film is developed.",
    "Please sign the guest book – it is a real book, in the café on the square.",
    "Grüße an alle Freunde von {hobby}!",
)


def guides(atlas: Atlas) -> list[Site]:
    return [_travel(atlas), _local(atlas), _jobs(atlas), _homepages(atlas)]


def _some_towns(atlas: Atlas, what: str, per_2000: int) -> list[Town]:
    towns = atlas.graph.towns
    picked = dice(atlas.graph.seed, what).sample(
        range(len(towns)), min(len(towns), max(6, round(per_2000 * atlas.scale)))
    )
    return [towns[n] for n in sorted(picked)]


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
    graph, towns = atlas.graph, _some_towns(atlas, "travel", 36)
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
    for n, region in enumerate(graph.regions):
        mine = [town for town in towns if town.region == n]
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
    marks = [mark for mark in graph.landmarks if graph.towns[mark.town] is town]
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


def _local(atlas: Atlas) -> Site:
    nav = (("/", "Towns"), ("/add", "Add an entry"))
    return Site(DIRECTORY, "The Local Pages", "plain", "Who is where", partial(_entries, atlas), nav, "#008000", "Microsoft-IIS/8.5", dead=("/fax",), gone=("/yellow",),
                moved=(("/index.asp", "/", 301),))  # fmt: skip


def _entries(atlas: Atlas, site: Site) -> Iterator[Leaf]:
    towns = _some_towns(atlas, "local", 60)
    items = [partial(anchor, f"/{slug(town.title)}", town.title) for town in towns]
    yield from paged(site, "/", site.name, items, 40)
    for town in towns:
        yield Leaf(f"/{slug(town.title)}", partial(_trades, atlas, town, site), "2022-08-08")
    yield Leaf(
        "/add",
        partial(
            page,
            site,
            f"Add an entry - {site.name}",
            f"<h1>Add an entry</h1>\n<p>Send a postcard, or a {anchor('/fax', 'fax')}.</p>\n",
        ),
        "2016-02-02",
    )
    yield from common(site)


def _trades(atlas: Atlas, town: Town, site: Site) -> str:
    rng = dice(atlas.graph.seed, "trades", town.key)
    tongue = tongue_of(town.country)
    rows = [
        (
            escape(f"{family(rng, tongue)} {trade}"),
            f"{rng.choice(STREETS)} {rng.randint(1, 99)}",
            f"0{rng.randint(200, 999)} {rng.randint(10000, 99999)}",
        )
        for trade in rng.sample(TRADES, 8)
    ]
    firms = [company for company in atlas.graph.companies if atlas.graph.towns[company.town] is town]
    rows += [(anchor(atlas.wiki(firm), firm.name), escape(firm.industry), "by letter") for firm in firms]
    return page(
        site,
        f"{town.title} - {site.name}",
        f"<h1>{escape(town.title)}</h1>\n" + table(("Name", "Address", "Telephone"), rows),
    )


def _jobs(atlas: Atlas) -> Site:
    nav = (("/", "Jobs"), ("/employers", "Employers"))
    return Site(JOBS, "Workbench Jobs", "office", "Work that has a smell", partial(_offers, atlas), nav, "#5a3e7a", "openresty", dead=("/job/0-expired",), gone=("/app",),
                moved=(("/jobs", "/", 301),), broken=(("/alerts", 504),), disallow=("/apply/",))  # fmt: skip


def _offers(atlas: Atlas, site: Site) -> Iterator[Leaf]:
    companies = atlas.graph.companies
    firms = [
        companies[k]
        for k in sorted(
            dice(atlas.graph.seed, "jobs").sample(
                range(len(companies)), min(len(companies), max(6, round(50 * atlas.scale)))
            )
        )
    ]
    jobs = [(f"/job/{n + 1}-{slug(_post(firm))}", firm) for n, firm in enumerate(firms)]
    items = [partial(_job_link, path, firm) for path, firm in jobs]
    yield from paged(site, "/", "Open positions", items, 25, "2024-12-02")
    for path, firm in jobs:
        yield Leaf(path, partial(_job, atlas, firm, site), f"2024-{dice(firm.key, 'posted').randint(8, 11):02d}-20")
    employers = bullets(anchor(atlas.wiki(firm), firm.name) for firm in firms)
    yield Leaf(
        "/employers",
        partial(
            page,
            site,
            f"Employers - {site.name}",
            f"<h1>Employers</h1>\n{employers}<p>{anchor('/job/0-expired', 'Expired offers')} · {anchor('/alerts', 'Alerts')}</p>\n",
        ),
        "2024-12-02",
    )
    yield from common(site)


def _post(firm: Company) -> str:
    return dice(firm.key, "post").choice(POSTS)


def _job_link(path: str, firm: Company) -> str:
    return f"{anchor(path, _post(firm).capitalize())}, {escape(firm.name)}"


def _job(atlas: Atlas, firm: Company, site: Site) -> str:
    voice, town = Voice(dice(atlas.graph.seed, "job", firm.key)), atlas.graph.towns[firm.town]
    title = f"{_post(firm).capitalize()} ({town.name})"
    said = voice.some(OFFERS, 4, 5, industry=firm.industry)
    about = f"{escape(firm.name)} works in {firm.industry} and employs {number(firm.employees)} people."
    return page(
        site,
        f"{title} at {firm.name} - {site.name}",
        f"<h1>{escape(title)}</h1>\n{paragraph(about)}{paragraph(*said)}<p>{anchor(atlas.wiki(firm), 'About the employer')}</p>\n",
    )


def _homepages(atlas: Atlas) -> Site:
    nav = (("/", "All pages"),)
    return Site(
        HOMEPAGES,
        "Brightpost Homepages",
        "plain",
        "Your place on the net",
        partial(_private, atlas),
        nav,
        "#800080",
        "Apache/1.3.42",
        dead=("/~nobody/",),
        gone=("/~closed/",),
    )


def _private(atlas: Atlas, site: Site) -> Iterator[Leaf]:
    people = [person for person in atlas.graph.people if not person.died]
    owners = dice(atlas.graph.seed, "homepages").sample(people, min(len(people), max(6, round(24 * atlas.scale))))
    links = bullets(anchor(f"/~{slug(owner.title)}/", f"~{slug(owner.title)}") for owner in owners)
    yield Leaf(
        "/",
        partial(page, site, site.name, f"<h1>{site.name}</h1>\n{links}<p>{anchor('/~nobody/', '~nobody')}</p>\n"),
        "2009-09-09",
    )
    for n, owner in enumerate(owners):
        charset = ("windows-1252", "utf-8", "iso-8859-15")[n % 3]
        yield Leaf(
            f"/~{slug(owner.title)}/",
            partial(_homepage, atlas, owner, charset, site),
            f"{dice(owner.key, 'page').randint(2001, 2012)}-05-01",
            charset=charset,
            quiet=True,
        )
    yield from common(site)


def _homepage(atlas: Atlas, owner: Person, charset: str, site: Site) -> str:
    voice = Voice(dice(atlas.graph.seed, "homepage", owner.key))
    rng = voice.rng
    slots = {
        "hobby": rng.choice(HOBBIES),
        "year": rng.randint(1994, 2009),
        "town": escape(atlas.graph.towns[owner.birthplace].name),
        "cat": rng.choice(("Müsli", "Öl", "Señor", "Crème")),
    }
    main = f"<h1>{escape(owner.name)}</h1>\n{paragraph(*voice.some(PRIVATE, 4, 6, **slots))}<p>My town in the {anchor(atlas.wiki(atlas.graph.towns[owner.birthplace]), 'encyclopedia')} of {LEXICON}.</p>\n"
    return page(site, f"Homepage of {owner.name}", main, charset=charset)
