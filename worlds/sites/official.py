"""Sites of public bodies: town councils and the statistics office.

A council's home page and its page about the mayor have an earlier version if the mayor changed during the crawl.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.facts import format_number
from webemu.worlds.graph import CENSUS_YEARS, Region, Town
from webemu.worlds.names import slugify
from webemu.worlds.prose import SentencePicker, format_long_date, render_paragraph
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.site_directory import STATISTICS_HOST, SiteDirectory, render_link
from webemu.worlds.sites.common import list_common_pages
from webemu.worlds.stories import COUNCIL_PLANS
from webemu.worlds.templates import render_list, render_page, render_table
from webemu.worlds.web import Site, SitePage

NAV = (
    ("/", "Home"),
    ("/mayor", "The mayor"),
    ("/council", "Council"),
    ("/notices", "Notices"),
    ("/services", "Services"),
    ("/history", "History"),
)
WELCOME_SENTENCES = (
    "Welcome to the site of the town of {name}.", "This is the official site of {name}, {region}.", "Here you find offices, forms and news of the town of {name}.",
)  # fmt: skip
SERVICE_SENTENCES = (
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


def build_councils(directory: SiteDirectory) -> list[Site]:
    """Return the sites of the towns that have one."""
    return [_build_council(directory, directory.graph.towns[n]) for n in directory.council_towns]


def _build_council(directory: SiteDirectory, town: Town) -> Site:
    host = directory.council_url(town).removeprefix("https://")
    region = directory.graph.regions[town.region]
    return Site(
        host, f"Town of {town.name}", "council", f"{town.name}, {region.name}", partial(_list_council_pages, directory, town), NAV,
        ("#245c3c", "#5c2424", "#24485c")[town.country % 3], "Apache/2.4.52 (Ubuntu)", not_found_paths=("/forms/form-17b.pdf.html",),
        redirects=(("/index.php", "/", 301), ("/buergermeister" if town.country == 2 else "/town-hall", "/mayor", 301)), disallowed_prefixes=("/intern/",),
    )  # fmt: skip


def _list_council_pages(directory: SiteDirectory, town: Town, site: Site) -> Iterator[SitePage]:
    has_new_mayor = town.former_mayor >= 0
    yield SitePage(
        "/",
        partial(_render_council_home, directory, town, site, False),
        "2024-12-02",
        render_before=partial(_render_council_home, directory, town, site, True) if has_new_mayor else None,
    )
    yield SitePage(
        "/mayor",
        partial(_render_mayor, directory, town, site, False),
        "2024-12-02",
        render_before=partial(_render_mayor, directory, town, site, True) if has_new_mayor else None,
    )
    yield SitePage("/council", partial(_render_members, directory, town, site), "2024-01-15")
    yield SitePage("/notices", partial(_render_notices, directory, town, site), "2024-11-21")
    yield SitePage("/services", partial(_render_services, town, site), "2023-09-04")
    yield SitePage("/history", partial(_render_history, town, site), "2021-06-17")
    yield from list_common_pages(site)


def _render_council_home(directory: SiteDirectory, town: Town, site: Site, early: bool) -> str:
    picker = SentencePicker(seeded_rng(directory.graph.seed, site.host, "home"))
    region = directory.graph.regions[town.region]
    mayor = directory.graph.people[town.former_mayor if early else town.mayor]
    links = render_list(
        render_link(directory.story_url(directory.stories[n]), directory.stories[n].headline)
        for n in directory.stories_about.get(town.key, [])[:5]
    )
    content = (
        f"<h1>{escape(town.name)}</h1>\n" + render_paragraph(picker.pick(WELCOME_SENTENCES, name=escape(town.name), region=escape(region.name)), *picker.pick_several(SERVICE_SENTENCES, 2, 3))
        + f"<dl><dt>Mayor</dt><dd>{render_link('/mayor', mayor.name)}</dd><dt>Population</dt><dd>{format_number(town.population[3])} (2021 census)</dd>"
        + f"<dt>Area</dt><dd>{town.area} km²</dd></dl>\n" + (f"<h3>In the press</h3>\n{links}" if directory.stories_about.get(town.key) else "")
        + f"<p>More about the town in {render_link(directory.wiki_url(town), 'OpenLexicon')}.</p>\n"
    )  # fmt: skip
    return render_page(site, f"Town of {town.name}", content)


def _render_mayor(directory: SiteDirectory, town: Town, site: Site, early: bool) -> str:
    person = directory.graph.people[town.former_mayor if early else town.mayor]
    since = "2016" if early else "December 2024" if town.former_mayor >= 0 else str(town.mayor_since)
    picker = SentencePicker(seeded_rng(directory.graph.seed, site.host, "mayor", early))
    bank = (
        f"{escape(person.surname)} holds an open hour every [first Tuesday|Wednesday afternoon] and no appointment is needed.",
        "“[A town is never finished|I prefer listening to speaking|Come and tell me],” is a sentence often heard in the town hall.",
        "The office also covers [fire protection and schools|civil defence and culture].",
    )
    former_mayor_sentence = (
        ""
        if early or town.former_mayor < 0
        else f"The previous mayor was {escape(directory.graph.people[town.former_mayor].name)}."
    )
    content = "<h1>The mayor</h1>\n" + render_paragraph(
        f"{escape(person.name)} has been mayor of {escape(town.name)} since {since}.",
        former_mayor_sentence,
        *picker.pick_several(bank, 2, 3),
    )
    return render_page(site, f"The mayor - Town of {town.name}", content)


def _render_members(directory: SiteDirectory, town: Town, site: Site) -> str:
    native_positions = directory.people_born_in.get(town.key, [])
    seats = seeded_rng(directory.graph.seed, site.host, "seats").randint(9, 31)
    people = [directory.graph.people[n] for n in native_positions if not directory.graph.people[n].death_year][:6]
    content = f"<h1>The council</h1>\n<p>The council has {seats} seats and meets in public every fourth Monday.</p>\n"
    content += (
        render_list(f"Honorary member: {escape(person.name)}, {person.occupation}" for person in people)
        if people
        else ""
    )
    return render_page(site, f"Council - Town of {town.name}", content)


def _render_notices(directory: SiteDirectory, town: Town, site: Site) -> str:
    rng = seeded_rng(directory.graph.seed, site.host, "notices")
    days = sorted((f"2024-{rng.randint(1, 10):02d}-{rng.randint(1, 28):02d}" for _ in range(9)), reverse=True)
    plans = rng.sample(COUNCIL_PLANS, 9)
    rows = [
        (
            format_long_date(day),
            f"{rng.choice(('Public hearing on', 'Decision on', 'Invitation to tender:', 'Display of plans:'))} {plan}",
        )
        for day, plan in zip(days, plans, strict=True)
    ]
    content = (
        "<h1>Public notices</h1>\n"
        + render_table(("Date", "Notice"), rows)
        + f"<p>Older notices: {render_link('/forms/form-17b.pdf.html', 'request form 17b')}</p>\n"
    )
    return render_page(site, f"Notices - Town of {town.name}", content)


def _render_services(town: Town, site: Site) -> str:
    rng = seeded_rng(site.host, "services")
    rows = [(name, f"Room {rng.randint(1, 30)}", f"{rng.randint(0, 40)}.00") for name in rng.sample(SERVICES, 8)]
    return render_page(
        site,
        f"Services - Town of {town.name}",
        "<h1>Services from A to Z</h1>\n" + render_table(("Service", "Where", "Fee"), rows),
    )


def _render_history(town: Town, site: Site) -> str:
    rows = [(str(y), format_number(p)) for y, p in zip(CENSUS_YEARS, town.population, strict=True)]
    content = (
        "<h1>From the history of the town</h1>\n" + render_paragraph(f"{escape(town.name)} was first mentioned in {town.first_mention_year}.", f"Its wealth came from {town.trade}.", f"It is known for {town.sight}.")
        + "<h3>Inhabitants</h3>\n" + render_table(("Year", "Inhabitants"), rows)
    )  # fmt: skip
    return render_page(site, f"History - Town of {town.name}", content)


def build_statistics_office(directory: SiteDirectory) -> list[Site]:
    """Return the site of the statistics office."""
    nav = (("/", "Home"), ("/tables", "Tables"), ("/methods", "Methods"))
    site = Site(
        STATISTICS_HOST, "Joint Statistical Office", "office", "Figures on regions and towns", partial(_list_statistics_pages, directory), nav, "#204080", "Microsoft-IIS/10.0",
        not_found_paths=("/tables/prices-1988.html",), redirects=(("/census", "/tables", 302),), failing_paths=(("/api/v0/query", 500),),
    )  # fmt: skip
    return [site]


def _list_statistics_pages(directory: SiteDirectory, site: Site) -> Iterator[SitePage]:
    yield SitePage("/", partial(_render_office_home, directory, site), "2024-10-01")
    yield SitePage("/tables", partial(_render_tables, directory, site), "2024-10-01")
    yield SitePage("/methods", partial(_render_methods, site), "2022-03-03")
    for region in directory.graph.regions:
        yield SitePage(table_path(region), partial(_render_population_table, directory, region, site), "2022-06-30")
    yield from list_common_pages(site)


def table_path(region: Region) -> str:
    """Return the path of a region's population table."""
    return f"/tables/population-{slugify(region.name)}.html"


def _render_office_home(directory: SiteDirectory, site: Site) -> str:
    rows = [
        (
            render_link(directory.wiki_url(c), c.name),
            format_number(c.population),
            str(sum(r.country == n for r in directory.graph.regions)),
        )
        for n, c in enumerate(directory.graph.countries)
    ]
    return render_page(
        site,
        site.name,
        "<h1>Key figures</h1>\n"
        + render_table(("Country", "Population", "Regions"), rows)
        + f"<p>{render_link('/tables', 'All tables')} · {render_link('/api/v0/query', 'Query service (beta)')}</p>\n",
    )


def _render_tables(directory: SiteDirectory, site: Site) -> str:
    items = render_list(
        render_link(table_path(region), f"Population of the towns in {region.name}, 1991 to 2021")
        for region in directory.graph.regions
    )
    return render_page(
        site,
        f"Tables - {site.name}",
        f"<h1>Tables</h1>\n{items}<p>{render_link('/tables/prices-1988.html', 'Consumer prices 1988')}</p>\n",
    )


def _render_methods(site: Site) -> str:
    content = "<h1>Methods</h1>\n" + render_paragraph(
        "The census counts residents at their main address on the first of May.", "Figures of 1991 and 2001 were taken on paper; later ones combine registers with a sample.",
        "Totals of regions contain places that are too small to be listed.", "Revisions are marked in the tables for two years.",
    )  # fmt: skip
    return render_page(site, f"Methods - {site.name}", content)


def _render_population_table(directory: SiteDirectory, region: Region, site: Site) -> str:
    towns = sorted((directory.graph.towns[n] for n in directory.towns_in[region.key]), key=lambda town: town.name)
    rows = [(escape(town.name), *(format_number(p) for p in town.population)) for town in towns]
    title = f"Population of the towns in {region.name}"
    content = (
        f"<h1>{escape(title)}</h1>\n"
        + render_table(("Town", *map(str, CENSUS_YEARS)), rows, caption="Residents at census dates")
        + "<p>Source: censuses of 1991, 2001, 2011 and 2021.</p>\n"
    )
    return render_page(site, f"{title} - {site.name}", content)
