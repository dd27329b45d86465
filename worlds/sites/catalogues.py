"""The book index, the film catalogue and the online shop: a page per work or product, and lists of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.graph import PRIZE_YEARS, Prize, Product, Work
from webemu.worlds.names import slug
from webemu.worlds.prose import Voice, expand, paragraph
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import FILM_HOST, NOVEL_HOST, SHOP, Atlas, anchor
from webemu.worlds.sites.common import common, paged
from webemu.worlds.templates import bullets, page, table
from webemu.worlds.web import Leaf, Site

REMARKS = (
    "[Read|Took] it in one night and was tired at work.", "The middle drags, the end [does not|repays everything].", "My [aunt|neighbour] gave it to me and wants it back.",
    "[Not as good as the earlier ones|Better than the earlier ones].", "The weather is the best character.", "I had hoped for fewer uncles.", "Bought two, one to give away.",
    "Four stars, one lost for the cover.", "Everyone talks and nobody says it. Wonderful.", "Could be a hundred pages shorter.",
)  # fmt: skip
BUYERS = (
    "Works as described.", "Arrived in [two|five] days, well packed.", "The manual is a riddle, the thing itself is fine.", "Louder than I thought, but solid.", "Second one in ten years.",
    "Sent it back, colour too bright; refund came at once.", "My father uses it daily.", "Screws loosened after a month; tightened, fine since.",
)  # fmt: skip


def catalogues(atlas: Atlas) -> list[Site]:
    """Return the sites of the book index, the film catalogue and the shop."""
    return [_catalogue(atlas, True), _catalogue(atlas, False), _shop(atlas)]


def _catalogue(atlas: Atlas, novels: bool) -> Site:
    # The two catalogues share their pages but not their look.
    if novels:
        nav = (("/", "Home"), ("/books", "Books"), ("/prizes", "Prizes"))
        return Site(NOVEL_HOST, "Shelfmark Index", "database", "Every novel on one card", partial(_cards, atlas, True), nav, "#e0a030", "Caddy",
                    dead=("/forum",), moved=(("/top100", "/books", 301),), disallow=("/export",))  # fmt: skip
    nav = (("/", "Home"), ("/titles", "Titles"), ("/prizes", "Prizes"))
    return Site(FILM_HOST, "Reel Catalogue", "database", "Films, who made them, and when", partial(_cards, atlas, False), nav, "#50b0c0", "nginx/1.24.0",
                dead=("/forum",), moved=(("/films", "/titles", 301),))  # fmt: skip


def _cards(atlas: Atlas, novels: bool, site: Site) -> Iterator[Leaf]:
    works = atlas.graph.novels if novels else atlas.graph.films
    latest = sorted(works, key=lambda work: (-work.year, work.name))[:20]
    links = bullets(f"{_link(atlas, work)} ({work.year})" for work in latest)
    forum = f"<p>Our {anchor('/forum', 'forum')} has been closed.</p>\n"
    yield Leaf(
        "/",
        partial(page, site, f"{site.name}: {site.tagline}", f"<h1>Recently added</h1>\n{links}{forum}"),
        "2024-11-29",
    )
    shelf = [partial(_entry, atlas, work) for work in sorted(works, key=lambda work: work.name)]
    yield from paged(site, "/books" if novels else "/titles", "All novels" if novels else "All films", shelf, 50)
    for work in works:
        yield Leaf(
            atlas.catalogue(work).removeprefix(site.base),
            partial(_card, atlas, work, site),
            f"{max(work.year, 2014)}-11-05",
        )
    prizes = [prize for prize in atlas.graph.prizes if (prize.field == "novel") is novels]
    yield Leaf(
        "/prizes",
        partial(
            page,
            site,
            f"Prizes - {site.name}",
            "<h1>Prizes</h1>\n" + bullets(anchor(f"/prize/{slug(p.name)}", p.name) for p in prizes),
        ),
        "2024-11-01",
    )
    for prize in prizes:
        yield Leaf(f"/prize/{slug(prize.name)}", partial(_prize, atlas, prize, site), "2024-11-01")
    yield from common(site)


def _link(atlas: Atlas, work: Work) -> str:
    return anchor("/" + atlas.catalogue(work).split("/", 3)[3], work.name)


def _entry(atlas: Atlas, work: Work) -> str:
    return f"{_link(atlas, work)}, {escape(atlas.graph.people[work.maker].name)}, {work.year}"


def _card(atlas: Atlas, work: Work, site: Site) -> str:
    graph, novel = atlas.graph, work.kind == "novel"
    rng = dice(graph.seed, "card", work.key)
    voice, maker = Voice(rng), graph.people[work.maker]
    rows = [("Author" if novel else "Director", escape(maker.name)), ("Year", str(work.year)), ("Publisher" if novel else "Studio", escape(work.house)),
            ("Pages" if novel else "Minutes", str(rng.randint(140, 640) if novel else rng.randint(74, 168))), ("Set in", escape(graph.towns[work.setting].name))]  # fmt: skip
    if work.prize >= 0:
        rows.append(
            (
                "Awards",
                f"{anchor(f'/prize/{slug(graph.prizes[work.prize].name)}', graph.prizes[work.prize].name)} ({work.prize_year})",
            )
        )
    facts = '<dl class="data">' + "".join(f"<dt>{label}</dt><dd>{value}</dd>" for label, value in rows) + "</dl>\n"
    others = [other for other in atlas.made.get(maker.key, []) if other is not work]
    more = (
        f"<h4>By the same {'author' if novel else 'director'}</h4>" + bullets(_link(atlas, other) for other in others)
        if others
        else ""
    )
    remarks = "".join(f"<blockquote>{text}</blockquote>\n" for text in voice.some(REMARKS, 2, 3))
    main = (
        f"<h1>{escape(work.name)} ({work.year})</h1>\n{facts}"
        + paragraph(f"About {work.theme}.")
        + f"<h3>What readers say</h3>\n{remarks}<p>{anchor(atlas.wiki(work), 'OpenLexicon entry')}</p>\n"
    )
    return page(site, f"{work.name} ({work.year}) - {site.name}", main, aside=more)


def _prize(atlas: Atlas, prize: Prize, site: Site) -> str:
    works = atlas.graph.novels if prize.field == "novel" else atlas.graph.films
    rows = [(str(year), _link(atlas, works[n])) for year, n in zip(PRIZE_YEARS, prize.winners, strict=True)]
    return page(
        site,
        f"{prize.name} - {site.name}",
        f"<h1>{escape(prize.name)}</h1>\n<p>Given every year since {prize.established}.</p>\n"
        + table(("Year", "Work"), rows),
    )


def _shop(atlas: Atlas) -> Site:
    nav = (("/", "Start"), ("/catalogue", "Catalogue"), ("/delivery", "Delivery"))
    return Site(SHOP, "Hearth & Spoke", "shop", "Tools and things for the house", partial(_wares, atlas), nav, "#b3541e", "Shopfront/3.1", disallow=("/basket", "/checkout"),
                dead=("/item/discontinued-bread-bin",), gone=("/sale-2021",), moved=(("/cat", "/catalogue", 301), ("/deal-of-the-day", "/catalogue", 302)), broken=(("/checkout", 503),))  # fmt: skip


def _wares(atlas: Atlas, site: Site) -> Iterator[Leaf]:
    products = atlas.graph.products
    picks = dice(atlas.graph.seed, "shop window").sample(products, min(9, len(products)))
    window = "".join(f'<div class="card">{_tag(product)}</div>\n' for product in picks)
    clearing = f"<p>{anchor('/item/discontinued-bread-bin', 'Bread bin, last pieces')} · {anchor('/sale-2021', 'Clearance')}</p>\n"
    yield Leaf(
        "/",
        partial(page, site, f"{site.name} – {site.tagline}", f"<h1>This week</h1>\n{window}{clearing}"),
        "2024-12-01",
    )
    yield from paged(site, "/catalogue", "Catalogue", [partial(_tag, product) for product in products], 40)
    for product in products:
        yield Leaf(f"/item/{slug(product.name)}", partial(_ware, atlas, product, site), "2024-11-15")
    text = paragraph(
        "We deliver on Tuesdays and Fridays.",
        "Orders over 80 euros travel free.",
        "Heavy parcels are left with a neighbour only if you say so.",
        "Returns are possible for forty days.",
    )
    yield Leaf("/delivery", partial(page, site, f"Delivery - {site.name}", f"<h1>Delivery</h1>\n{text}"), "2024-01-08")
    yield from common(site)


def _tag(product: Product) -> str:
    return f"{anchor(f'/item/{slug(product.name)}', product.name)} {product.what}, €{product.price}.00"


def _ware(atlas: Atlas, product: Product, site: Site) -> str:
    rng = dice(atlas.graph.seed, "ware", product.key)
    voice, company = Voice(rng), atlas.graph.companies[product.company]
    intro = (
        "The {name} from {maker} [does one thing and does it well|is made to be used daily|needs little room].",
        "{maker} makes this {what} [since|on the market since] {year}.",
    )
    rows = "".join(
        f"<tr><th>{label}</th><td>{value}</td></tr>"
        for label, value in (
            ("Brand", escape(company.name)),
            ("Model year", product.introduced),
            ("Stock", rng.randint(0, 40)),
            ("Item no.", rng.randint(10**5, 10**6)),
        )
    )
    text = expand(rng, intro[0], {"name": escape(product.name), "maker": escape(company.name)})
    reviews = "".join(f"<p>{'★' * rng.randint(2, 5)} {line}</p>\n" for line in voice.some(BUYERS, 2, 4))
    home = atlas.firm(company)
    maker = f"<p>Maker: {anchor(home + '/', company.name)}</p>\n" if home else ""
    main = (
        f'<h1>{escape(product.name)}</h1>\n<p class="price">€{product.price}.00</p>\n<span class="buy">Add to basket</span>\n{paragraph(text)}'
        f'<table class="spec">{rows}</table>\n{maker}<h3>Reviews</h3>\n{reviews}'
    )  # fmt: skip
    return page(
        site,
        f"{product.name} {product.what} | {site.name}",
        main,
        description=f"{product.name} by {company.name}, €{product.price}.00",
    )
