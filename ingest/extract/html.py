"""An HTML document becomes readable text, links, and what it declares: one parse with each of two libraries.

Resiliparse gives the text (main content), selectolax everything else, since walking links in Resiliparse is 300 times
slower. Hostile markup is cut, never refused. Not here: decoding bytes (`charset`), other formats (`other`).
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from selectolax.lexbor import LexborHTMLParser

from webemu.index.content import readable
from webemu.index.markup import bounded
from webemu.ingest.extract.language import spoken
from webemu.ingest.extract.links import base_of, links_of
from webemu.ingest.extract.metadata import declared
from webemu.ingest.extract.types import Extracted

_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def extract_html(html: str, url: str, fetched: date | None = None) -> Extracted:
    """Extract a decoded document; `fetched` bounds its publication date. Raises nothing."""
    html, cut = bounded(html)
    tree = LexborHTMLParser(html)
    base = base_of(tree, url)
    links, link_characters = links_of(tree, url, base)
    said = declared(tree, html, base, _day_after(fetched))
    text, density = readable(tree, link_characters)
    return Extracted(
        title=said.title,
        text=text,
        headings=said.headings,
        description=said.description,
        language=spoken(said.language, text),
        published=said.published,
        links=links,
        canonical=said.canonical,
        noindex=said.noindex,
        words=words(text),
        link_density=density,
        cut=cut,
    )


def _day_after(day: date | None) -> date | None:
    """Return the next day, the last that a clock ahead of ours can show; the calendar itself ends with 9999-12-31."""
    return day + timedelta(days=1) if day and day < date.max else day


def words(text: str) -> int:
    """Words of a text; where words are not spaced, two ideographs count as one."""
    count = len(text.split())
    return count if text.isascii() else count + len(_IDEOGRAPHS.findall(text)) // 2
