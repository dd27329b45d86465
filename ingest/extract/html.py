"""Extraction from HTML: readable text, links and declared metadata, with one parse.

Hostile markup is cut, never refused. Decoding of bytes is in `webemu.ingest.extract.charset`, the choice of the main
content in `webemu.index.content`.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from selectolax.lexbor import LexborHTMLParser

from webemu.index.content import extract_text
from webemu.index.markup import limit_markup
from webemu.ingest.extract.language import resolve_language
from webemu.ingest.extract.links import collect_links, find_base_url
from webemu.ingest.extract.metadata import read_metadata
from webemu.ingest.extract.types import Extracted

_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def extract_html(html: str, url: str, fetch_date: date | None = None) -> Extracted:
    """Extract a decoded document. Never raises.

    `fetch_date` bounds the publication date: a later one is not believed.

        extract_html("<title>A</title><p>Some text", "http://example.org/").title  # "A"
    """
    html, cut_reason = limit_markup(html)
    tree = LexborHTMLParser(html)
    base = find_base_url(tree, url)
    links, link_characters = collect_links(tree, url, base)
    metadata = read_metadata(tree, html, _day_after(fetch_date))
    text, density = extract_text(tree, link_characters)
    return Extracted(
        title=metadata.title,
        text=text,
        headings=metadata.headings,
        description=metadata.description,
        language=resolve_language(metadata.language, text),
        publish_date=metadata.publish_date,
        links=links,
        is_noindex=metadata.is_noindex,
        word_count=count_words(text),
        link_density=density,
        cut_reason=cut_reason,
    )


def _day_after(day: date | None) -> date | None:
    """Return the next day, the last that a clock ahead of the crawler's can show.

    The calendar itself ends with 9999-12-31.
    """
    return day + timedelta(days=1) if day and day < date.max else day


def count_words(text: str) -> int:
    """Return the number of words in a text. Two ideographs count as one word, as they are written without spaces.

    count_words("two words")  # 2
    """
    count = len(text.split())
    return count if text.isascii() else count + len(_IDEOGRAPHS.findall(text)) // 2
