"""Sites of companies and universities."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.facts import number
from webemu.worlds.graph import Company, Product, University
from webemu.worlds.names import slug
from webemu.worlds.prose import Voice, long_date, paragraph
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import SHOP, Atlas, anchor
from webemu.worlds.sites.common import common
from webemu.worlds.stories import TOPICS
from webemu.worlds.templates import bullets, page, table
from webemu.worlds.web import Leaf, Site

SLOGANS = (
    "Made to be repaired",
    "Quietly better since {year}",
    "Things that last",
    "From {town} to the world",
    "Built by hand, tested by weather",
    "Less, but longer",
)
PITCH = (
    "We build {industry} that our grandchildren will still use.", "Every screw can be reached with a normal driver.", "Our workshop in {town} is open to visitors on the last Friday of the month.",
    "We answer letters, even angry ones.", "What we cannot repair we take back.", "Our dealers are trained in our own workshop.", "We publish the plans of all models older than ten years.",
    "Half of our apprentices stay with us for good.", "There is no marketing department.",
)  # fmt: skip


def firms(atlas: Atlas) -> list[Site]:
    """Return the sites of the companies that have one."""
    return [_firm(atlas, atlas.graph.companies[n]) for n in atlas.site_companies]


def _firm(atlas: Atlas, company: Company) -> Site:
    rng, town = dice(atlas.graph.seed, "firm site", company.key), atlas.graph.towns[company.town]
    nav = (
        ("/", "Home"),
        ("/products", "Products"),
        ("/company", "Company"),
        ("/news", "News"),
        ("/careers", "Careers"),
    )
    return Site(
        atlas.firm(company).removeprefix("https://"), company.name, "firm", rng.choice(SLOGANS).format(year=company.founded, town=town.name),
        partial(_leaves, atlas, company), nav, rng.choice(("#a33a2c", "#226677", "#446622", "#553388", "#b07010")), "cloudflare",
        dead=("/downloads/catalogue-2016",), moved=(("/about-us", "/company", 301), ("/shop", f"https://{SHOP}/", 302)),
    )  # fmt: skip


def _leaves(atlas: Atlas, company: Company, site: Site) -> Iterator[Leaf]:
    yield Leaf("/", partial(_home, atlas, company, site), "2024-11-02")
    yield Leaf("/company", partial(_company, atlas, company, site), "2024-03-12")
    yield Leaf("/products", partial(_range, atlas, company, site), "2024-09-30")
    for n in atlas.products.get(company.key, []):
        product = atlas.graph.products[n]
        yield Leaf(_item_path(product), partial(_item, atlas, product, site), f"{product.introduced}-06-01")
    yield Leaf("/news", partial(_news, atlas, company, site), "2024-11-11")
    yield Leaf("/careers", partial(_careers, atlas, company, site), "2024-11-14")
    yield from common(site)


def _item_path(product: Product) -> str:
    return f"/products/{slug(product.name)}"


def _home(atlas: Atlas, company: Company, site: Site) -> str:
    voice, town = Voice(dice(atlas.graph.seed, site.host, "home")), atlas.graph.towns[company.town]
    pitch = voice.some(PITCH, 4, 6, industry=company.industry, town=escape(town.name))
    main = (
        f"<h1>{escape(company.name)}</h1>\n"
        + paragraph(*pitch[:2])
        + paragraph(*pitch[2:])
        + f"<p>{anchor('/products', 'See our products')} or {anchor('/downloads/catalogue-2016', 'download the catalogue')}.</p>\n"
    )
    return page(site, f"{company.name} – {site.tagline}", main)


def _company(atlas: Atlas, company: Company, site: Site) -> str:
    graph = atlas.graph
    founder, town = graph.people[company.founder], graph.towns[company.town]
    voice = Voice(dice(graph.seed, site.host, "company"))
    story = (
        "{founder} founded {name} in {year}[ with borrowed money| in a shed behind the station|].", "{name} was founded in {year} by {founder}.",
    )  # fmt: skip
    slots = {"founder": escape(founder.name), "name": escape(company.name), "year": company.founded}
    rows = [
        ("Founded", str(company.founded)),
        ("Founder", escape(founder.name)),
        ("Headquarters", escape(town.name)),
        ("Employees", number(company.employees)),
        ("Field", company.industry),
    ]
    main = "<h1>The company</h1>\n" + paragraph(
        voice.say(story, **slots),
        f"Today {number(company.employees)} people work for us, most of them at our headquarters in {escape(town.name)}.",
    )
    main += table(("", ""), rows) + paragraph(
        *voice.some(PITCH, 1, 2, industry=company.industry, town=escape(town.name))
    )
    return page(site, f"The company - {company.name}", main)


def _range(atlas: Atlas, company: Company, site: Site) -> str:
    products = [atlas.graph.products[n] for n in atlas.products.get(company.key, [])]
    items = bullets(
        f"{anchor(_item_path(product), product.name)}, {product.what}, since {product.introduced}"
        for product in products
    )
    return page(
        site, f"Products - {company.name}", f"<h1>Products</h1>\n{items or '<p>Our range is being renewed.</p>'}"
    )


def _item(atlas: Atlas, product: Product, site: Site) -> str:
    rng = dice(atlas.graph.seed, "item", product.key)
    rows = [
        ("Type", product.what),
        ("Introduced", str(product.introduced)),
        ("Weight", f"{rng.uniform(0.2, 14):.1f} kg"),
        ("Warranty", f"{rng.randint(2, 10)} years"),
        ("Article no.", str(rng.randint(10000, 99999))),
    ]
    main = (
        f"<h1>{escape(product.name)}</h1>\n<p>The {escape(product.name)} has been part of our range since {product.introduced}.</p>\n"
        + table(("Data", ""), rows)
    )
    return page(
        site,
        f"{product.name} - {site.name}",
        main + f"<p>Buy it at {anchor(f'https://{SHOP}/item/{slug(product.name)}', 'Hearth & Spoke')}.</p>\n",
    )


def _news(atlas: Atlas, company: Company, site: Site) -> str:
    stories = [atlas.stories[n] for n in atlas.about.get(company.key, [])[:10]]
    items = bullets(f"{long_date(story.day)}: {anchor(atlas.story_url(story), story.headline)}" for story in stories)
    return page(
        site,
        f"News - {company.name}",
        "<h1>In the news</h1>\n" + (items if stories else "<p>No news is good news.</p>\n"),
    )


def _careers(atlas: Atlas, company: Company, site: Site) -> str:
    rng = dice(atlas.graph.seed, site.host, "careers")
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
    main = (
        "<h1>Careers</h1>\n"
        + paragraph("We are looking for people who like to finish things.", "Letters of application may be short.")
        + bullets(f"{job.capitalize()} (full time)" for job in jobs)
    )
    return page(site, f"Careers - {company.name}", main)


def universities(atlas: Atlas) -> list[Site]:
    """Return the sites of the universities that have one."""
    return [_university(atlas, atlas.graph.universities[n]) for n in atlas.schools]


def _university(atlas: Atlas, school: University) -> Site:
    nav = (
        ("/", "Home"),
        ("/people", "People"),
        ("/research", "Research"),
        ("/study", "Study"),
        ("/rectorate", "Rectorate"),
    )
    return Site(
        atlas.school(school).removeprefix("https://"), school.name, "office", f"Teaching and research since {school.established}", partial(_campus, atlas, school), nav,
        "#6a1b2a", "Apache/2.4.57 (Debian)", dead=("/~guest/index.html",), moved=(("/staff", "/people", 301),), disallow=("/cgi-bin/",),
    )  # fmt: skip


def _campus(atlas: Atlas, school: University, site: Site) -> Iterator[Leaf]:
    rector = atlas.graph.people[school.rector]
    front = paragraph(
        f"The {escape(school.name)} was established in {school.established}.", f"Some {number(school.students)} students are enrolled.",
        f"It is particularly known for {school.strength}.", f"Old course pages: {anchor('/~guest/index.html', 'guest lectures')}.",
    )  # fmt: skip
    yield Leaf("/", partial(page, site, school.name, f"<h1>{escape(school.name)}</h1>\n{front}"), "2024-09-01")
    office = paragraph(
        f"The rector of the university is {escape(rector.name)}.",
        "The rectorate is on the first floor of the main building.",
        "Speeches are kept in the archive and read by no one.",
    )
    yield Leaf(
        "/rectorate", partial(page, site, f"Rectorate - {school.name}", f"<h1>Rectorate</h1>\n{office}"), "2023-10-01"
    )
    yield from _staff(atlas, school, site)
    yield Leaf(
        "/research",
        partial(
            page,
            site,
            f"Research - {school.name}",
            "<h1>Research projects</h1>\n" + bullets(topic.capitalize() for topic in TOPICS[:8]),
        ),
        "2024-02-02",
    )
    study = paragraph(
        "Applications are open from March to May.",
        "There are no fees in the first four years.",
        "Courses are held in two languages.",
        "Advice is given in the hall every weekday morning.",
    )
    yield Leaf(
        "/study", partial(page, site, f"Study - {school.name}", f"<h1>Study with us</h1>\n{study}"), "2024-02-20"
    )
    yield from common(site)


def _staff(atlas: Atlas, school: University, site: Site) -> Iterator[Leaf]:
    staff = [atlas.graph.people[n] for n in atlas.staff.get(school.key, ())]
    rows = [
        (anchor(f"/people/{slug(person.title)}", person.name), person.occupation, f"{n + 11}.{n % 4}")
        for n, person in enumerate(staff)
    ]
    yield Leaf(
        "/people",
        partial(page, site, f"People - {school.name}", "<h1>People</h1>\n" + table(("Name", "Field", "Room"), rows)),
        "2024-10-10",
    )
    for person in staff:
        topic = dice(atlas.graph.seed, "topic", person.key).choice(TOPICS)
        text = paragraph(
            f"{escape(person.name)} works as {person.occupation} at the {escape(school.name)}.",
            f"Current project: {topic}.",
            "Office hours are on Tuesdays in term.",
        )
        link = f"<p>{anchor(atlas.wiki(person), 'Entry in OpenLexicon')}</p>\n"
        yield Leaf(
            f"/people/{slug(person.title)}",
            partial(page, site, f"{person.name} - {school.name}", f"<h1>{escape(person.name)}</h1>\n{text}{link}"),
            "2024-04-02",
        )
