"""The book index, the film catalogue and the online shop: a page per work or product, and lists of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.graph import PRIZE_YEARS, Prize, Product, Work
from webemu.worlds.names import slugify
from webemu.worlds.prose import SentencePicker, expand_template, render_paragraph
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.site_directory import FILM_HOST, NOVEL_HOST, SHOP_HOST, SiteDirectory, render_link
from webemu.worlds.sites.common import list_common_pages, list_paged
from webemu.worlds.templates import render_list, render_page, render_table
from webemu.worlds.web import Site, SitePage

READER_REMARKS = (
    "[Read|Took] it in one night and was tired at work.", "The middle drags, the end [does not|repays everything].", "My [aunt|neighbour] gave it to me and wants it back.",
    "[Not as good as the earlier ones|Better than the earlier ones].", "The weather is the best character.", "I had hoped for fewer uncles.", "Bought two, one to give away.",
    "Four stars, one lost for the cover.", "Everyone talks and nobody says it. Wonderful.", "Could be a hundred pages shorter.",
)  # fmt: skip
BUYER_REMARKS = (
    "Works as described.", "Arrived in [two|five] days, well packed.", "The manual is a riddle, the thing itself is fine.", "Louder than I thought, but solid.", "Second one in ten years.",
    "Sent it back, colour too bright; refund came at once.", "My father uses it daily.", "Screws loosened after a month; tightened, fine since.",
)  # fmt: skip


def build_catalogues(directory: SiteDirectory) -> list[Site]:
    """Return the sites of the book index, the film catalogue and the shop."""
    return [_build_catalogue(directory, True), _build_catalogue(directory, False), _build_shop(directory)]


def _build_catalogue(directory: SiteDirectory, is_novels: bool) -> Site:
    # The two catalogues share their pages but not their look.
    if is_novels:
        nav = (("/", "Home"), ("/books", "Books"), ("/prizes", "Prizes"))
        return Site(NOVEL_HOST, "Shelfmark Index", "database", "Every novel on one card", partial(_list_catalogue_pages, directory, True), nav, "#e0a030", "Caddy",
                    not_found_paths=("/forum",), redirects=(("/top100", "/books", 301),), disallowed_prefixes=("/export",))  # fmt: skip
    nav = (("/", "Home"), ("/titles", "Titles"), ("/prizes", "Prizes"))
    return Site(FILM_HOST, "Reel Catalogue", "database", "Films, who made them, and when", partial(_list_catalogue_pages, directory, False), nav, "#50b0c0", "nginx/1.24.0",
                not_found_paths=("/forum",), redirects=(("/films", "/titles", 301),))  # fmt: skip


def _list_catalogue_pages(directory: SiteDirectory, is_novels: bool, site: Site) -> Iterator[SitePage]:
    works = directory.graph.novels if is_novels else directory.graph.films
    latest = sorted(works, key=lambda work: (-work.year, work.name))[:20]
    links = render_list(f"{_render_work_link(directory, work)} ({work.year})" for work in latest)
    forum = f"<p>Our {render_link('/forum', 'forum')} has been closed.</p>\n"
    yield SitePage(
        "/",
        partial(render_page, site, f"{site.name}: {site.tagline}", f"<h1>Recently added</h1>\n{links}{forum}"),
        "2024-11-29",
    )
    items = [partial(_render_work_entry, directory, work) for work in sorted(works, key=lambda work: work.name)]
    yield from list_paged(
        site, "/books" if is_novels else "/titles", "All novels" if is_novels else "All films", items, 50
    )
    for work in works:
        yield SitePage(
            directory.catalogue_url(work).removeprefix(site.base_url),
            partial(_render_work, directory, work, site),
            f"{max(work.year, 2014)}-11-05",
        )
    prizes = [prize for prize in directory.graph.prizes if (prize.field == "novel") is is_novels]
    yield SitePage(
        "/prizes",
        partial(
            render_page,
            site,
            f"Prizes - {site.name}",
            "<h1>Prizes</h1>\n" + render_list(render_link(f"/prize/{slugify(p.name)}", p.name) for p in prizes),
        ),
        "2024-11-01",
    )
    for prize in prizes:
        yield SitePage(f"/prize/{slugify(prize.name)}", partial(_render_prize, directory, prize, site), "2024-11-01")
    yield from list_common_pages(site)


def _render_work_link(directory: SiteDirectory, work: Work) -> str:
    return render_link("/" + directory.catalogue_url(work).split("/", 3)[3], work.name)


def _render_work_entry(directory: SiteDirectory, work: Work) -> str:
    return f"{_render_work_link(directory, work)}, {escape(directory.graph.people[work.creator].name)}, {work.year}"


def _render_work(directory: SiteDirectory, work: Work, site: Site) -> str:
    graph, is_novel = directory.graph, work.kind == "novel"
    rng = seeded_rng(graph.seed, "card", work.key)
    picker, maker = SentencePicker(rng), graph.people[work.creator]
    rows = [("Author" if is_novel else "Director", escape(maker.name)), ("Year", str(work.year)), ("Publisher" if is_novel else "Studio", escape(work.publisher)),
            ("Pages" if is_novel else "Minutes", str(rng.randint(140, 640) if is_novel else rng.randint(74, 168))), ("Set in", escape(graph.towns[work.setting].name))]  # fmt: skip
    if work.prize >= 0:
        rows.append(
            (
                "Awards",
                f"{render_link(f'/prize/{slugify(graph.prizes[work.prize].name)}', graph.prizes[work.prize].name)} ({work.prize_year})",
            )
        )
    facts = '<dl class="data">' + "".join(f"<dt>{label}</dt><dd>{value}</dd>" for label, value in rows) + "</dl>\n"
    other_works = [other for other in directory.works_by.get(maker.key, []) if other is not work]
    other_works_html = (
        f"<h4>By the same {'author' if is_novel else 'director'}</h4>"
        + render_list(_render_work_link(directory, other) for other in other_works)
        if other_works
        else ""
    )
    remarks = "".join(f"<blockquote>{text}</blockquote>\n" for text in picker.pick_several(READER_REMARKS, 2, 3))
    content = (
        f"<h1>{escape(work.name)} ({work.year})</h1>\n{facts}"
        + render_paragraph(f"About {work.theme}.")
        + f"<h3>What readers say</h3>\n{remarks}<p>{render_link(directory.wiki_url(work), 'OpenLexicon entry')}</p>\n"
    )
    return render_page(site, f"{work.name} ({work.year}) - {site.name}", content, aside=other_works_html)


def _render_prize(directory: SiteDirectory, prize: Prize, site: Site) -> str:
    works = directory.graph.novels if prize.field == "novel" else directory.graph.films
    rows = [
        (str(year), _render_work_link(directory, works[n])) for year, n in zip(PRIZE_YEARS, prize.winners, strict=True)
    ]
    return render_page(
        site,
        f"{prize.name} - {site.name}",
        f"<h1>{escape(prize.name)}</h1>\n<p>Given every year since {prize.founding_year}.</p>\n"
        + render_table(("Year", "Work"), rows),
    )


def _build_shop(directory: SiteDirectory) -> Site:
    nav = (("/", "Start"), ("/catalogue", "Catalogue"), ("/delivery", "Delivery"))
    return Site(SHOP_HOST, "Hearth & Spoke", "shop", "Tools and things for the house", partial(_list_shop_pages, directory), nav, "#b3541e", "Shopfront/3.1", disallowed_prefixes=("/basket", "/checkout"),
                not_found_paths=("/item/discontinued-bread-bin",), gone_paths=("/sale-2021",), redirects=(("/cat", "/catalogue", 301), ("/deal-of-the-day", "/catalogue", 302)), failing_paths=(("/checkout", 503),))  # fmt: skip


def _list_shop_pages(directory: SiteDirectory, site: Site) -> Iterator[SitePage]:
    products = directory.graph.products
    picks = seeded_rng(directory.graph.seed, "shop window").sample(products, min(9, len(products)))
    window = "".join(f'<div class="card">{_render_product_line(product)}</div>\n' for product in picks)
    clearing = f"<p>{render_link('/item/discontinued-bread-bin', 'Bread bin, last pieces')} · {render_link('/sale-2021', 'Clearance')}</p>\n"
    yield SitePage(
        "/",
        partial(render_page, site, f"{site.name} – {site.tagline}", f"<h1>This week</h1>\n{window}{clearing}"),
        "2024-12-01",
    )
    yield from list_paged(
        site, "/catalogue", "Catalogue", [partial(_render_product_line, product) for product in products], 40
    )
    for product in products:
        yield SitePage(
            f"/item/{slugify(product.name)}", partial(_render_product, directory, product, site), "2024-11-15"
        )
    text = render_paragraph(
        "We deliver on Tuesdays and Fridays.",
        "Orders over 80 euros travel free.",
        "Heavy parcels are left with a neighbour only if you say so.",
        "Returns are possible for forty days.",
    )
    yield SitePage(
        "/delivery", partial(render_page, site, f"Delivery - {site.name}", f"<h1>Delivery</h1>\n{text}"), "2024-01-08"
    )
    yield from list_common_pages(site)


def _render_product_line(product: Product) -> str:
    return f"{render_link(f'/item/{slugify(product.name)}', product.name)} {product.product_type}, €{product.price}.00"


def _render_product(directory: SiteDirectory, product: Product, site: Site) -> str:
    rng = seeded_rng(directory.graph.seed, "ware", product.key)
    picker, company = SentencePicker(rng), directory.graph.companies[product.company]
    intro = (
        "The {name} from {maker} [does one thing and does it well|is made to be used daily|needs little room].",
        "{maker} makes this {what} [since|on the market since] {year}.",
    )
    rows = "".join(
        f"<tr><th>{label}</th><td>{value}</td></tr>"
        for label, value in (
            ("Brand", escape(company.name)),
            ("Model year", product.introduction_year),
            ("Stock", rng.randint(0, 40)),
            ("Item no.", rng.randint(10**5, 10**6)),
        )
    )
    text = expand_template(rng, intro[0], {"name": escape(product.name), "maker": escape(company.name)})
    reviews = "".join(f"<p>{'★' * rng.randint(2, 5)} {line}</p>\n" for line in picker.pick_several(BUYER_REMARKS, 2, 4))
    home = directory.company_url(company)
    maker = f"<p>Maker: {render_link(home + '/', company.name)}</p>\n" if home else ""
    content = (
        f'<h1>{escape(product.name)}</h1>\n<p class="price">€{product.price}.00</p>\n<span class="buy">Add to basket</span>\n{render_paragraph(text)}'
        f'<table class="spec">{rows}</table>\n{maker}<h3>Reviews</h3>\n{reviews}'
    )  # fmt: skip
    return render_page(
        site,
        f"{product.name} {product.product_type} | {site.name}",
        content,
        description=f"{product.name} by {company.name}, €{product.price}.00",
    )
