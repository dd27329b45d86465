"""A local directory, a job board, and private homepages of an older web, with its encodings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.facts import number
from webemu.worlds.graph import Company, Person, Town
from webemu.worlds.names import family, slug
from webemu.worlds.places import tongue_of
from webemu.worlds.prose import Voice, paragraph
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import DIRECTORY, HOMEPAGES, JOBS, LEXICON, Atlas, anchor, some_towns
from webemu.worlds.sites.common import common, paged
from webemu.worlds.templates import bullets, page, table
from webemu.worlds.web import Leaf, Site

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


def listings(atlas: Atlas) -> list[Site]:
    """Return the sites of the local directory, the job board and the homepages."""
    return [_local(atlas), _jobs(atlas), _homepages(atlas)]


def _local(atlas: Atlas) -> Site:
    nav = (("/", "Towns"), ("/add", "Add an entry"))
    return Site(DIRECTORY, "The Local Pages", "plain", "Who is where", partial(_entries, atlas), nav, "#008000", "Microsoft-IIS/8.5", dead=("/fax",), gone=("/yellow",),
                moved=(("/index.asp", "/", 301),))  # fmt: skip


def _entries(atlas: Atlas, site: Site) -> Iterator[Leaf]:
    towns = some_towns(atlas, "local", 60)
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
    firms = [atlas.graph.companies[n] for n in atlas.firms_in.get(town.key, ())]
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
        # In turn; the header does not name the charset (`omits_charset`), so readers must look into the page.
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
