"""Pages that many sites have: about, contact and privacy, and lists that run over several pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from html import escape

from webemu.worlds.names import TONGUES, family
from webemu.worlds.prose import Voice, paragraph
from webemu.worlds.seeded_random import dice
from webemu.worlds.templates import bullets, page, pager
from webemu.worlds.web import Leaf, Site

ABOUT = (
    "{name} has been online since {year}.", "The site is run by [two people and a cat|a small team|volunteers|three friends who met at school] and paid for by [its readers|a few sponsors|those who run it].",
    "It began as [a newsletter|a notebook|a list pinned to a door] and moved to the web in {year}.", "We correct mistakes as soon as somebody tells us about them.",
    "What you read here was written by people who know the place.", "We sell no addresses and show no pop-ups.", "The look was last changed in {later}, [to some complaints|and nobody noticed].",
    "Contributions are welcome; please write first.",
)  # fmt: skip
PRIVACY = (
    "The server keeps a log of visits for [seven|fourteen|thirty] days.", "We set [no cookies|one cookie, which remembers the size of letters].", "Messages you send us are kept until they are answered.",
    "You can ask at any time what is stored about you.", "There are no trackers of other firms on these pages.", "Complaints go to the data protection office of the region.",
)  # fmt: skip


def common(site: Site) -> Iterator[Leaf]:
    """Yield `/about`, `/contact` and `/privacy`."""
    yield Leaf("/about", partial(_about, site), "2023-02-11")
    yield Leaf("/contact", partial(_contact, site), "2023-02-11")
    yield Leaf("/privacy", partial(_privacy, site), "2022-05-25")


def _about(site: Site) -> str:
    voice = Voice(dice("about", site.host))
    year = voice.rng.randint(1998, 2015)
    sentences = voice.some(ABOUT, 4, 6, name=escape(site.name), year=year, later=voice.rng.randint(2016, 2023))
    return page(
        site,
        f"About {site.name}",
        "<h1>About us</h1>\n" + paragraph(escape(site.tagline) + ".", *sentences[:3]) + paragraph(*sentences[3:]),
    )


def _contact(site: Site) -> str:
    rng = dice("contact", site.host)
    tongue = rng.choice(TONGUES)
    person = f"{rng.choice(tongue.women)} {family(rng, tongue)}"
    domain = site.host.removeprefix("www.")
    main = (
        f"<h1>Contact</h1>\n<p>Write to {escape(person)}, office {rng.randint(1, 40)}, or call 0{rng.randint(200, 899)} {rng.randint(10000, 99999)} "
        f"(Mon–Fri, 9–{rng.randint(12, 17)}).</p>\n<p>Mail: office (at) {domain}</p>\n<p>We answer within {rng.randint(2, 6)} working days.</p>\n"
    )  # fmt: skip
    return page(site, f"Contact - {site.name}", main)


def _privacy(site: Site) -> str:
    voice = Voice(dice("privacy", site.host))
    return page(site, f"Privacy - {site.name}", "<h1>Privacy</h1>\n" + paragraph(*voice.some(PRIVACY, 3, 5)))


def paged(
    site: Site,
    path: str,
    title: str,
    items: Sequence[Callable[[], str]],
    size: int = 20,
    modified: str = "2024-11-28",
    intro: str = "",
) -> Iterator[Leaf]:
    """Yield a list over as many pages as it needs, `size` entries each.

    `items` render one entry each, as HTML; `intro`, HTML too, stands on the first page only.
    """
    pages = max(1, -(-len(items) // size))
    for n in range(1, pages + 1):
        part = items[(n - 1) * size : n * size]
        where = path if n == 1 else f"{path}?page={n}"
        yield Leaf(where, partial(_list_page, site, path, title, part, n, pages, intro), modified)


def _list_page(
    site: Site, path: str, title: str, part: Sequence[Callable[[], str]], n: int, pages: int, intro: str
) -> str:
    main = f"<h1>{escape(title)}</h1>\n" + (paragraph(intro) if n == 1 and intro else "")
    main += bullets(item() for item in part) + pager(path, n, pages)
    return page(site, f"{title}{f' (page {n})' if n > 1 else ''} - {site.name}", main)
