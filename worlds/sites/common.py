"""Pages that many sites have: about, contact and privacy, and lists that run over several pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from html import escape

from webemu.worlds.names import SYLLABLE_SETS, invent_family_name
from webemu.worlds.prose import SentencePicker, render_paragraph
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.templates import render_list, render_page, render_pager
from webemu.worlds.web import Site, SitePage

ABOUT_SENTENCES = (
    "{name} has been online since {year}.", "The site is run by [two people and a cat|a small team|volunteers|three friends who met at school] and paid for by [its readers|a few sponsors|those who run it].",
    "It began as [a newsletter|a notebook|a list pinned to a door] and moved to the web in {year}.", "We correct mistakes as soon as somebody tells us about them.",
    "What you read here was written by people who know the place.", "We sell no addresses and show no pop-ups.", "The look was last changed in {later}, [to some complaints|and nobody noticed].",
    "Contributions are welcome; please write first.",
)  # fmt: skip
PRIVACY_SENTENCES = (
    "The server keeps a log of visits for [seven|fourteen|thirty] days.", "We set [no cookies|one cookie, which remembers the size of letters].", "Messages you send us are kept until they are answered.",
    "You can ask at any time what is stored about you.", "There are no trackers of other firms on these pages.", "Complaints go to the data protection office of the region.",
)  # fmt: skip


def list_common_pages(site: Site) -> Iterator[SitePage]:
    """Yield `/about`, `/contact` and `/privacy`."""
    yield SitePage("/about", partial(_render_about, site), "2023-02-11")
    yield SitePage("/contact", partial(_render_contact, site), "2023-02-11")
    yield SitePage("/privacy", partial(_render_privacy, site), "2022-05-25")


def _render_about(site: Site) -> str:
    picker = SentencePicker(seeded_rng("about", site.host))
    year = picker.rng.randint(1998, 2015)
    sentences = picker.pick_several(
        ABOUT_SENTENCES, 4, 6, name=escape(site.name), year=year, later=picker.rng.randint(2016, 2023)
    )
    return render_page(
        site,
        f"About {site.name}",
        "<h1>About us</h1>\n"
        + render_paragraph(escape(site.tagline) + ".", *sentences[:3])
        + render_paragraph(*sentences[3:]),
    )


def _render_contact(site: Site) -> str:
    rng = seeded_rng("contact", site.host)
    syllables = rng.choice(SYLLABLE_SETS)
    person = f"{rng.choice(syllables.female_names)} {invent_family_name(rng, syllables)}"
    domain = site.host.removeprefix("www.")
    content = (
        f"<h1>Contact</h1>\n<p>Write to {escape(person)}, office {rng.randint(1, 40)}, or call 0{rng.randint(200, 899)} {rng.randint(10000, 99999)} "
        f"(Mon–Fri, 9–{rng.randint(12, 17)}).</p>\n<p>Mail: office (at) {domain}</p>\n<p>We answer within {rng.randint(2, 6)} working days.</p>\n"
    )  # fmt: skip
    return render_page(site, f"Contact - {site.name}", content)


def _render_privacy(site: Site) -> str:
    picker = SentencePicker(seeded_rng("privacy", site.host))
    return render_page(
        site,
        f"Privacy - {site.name}",
        "<h1>Privacy</h1>\n" + render_paragraph(*picker.pick_several(PRIVACY_SENTENCES, 3, 5)),
    )


def list_paged(
    site: Site,
    path: str,
    title: str,
    items: Sequence[Callable[[], str]],
    size: int = 20,
    modified: str = "2024-11-28",
    intro: str = "",
) -> Iterator[SitePage]:
    """Yield a list over as many pages as it needs, `size` entries each.

    `items` render one entry each, as HTML; `intro`, HTML too, stands on the first page only.
    """
    pages = max(1, -(-len(items) // size))
    for n in range(1, pages + 1):
        page_items = items[(n - 1) * size : n * size]
        page_path = path if n == 1 else f"{path}?page={n}"
        yield SitePage(page_path, partial(_render_list_page, site, path, title, page_items, n, pages, intro), modified)


def _render_list_page(
    site: Site, path: str, title: str, page_items: Sequence[Callable[[], str]], n: int, pages: int, intro: str
) -> str:
    content = f"<h1>{escape(title)}</h1>\n" + (render_paragraph(intro) if n == 1 and intro else "")
    content += render_list(item() for item in page_items) + render_pager(path, n, pages)
    return render_page(site, f"{title}{f' (page {n})' if n > 1 else ''} - {site.name}", content)
