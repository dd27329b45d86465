"""Sites of public bodies: town councils and the statistics office.

A council's home page and its page about the mayor have an earlier version if the mayor changed during the crawl.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.facts import number
from webemu.worlds.graph import YEARS, Region, Town
from webemu.worlds.names import slug
from webemu.worlds.prose import Voice, long_date, paragraph
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import STATISTICS, Atlas, anchor
from webemu.worlds.sites.common import common
from webemu.worlds.stories import PLANS
from webemu.worlds.templates import bullets, page, table
from webemu.worlds.web import Leaf, Site

NAV = (
    ("/", "Home"),
    ("/mayor", "The mayor"),
    ("/council", "Council"),
    ("/notices", "Notices"),
    ("/services", "Services"),
    ("/history", "History"),
)
WELCOME = (
    "Welcome to the site of the town of {name}.", "This is the official site of {name}, {region}.", "Here you find offices, forms and news of the town of {name}.",
)  # fmt: skip
LIFE = (
    "The town hall is open on weekdays from 8 to 12, on Thursdays also from 14 to 18.", "Please book an appointment for passports and registrations.", "The market is held every Thursday morning.",
    "The library lends books, tools and, lately, sledges.", "The swimming pool is closed for cleaning in the first week of September.", "Bulky waste is collected on request.",
    "The town archive answers questions about old houses.", "Dogs must be registered within a month.",
)  # fmt: skip
SERVICES = (
    "Registration of residence",
    "Parking permits",
    "Kindergarten places",
    "Waste calendar",
    "Marriage dates",
    "Building permits",
    "Lost property",
    "Market stalls",
    "Library card",
    "Dog licence",
)


def councils(atlas: Atlas) -> list[Site]:
    """Return the sites of the towns that have one."""
    return [_council(atlas, atlas.graph.towns[n]) for n in atlas.council_towns]


def _council(atlas: Atlas, town: Town) -> Site:
    host = atlas.council(town).removeprefix("https://")
    region = atlas.graph.regions[town.region]
    return Site(
        host, f"Town of {town.name}", "council", f"{town.name}, {region.name}", partial(_leaves, atlas, town), NAV,
        ("#245c3c", "#5c2424", "#24485c")[town.country % 3], "Apache/2.4.52 (Ubuntu)", dead=("/forms/form-17b.pdf.html",),
        moved=(("/index.php", "/", 301), ("/buergermeister" if town.country == 2 else "/town-hall", "/mayor", 301)), disallow=("/intern/",),
    )  # fmt: skip


def _leaves(atlas: Atlas, town: Town, site: Site) -> Iterator[Leaf]:
    changed = town.former_mayor >= 0
    yield Leaf(
        "/",
        partial(_home, atlas, town, site, False),
        "2024-12-02",
        before=partial(_home, atlas, town, site, True) if changed else None,
    )
    yield Leaf(
        "/mayor",
        partial(_mayor, atlas, town, site, False),
        "2024-12-02",
        before=partial(_mayor, atlas, town, site, True) if changed else None,
    )
    yield Leaf("/council", partial(_members, atlas, town, site), "2024-01-15")
    yield Leaf("/notices", partial(_notices, atlas, town, site), "2024-11-21")
    yield Leaf("/services", partial(_services, town, site), "2023-09-04")
    yield Leaf("/history", partial(_history, atlas, town, site), "2021-06-17")
    yield from common(site)


def _home(atlas: Atlas, town: Town, site: Site, early: bool) -> str:
    voice = Voice(dice(atlas.graph.seed, site.host, "home"))
    region = atlas.graph.regions[town.region]
    mayor = atlas.graph.people[town.former_mayor if early else town.mayor]
    links = bullets(
        anchor(atlas.story_url(atlas.stories[n]), atlas.stories[n].headline) for n in atlas.about.get(town.key, [])[:5]
    )
    main = (
        f"<h1>{escape(town.name)}</h1>\n" + paragraph(voice.say(WELCOME, name=escape(town.name), region=escape(region.name)), *voice.some(LIFE, 2, 3))
        + f"<dl><dt>Mayor</dt><dd>{anchor('/mayor', mayor.name)}</dd><dt>Population</dt><dd>{number(town.population[3])} (2021 census)</dd>"
        + f"<dt>Area</dt><dd>{town.area} km²</dd></dl>\n" + (f"<h3>In the press</h3>\n{links}" if atlas.about.get(town.key) else "")
        + f"<p>More about the town in {anchor(atlas.wiki(town), 'OpenLexicon')}.</p>\n"
    )  # fmt: skip
    return page(site, f"Town of {town.name}", main)


def _mayor(atlas: Atlas, town: Town, site: Site, early: bool) -> str:
    person = atlas.graph.people[town.former_mayor if early else town.mayor]
    since = "2016" if early else "December 2024" if town.former_mayor >= 0 else str(town.mayor_since)
    voice = Voice(dice(atlas.graph.seed, site.host, "mayor", early))
    bank = (
        f"{escape(person.surname)} holds an open hour every [first Tuesday|Wednesday afternoon] and no appointment is needed.",
        "“[A town is never finished|I prefer listening to speaking|Come and tell me],” is a sentence often heard in the town hall.",
        "The office also covers [fire protection and schools|civil defence and culture].",
    )
    former = (
        ""
        if early or town.former_mayor < 0
        else f"The previous mayor was {escape(atlas.graph.people[town.former_mayor].name)}."
    )
    main = "<h1>The mayor</h1>\n" + paragraph(
        f"{escape(person.name)} has been mayor of {escape(town.name)} since {since}.", former, *voice.some(bank, 2, 3)
    )
    return page(site, f"The mayor - Town of {town.name}", main)


def _members(atlas: Atlas, town: Town, site: Site) -> str:
    from_here = atlas.natives.get(town.key, [])
    seats = dice(atlas.graph.seed, site.host, "seats").randint(9, 31)
    people = [atlas.graph.people[n] for n in from_here if not atlas.graph.people[n].died][:6]
    main = f"<h1>The council</h1>\n<p>The council has {seats} seats and meets in public every fourth Monday.</p>\n"
    main += (
        bullets(f"Honorary member: {escape(person.name)}, {person.occupation}" for person in people) if people else ""
    )
    return page(site, f"Council - Town of {town.name}", main)


def _notices(atlas: Atlas, town: Town, site: Site) -> str:
    rng = dice(atlas.graph.seed, site.host, "notices")
    days = sorted((f"2024-{rng.randint(1, 10):02d}-{rng.randint(1, 28):02d}" for _ in range(9)), reverse=True)
    plans = rng.sample(PLANS, 9)
    rows = [
        (
            long_date(day),
            f"{rng.choice(('Public hearing on', 'Decision on', 'Invitation to tender:', 'Display of plans:'))} {plan}",
        )
        for day, plan in zip(days, plans, strict=True)
    ]
    main = (
        "<h1>Public notices</h1>\n"
        + table(("Date", "Notice"), rows)
        + f"<p>Older notices: {anchor('/forms/form-17b.pdf.html', 'request form 17b')}</p>\n"
    )
    return page(site, f"Notices - Town of {town.name}", main)


def _services(town: Town, site: Site) -> str:
    rng = dice(site.host, "services")
    rows = [(name, f"Room {rng.randint(1, 30)}", f"{rng.randint(0, 40)}.00") for name in rng.sample(SERVICES, 8)]
    return page(
        site,
        f"Services - Town of {town.name}",
        "<h1>Services from A to Z</h1>\n" + table(("Service", "Where", "Fee"), rows),
    )


def _history(atlas: Atlas, town: Town, site: Site) -> str:
    rows = [(str(y), number(p)) for y, p in zip(YEARS, town.population, strict=True)]
    main = (
        "<h1>From the history of the town</h1>\n" + paragraph(f"{escape(town.name)} was first mentioned in {town.mentioned}.", f"Its wealth came from {town.trade}.", f"It is known for {town.sight}.")
        + "<h3>Inhabitants</h3>\n" + table(("Year", "Inhabitants"), rows)
    )  # fmt: skip
    return page(site, f"History - Town of {town.name}", main)


def statistics(atlas: Atlas) -> list[Site]:
    """Return the site of the statistics office."""
    nav = (("/", "Home"), ("/tables", "Tables"), ("/methods", "Methods"))
    site = Site(
        STATISTICS, "Joint Statistical Office", "office", "Figures on regions and towns", partial(_figures, atlas), nav, "#204080", "Microsoft-IIS/10.0",
        dead=("/tables/prices-1988.html",), moved=(("/census", "/tables", 302),), broken=(("/api/v0/query", 500),),
    )  # fmt: skip
    return [site]


def _figures(atlas: Atlas, site: Site) -> Iterator[Leaf]:
    yield Leaf("/", partial(_office_home, atlas, site), "2024-10-01")
    yield Leaf("/tables", partial(_tables, atlas, site), "2024-10-01")
    yield Leaf("/methods", partial(_methods, site), "2022-03-03")
    for region in atlas.graph.regions:
        yield Leaf(table_path(region), partial(_table, atlas, region, site), "2022-06-30")
    yield from common(site)


def table_path(region: Region) -> str:
    """Return the path of a region's population table."""
    return f"/tables/population-{slug(region.name)}.html"


def _office_home(atlas: Atlas, site: Site) -> str:
    rows = [
        (anchor(atlas.wiki(c), c.name), number(c.population), str(sum(r.country == n for r in atlas.graph.regions)))
        for n, c in enumerate(atlas.graph.countries)
    ]
    return page(
        site,
        site.name,
        "<h1>Key figures</h1>\n"
        + table(("Country", "Population", "Regions"), rows)
        + f"<p>{anchor('/tables', 'All tables')} · {anchor('/api/v0/query', 'Query service (beta)')}</p>\n",
    )


def _tables(atlas: Atlas, site: Site) -> str:
    items = bullets(
        anchor(table_path(region), f"Population of the towns in {region.name}, 1991 to 2021")
        for region in atlas.graph.regions
    )
    return page(
        site,
        f"Tables - {site.name}",
        f"<h1>Tables</h1>\n{items}<p>{anchor('/tables/prices-1988.html', 'Consumer prices 1988')}</p>\n",
    )


def _methods(site: Site) -> str:
    main = "<h1>Methods</h1>\n" + paragraph(
        "The census counts residents at their main address on the first of May.", "Figures of 1991 and 2001 were taken on paper; later ones combine registers with a sample.",
        "Totals of regions contain places that are too small to be listed.", "Revisions are marked in the tables for two years.",
    )  # fmt: skip
    return page(site, f"Methods - {site.name}", main)


def _table(atlas: Atlas, region: Region, site: Site) -> str:
    towns = sorted((atlas.graph.towns[n] for n in atlas.towns_in[region.key]), key=lambda town: town.name)
    rows = [(escape(town.name), *(number(p) for p in town.population)) for town in towns]
    title = f"Population of the towns in {region.name}"
    main = (
        f"<h1>{escape(title)}</h1>\n"
        + table(("Town", *map(str, YEARS)), rows, caption="Residents at census dates")
        + "<p>Source: censuses of 1991, 2001, 2011 and 2021.</p>\n"
    )
    return page(site, f"{title} - {site.name}", main)
