"""Sites of companies and universities."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.facts import format_number
from webemu.worlds.graph import Company, Product, University
from webemu.worlds.names import slugify
from webemu.worlds.prose import SentencePicker, format_long_date, render_paragraph
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.site_directory import SHOP_HOST, SiteDirectory, render_link
from webemu.worlds.sites.common import list_common_pages
from webemu.worlds.stories import RESEARCH_TOPICS
from webemu.worlds.templates import render_list, render_page, render_table
from webemu.worlds.web import Site, SitePage

SLOGANS = (
    "Made to be repaired",
    "Quietly better since {year}",
    "Things that last",
    "From {town} to the world",
    "Built by hand, tested by weather",
    "Less, but longer",
)
PITCH_SENTENCES = (
    "We build {industry} that our grandchildren will still use.", "Every screw can be reached with a normal driver.", "Our workshop in {town} is open to visitors on the last Friday of the month.",
    "We answer letters, even angry ones.", "What we cannot repair we take back.", "Our dealers are trained in our own workshop.", "We publish the plans of all models older than ten years.",
    "Half of our apprentices stay with us for good.", "There is no marketing department.",
)  # fmt: skip


def build_company_sites(directory: SiteDirectory) -> list[Site]:
    """Return the sites of the companies that have one."""
    return [_build_company_site(directory, directory.graph.companies[n]) for n in directory.companies_with_site]


def _build_company_site(directory: SiteDirectory, company: Company) -> Site:
    rng, town = seeded_rng(directory.graph.seed, "firm site", company.key), directory.graph.towns[company.town]
    nav = (
        ("/", "Home"),
        ("/products", "Products"),
        ("/company", "Company"),
        ("/news", "News"),
        ("/careers", "Careers"),
    )
    return Site(
        directory.company_url(company).removeprefix("https://"), company.name, "firm", rng.choice(SLOGANS).format(year=company.founding_year, town=town.name),
        partial(_list_pages, directory, company), nav, rng.choice(("#a33a2c", "#226677", "#446622", "#553388", "#b07010")), "cloudflare",
        not_found_paths=("/downloads/catalogue-2016",), redirects=(("/about-us", "/company", 301), ("/shop", f"https://{SHOP_HOST}/", 302)),
    )  # fmt: skip


def _list_pages(directory: SiteDirectory, company: Company, site: Site) -> Iterator[SitePage]:
    yield SitePage("/", partial(_render_home, directory, company, site), "2024-11-02")
    yield SitePage("/company", partial(_render_company, directory, company, site), "2024-03-12")
    yield SitePage("/products", partial(_render_products, directory, company, site), "2024-09-30")
    for n in directory.products_of.get(company.key, []):
        product = directory.graph.products[n]
        yield SitePage(
            _item_path(product),
            partial(_render_product, directory, product, site),
            f"{product.introduction_year}-06-01",
        )
    yield SitePage("/news", partial(_render_news, directory, company, site), "2024-11-11")
    yield SitePage("/careers", partial(_render_careers, directory, company, site), "2024-11-14")
    yield from list_common_pages(site)


def _item_path(product: Product) -> str:
    return f"/products/{slugify(product.name)}"


def _render_home(directory: SiteDirectory, company: Company, site: Site) -> str:
    picker, town = (
        SentencePicker(seeded_rng(directory.graph.seed, site.host, "home")),
        directory.graph.towns[company.town],
    )
    pitch = picker.pick_several(PITCH_SENTENCES, 4, 6, industry=company.industry, town=escape(town.name))
    content = (
        f"<h1>{escape(company.name)}</h1>\n"
        + render_paragraph(*pitch[:2])
        + render_paragraph(*pitch[2:])
        + f"<p>{render_link('/products', 'See our products')} or {render_link('/downloads/catalogue-2016', 'download the catalogue')}.</p>\n"
    )
    return render_page(site, f"{company.name} – {site.tagline}", content)


def _render_company(directory: SiteDirectory, company: Company, site: Site) -> str:
    graph = directory.graph
    founder, town = graph.people[company.founder], graph.towns[company.town]
    picker = SentencePicker(seeded_rng(graph.seed, site.host, "company"))
    story = (
        "{founder} founded {name} in {year}[ with borrowed money| in a shed behind the station|].", "{name} was founded in {year} by {founder}.",
    )  # fmt: skip
    slots = {"founder": escape(founder.name), "name": escape(company.name), "year": company.founding_year}
    rows = [
        ("Founded", str(company.founding_year)),
        ("Founder", escape(founder.name)),
        ("Headquarters", escape(town.name)),
        ("Employees", format_number(company.employees)),
        ("Field", company.industry),
    ]
    content = "<h1>The company</h1>\n" + render_paragraph(
        picker.pick(story, **slots),
        f"Today {format_number(company.employees)} people work for us, most of them at our headquarters in {escape(town.name)}.",
    )
    content += render_table(("", ""), rows) + render_paragraph(
        *picker.pick_several(PITCH_SENTENCES, 1, 2, industry=company.industry, town=escape(town.name))
    )
    return render_page(site, f"The company - {company.name}", content)


def _render_products(directory: SiteDirectory, company: Company, site: Site) -> str:
    products = [directory.graph.products[n] for n in directory.products_of.get(company.key, [])]
    items = render_list(
        f"{render_link(_item_path(product), product.name)}, {product.product_type}, since {product.introduction_year}"
        for product in products
    )
    return render_page(
        site, f"Products - {company.name}", f"<h1>Products</h1>\n{items or '<p>Our range is being renewed.</p>'}"
    )


def _render_product(directory: SiteDirectory, product: Product, site: Site) -> str:
    rng = seeded_rng(directory.graph.seed, "item", product.key)
    rows = [
        ("Type", product.product_type),
        ("Introduced", str(product.introduction_year)),
        ("Weight", f"{rng.uniform(0.2, 14):.1f} kg"),
        ("Warranty", f"{rng.randint(2, 10)} years"),
        ("Article no.", str(rng.randint(10000, 99999))),
    ]
    content = (
        f"<h1>{escape(product.name)}</h1>\n<p>The {escape(product.name)} has been part of our range since {product.introduction_year}.</p>\n"
        + render_table(("Data", ""), rows)
    )
    return render_page(
        site,
        f"{product.name} - {site.name}",
        content
        + f"<p>Buy it at {render_link(f'https://{SHOP_HOST}/item/{slugify(product.name)}', 'Hearth & Spoke')}.</p>\n",
    )


def _render_news(directory: SiteDirectory, company: Company, site: Site) -> str:
    stories = [directory.stories[n] for n in directory.stories_about.get(company.key, [])[:10]]
    items = render_list(
        f"{format_long_date(story.day)}: {render_link(directory.story_url(story), story.headline)}" for story in stories
    )
    return render_page(
        site,
        f"News - {company.name}",
        "<h1>In the news</h1>\n" + (items if stories else "<p>No news is good news.</p>\n"),
    )


def _render_careers(directory: SiteDirectory, company: Company, site: Site) -> str:
    rng = seeded_rng(directory.graph.seed, site.host, "careers")
    jobs = rng.sample(
        (
            "toolmaker",
            "accountant",
            "apprentice in the paint shop",
            "test engineer",
            "warehouse clerk",
            "technical writer",
            "buyer",
        ),
        3,
    )
    content = (
        "<h1>Careers</h1>\n"
        + render_paragraph(
            "We are looking for people who like to finish things.", "Letters of application may be short."
        )
        + render_list(f"{job.capitalize()} (full time)" for job in jobs)
    )
    return render_page(site, f"Careers - {company.name}", content)


def build_university_sites(directory: SiteDirectory) -> list[Site]:
    """Return the sites of the universities that have one."""
    return [
        _build_university_site(directory, directory.graph.universities[n]) for n in directory.universities_with_site
    ]


def _build_university_site(directory: SiteDirectory, university: University) -> Site:
    nav = (
        ("/", "Home"),
        ("/people", "People"),
        ("/research", "Research"),
        ("/study", "Study"),
        ("/rectorate", "Rectorate"),
    )
    return Site(
        directory.university_url(university).removeprefix("https://"), university.name, "office", f"Teaching and research since {university.founding_year}", partial(_list_university_pages, directory, university), nav,
        "#6a1b2a", "Apache/2.4.57 (Debian)", not_found_paths=("/~guest/index.html",), redirects=(("/staff", "/people", 301),), disallowed_prefixes=("/cgi-bin/",),
    )  # fmt: skip


def _list_university_pages(directory: SiteDirectory, university: University, site: Site) -> Iterator[SitePage]:
    rector = directory.graph.people[university.rector]
    front_text = render_paragraph(
        f"The {escape(university.name)} was established in {university.founding_year}.", f"Some {format_number(university.students)} students are enrolled.",
        f"It is particularly known for {university.strength}.", f"Old course pages: {render_link('/~guest/index.html', 'guest lectures')}.",
    )  # fmt: skip
    yield SitePage(
        "/",
        partial(render_page, site, university.name, f"<h1>{escape(university.name)}</h1>\n{front_text}"),
        "2024-09-01",
    )
    rectorate_text = render_paragraph(
        f"The rector of the university is {escape(rector.name)}.",
        "The rectorate is on the first floor of the main building.",
        "Speeches are kept in the archive and read by no one.",
    )
    yield SitePage(
        "/rectorate",
        partial(render_page, site, f"Rectorate - {university.name}", f"<h1>Rectorate</h1>\n{rectorate_text}"),
        "2023-10-01",
    )
    yield from _list_staff_pages(directory, university, site)
    yield SitePage(
        "/research",
        partial(
            render_page,
            site,
            f"Research - {university.name}",
            "<h1>Research projects</h1>\n" + render_list(topic.capitalize() for topic in RESEARCH_TOPICS[:8]),
        ),
        "2024-02-02",
    )
    study_text = render_paragraph(
        "Applications are open from March to May.",
        "There are no fees in the first four years.",
        "Courses are held in two languages.",
        "Advice is given in the hall every weekday morning.",
    )
    yield SitePage(
        "/study",
        partial(render_page, site, f"Study - {university.name}", f"<h1>Study with us</h1>\n{study_text}"),
        "2024-02-20",
    )
    yield from list_common_pages(site)


def _list_staff_pages(directory: SiteDirectory, university: University, site: Site) -> Iterator[SitePage]:
    staff = [directory.graph.people[n] for n in directory.people_employed_by.get(university.key, ())]
    rows = [
        (render_link(f"/people/{slugify(person.title)}", person.name), person.occupation, f"{n + 11}.{n % 4}")
        for n, person in enumerate(staff)
    ]
    yield SitePage(
        "/people",
        partial(
            render_page,
            site,
            f"People - {university.name}",
            "<h1>People</h1>\n" + render_table(("Name", "Field", "Room"), rows),
        ),
        "2024-10-10",
    )
    for person in staff:
        topic = seeded_rng(directory.graph.seed, "topic", person.key).choice(RESEARCH_TOPICS)
        text = render_paragraph(
            f"{escape(person.name)} works as {person.occupation} at the {escape(university.name)}.",
            f"Current project: {topic}.",
            "Office hours are on Tuesdays in term.",
        )
        link = f"<p>{render_link(directory.wiki_url(person), 'Entry in OpenLexicon')}</p>\n"
        yield SitePage(
            f"/people/{slugify(person.title)}",
            partial(
                render_page, site, f"{person.name} - {university.name}", f"<h1>{escape(person.name)}</h1>\n{text}{link}"
            ),
            "2024-04-02",
        )
