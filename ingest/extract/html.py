"""An HTML document becomes readable text, links, and what it declares: one parse with each of two libraries.

Resiliparse gives the text (main content), selectolax everything else, since walking links in Resiliparse is 300 times
slower. Hostile markup is cut, never refused. Not here: decoding bytes (`charset`), other formats (`other`).
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import accumulate
from operator import sub

from selectolax.lexbor import LexborHTMLParser

from ingest.extract.declared import declared
from ingest.extract.language import detected
from ingest.extract.links import base_of, links_of
from ingest.extract.text import readable
from ingest.extract.types import Extracted

MAX_CHARACTERS = 4 << 20
MAX_DEPTH = 1000
_MANY_TAGS, _MANY_OPEN = 20_000, 4000
"""Documents of fewer tags, or fewer without an end, parse in bearable time however they are nested."""
_TAG = re.compile(r"</?[a-zA-Z]{1,12}")
_FLAT = frozenset(
    "p li dt dd option optgroup tr td th tbody thead tfoot colgroup rp rt html head body "
    "br img input meta link hr wbr area base col source param embed track".split()
)
"""Elements that need no end tag: an open one does not make what follows deeper."""


class _Steps(dict[str, int]):
    """How much deeper a tag leads: 1, 0 or -1."""

    def __missing__(self, tag: str) -> int:
        end = tag.startswith("</")
        step = 0 if tag.lower().strip("</") in _FLAT else -1 if end else 1
        if len(self) < 1000:
            self[tag] = step
        return step


_STEPS = _Steps()
_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def extract_html(html: str, url: str, fetched: date | None = None) -> Extracted:
    """Extract a decoded document; `fetched` bounds its publication date. Raises nothing."""
    html, cut = bounded(html)
    tree = LexborHTMLParser(html)
    base = base_of(tree, url)
    links, link_characters = links_of(tree, url, base)
    said = declared(tree, html, base, fetched + timedelta(days=1) if fetched else None)
    text, density = readable(tree, link_characters)
    return Extracted(
        title=said.title,
        text=text,
        headings=said.headings,
        description=said.description,
        language=said.language or detected(text),
        published=said.published,
        links=links,
        canonical=said.canonical,
        noindex=said.noindex,
        words=words(text),
        link_density=density,
        cut=cut,
    )


def bounded(html: str) -> tuple[str, str | None]:
    """The document without NULs and lone surrogates, cut where it grows too long or too deep; and why it was cut."""
    cut = None
    if len(html) > MAX_CHARACTERS:
        html, cut = html[:MAX_CHARACTERS], "text-too-large"
    if "\0" in html:
        html = html.replace("\0", "")
    try:
        html.encode()
    except UnicodeEncodeError:
        html = html.encode("utf-8", "replace").decode()
    tags = html.count("<")
    if (tags > _MANY_TAGS or tags - 2 * html.count("</") > _MANY_OPEN) and (end := _too_deep(html)) is not None:
        html, cut = html[:end], "markup-too-deep"
    return html, cut


def _too_deep(html: str) -> int | None:
    """Where elements are nested deeper than MAX_DEPTH, None if nowhere. End tags of what is not open do not count."""
    depths = list(accumulate(map(_STEPS.__getitem__, _TAG.findall(html))))
    if max(map(sub, depths, accumulate(depths, min))) <= MAX_DEPTH:
        return None
    lowest = accumulate(depths, min)
    found = zip(_TAG.finditer(html), depths, lowest, strict=True)
    return next(tag.start() for tag, depth, low in found if depth - low > MAX_DEPTH)


def words(text: str) -> int:
    """Words of a text; where words are not spaced, two ideographs count as one."""
    count = len(text.split())
    return count if text.isascii() else count + len(_IDEOGRAPHS.findall(text)) // 2
