"""Extraction from HTML: readable text, links and declared metadata, with one parse.

Hostile markup is cut, never refused. Decoding of bytes is in `webemu.ingest.extract.charset`, the choice of the main content
in `webemu.index.content`.
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
    """Extract a decoded document. Never raises.

    `fetch_date` bounds the publication date: a later one is not believed.

        extract_html("<title>A</title><p>Some text", "http://example.org/").title  # "A"
    """
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
    """Return the next day, the last that a clock ahead of the crawler's can show.

    The calendar itself ends with 9999-12-31.
    """
    return day + timedelta(days=1) if day and day < date.max else day


def words(text: str) -> int:
    """Return the number of words in a text. Two ideographs count as one word, as they are written without spaces.

    count_words("two words")  # 2
    """
    count = len(text.split())
    return count if text.isascii() else count + len(_IDEOGRAPHS.findall(text)) // 2
