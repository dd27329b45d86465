"""A local directory, a job board, and private homepages of an older web, with its encodings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.facts import format_number
from webemu.worlds.graph import Company, Person, Town
from webemu.worlds.names import invent_family_name, slugify
from webemu.worlds.places import syllable_set_of
from webemu.worlds.prose import SentencePicker, render_paragraph
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.site_directory import (
    HOMEPAGES_HOST,
    JOBS_HOST,
    LEXICON_HOST,
    LOCAL_PAGES_HOST,
    SiteDirectory,
    draw_towns,
    render_link,
)
from webemu.worlds.sites.common import list_common_pages, list_paged
from webemu.worlds.templates import render_list, render_page, render_table
from webemu.worlds.web import Site, SitePage

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
JOB_TITLES = (
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
OFFER_SENTENCES = (
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
HOMEPAGE_SENTENCES = (
    "Willkommen! Welcome! Bienvenue!",
    "I have collected {hobby} since {year}.",
    "This page is best viewed with your own eyes.",
    "Under construction since {year}.",
    "I live in {town} with my family and a cat named {cat}.",
    "New photographs will follow as soon as the film is developed.",
    "Please sign the guest book – it is a real book, in the café on the square.",
    "Grüße an alle Freunde von {hobby}!",
)


def build_listings(directory: SiteDirectory) -> list[Site]:
    """Return the sites of the local directory, the job board and the homepages."""
    return [_build_local_pages(directory), _build_job_board(directory), _build_homepages(directory)]


def _build_local_pages(directory: SiteDirectory) -> Site:
    nav = (("/", "Towns"), ("/add", "Add an entry"))
    return Site(LOCAL_PAGES_HOST, "The Local Pages", "plain", "Who is where", partial(_list_local_pages, directory), nav, "#008000", "Microsoft-IIS/8.5", not_found_paths=("/fax",), gone_paths=("/yellow",),
                redirects=(("/index.asp", "/", 301),))  # fmt: skip


def _list_local_pages(directory: SiteDirectory, site: Site) -> Iterator[SitePage]:
    towns = draw_towns(directory, "local", 60)
    items = [partial(render_link, f"/{slugify(town.title)}", town.title) for town in towns]
    yield from list_paged(site, "/", site.name, items, 40)
    for town in towns:
        yield SitePage(f"/{slugify(town.title)}", partial(_render_trades, directory, town, site), "2022-08-08")
    yield SitePage(
        "/add",
        partial(
            render_page,
            site,
            f"Add an entry - {site.name}",
            f"<h1>Add an entry</h1>\n<p>Send a postcard, or a {render_link('/fax', 'fax')}.</p>\n",
        ),
        "2016-02-02",
    )
    yield from list_common_pages(site)


def _render_trades(directory: SiteDirectory, town: Town, site: Site) -> str:
    rng = seeded_rng(directory.graph.seed, "trades", town.key)
    syllables = syllable_set_of(town.country)
    rows = [
        (
            escape(f"{invent_family_name(rng, syllables)} {trade}"),
            f"{rng.choice(STREETS)} {rng.randint(1, 99)}",
            f"0{rng.randint(200, 999)} {rng.randint(10000, 99999)}",
        )
        for trade in rng.sample(TRADES, 8)
    ]
    companies = [directory.graph.companies[n] for n in directory.companies_in.get(town.key, ())]
    rows += [
        (render_link(directory.wiki_url(company), company.name), escape(company.industry), "by letter")
        for company in companies
    ]
    return render_page(
        site,
        f"{town.title} - {site.name}",
        f"<h1>{escape(town.title)}</h1>\n" + render_table(("Name", "Address", "Telephone"), rows),
    )


def _build_job_board(directory: SiteDirectory) -> Site:
    nav = (("/", "Jobs"), ("/employers", "Employers"))
    return Site(JOBS_HOST, "Workbench Jobs", "office", "Work that has a smell", partial(_list_job_pages, directory), nav, "#5a3e7a", "openresty", not_found_paths=("/job/0-expired",), gone_paths=("/app",),
                redirects=(("/jobs", "/", 301),), failing_paths=(("/alerts", 504),), disallowed_prefixes=("/apply/",))  # fmt: skip


def _list_job_pages(directory: SiteDirectory, site: Site) -> Iterator[SitePage]:
    companies = directory.graph.companies
    hiring_companies = [
        companies[k]
        for k in sorted(
            seeded_rng(directory.graph.seed, "jobs").sample(
                range(len(companies)), min(len(companies), max(6, round(50 * directory.scale)))
            )
        )
    ]
    jobs = [
        (f"/job/{n + 1}-{slugify(_draw_job_title(company))}", company) for n, company in enumerate(hiring_companies)
    ]
    items = [partial(_render_job_link, path, company) for path, company in jobs]
    yield from list_paged(site, "/", "Open positions", items, 25, "2024-12-02")
    for path, company in jobs:
        yield SitePage(
            path,
            partial(_render_job, directory, company, site),
            f"2024-{seeded_rng(company.key, 'posted').randint(8, 11):02d}-20",
        )
    employer_links = render_list(render_link(directory.wiki_url(company), company.name) for company in hiring_companies)
    yield SitePage(
        "/employers",
        partial(
            render_page,
            site,
            f"Employers - {site.name}",
            f"<h1>Employers</h1>\n{employer_links}<p>{render_link('/job/0-expired', 'Expired offers')} · {render_link('/alerts', 'Alerts')}</p>\n",
        ),
        "2024-12-02",
    )
    yield from list_common_pages(site)


def _draw_job_title(company: Company) -> str:
    return seeded_rng(company.key, "post").choice(JOB_TITLES)


def _render_job_link(path: str, company: Company) -> str:
    return f"{render_link(path, _draw_job_title(company).capitalize())}, {escape(company.name)}"


def _render_job(directory: SiteDirectory, company: Company, site: Site) -> str:
    picker, town = (
        SentencePicker(seeded_rng(directory.graph.seed, "job", company.key)),
        directory.graph.towns[company.town],
    )
    title = f"{_draw_job_title(company).capitalize()} ({town.name})"
    sentences = picker.pick_several(OFFER_SENTENCES, 4, 5, industry=company.industry)
    about = f"{escape(company.name)} works in {company.industry} and employs {format_number(company.employees)} people."
    return render_page(
        site,
        f"{title} at {company.name} - {site.name}",
        f"<h1>{escape(title)}</h1>\n{render_paragraph(about)}{render_paragraph(*sentences)}<p>{render_link(directory.wiki_url(company), 'About the employer')}</p>\n",
    )


def _build_homepages(directory: SiteDirectory) -> Site:
    nav = (("/", "All pages"),)
    return Site(
        HOMEPAGES_HOST,
        "Brightpost Homepages",
        "plain",
        "Your place on the net",
        partial(_list_homepages, directory),
        nav,
        "#800080",
        "Apache/1.3.42",
        not_found_paths=("/~nobody/",),
        gone_paths=("/~closed/",),
    )


def _list_homepages(directory: SiteDirectory, site: Site) -> Iterator[SitePage]:
    people = [person for person in directory.graph.people if not person.death_year]
    owners = seeded_rng(directory.graph.seed, "homepages").sample(
        people, min(len(people), max(6, round(24 * directory.scale)))
    )
    links = render_list(render_link(f"/~{slugify(owner.title)}/", f"~{slugify(owner.title)}") for owner in owners)
    yield SitePage(
        "/",
        partial(
            render_page, site, site.name, f"<h1>{site.name}</h1>\n{links}<p>{render_link('/~nobody/', '~nobody')}</p>\n"
        ),
        "2009-09-09",
    )
    for n, owner in enumerate(owners):
        # In turn; the header does not name the charset (`omits_charset`), so readers must look into the page.
        charset = ("windows-1252", "utf-8", "iso-8859-15")[n % 3]
        yield SitePage(
            f"/~{slugify(owner.title)}/",
            partial(_render_homepage, directory, owner, charset, site),
            f"{seeded_rng(owner.key, 'page').randint(2001, 2012)}-05-01",
            charset=charset,
            omits_charset=True,
        )
    yield from list_common_pages(site)


def _render_homepage(directory: SiteDirectory, owner: Person, charset: str, site: Site) -> str:
    picker = SentencePicker(seeded_rng(directory.graph.seed, "homepage", owner.key))
    rng = picker.rng
    slots = {
        "hobby": rng.choice(HOBBIES),
        "year": rng.randint(1994, 2009),
        "town": escape(directory.graph.towns[owner.birthplace].name),
        "cat": rng.choice(("Müsli", "Öl", "Señor", "Crème")),
    }
    content = f"<h1>{escape(owner.name)}</h1>\n{render_paragraph(*picker.pick_several(HOMEPAGE_SENTENCES, 4, 6, **slots))}<p>My town in the {render_link(directory.wiki_url(directory.graph.towns[owner.birthplace]), 'encyclopedia')} of {LEXICON_HOST}.</p>\n"
    return render_page(site, f"Homepage of {owner.name}", content, charset=charset)
