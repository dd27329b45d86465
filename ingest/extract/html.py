"""An HTML document becomes readable text, links, and what it declares: one parse with each of two libraries.

Resiliparse gives the text (main content), selectolax everything else, since walking links in Resiliparse is 300 times
slower. Hostile markup is cut, never refused. Not here: decoding bytes (`charset`), other formats (`other`).
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from selectolax.lexbor import LexborHTMLParser

from ingest.extract.declared import declared
from ingest.extract.language import detected
from ingest.extract.links import base_of, links_of
from ingest.extract.text import readable
from ingest.extract.types import Extracted

MAX_CHARACTERS = 4 << 20
MAX_DEPTH = 1000
_DEEP_TAGS = 5000
"""Documents of fewer tags than this parse fast however they are nested."""
_NESTING = re.compile(
    r"<(/?)(?!(?:p|li|dt|dd|option|t[rdh]|tbody|thead|tfoot|html|head|body|br|img|input|meta|link|hr|wbr|area|base|col|source"
    r"|optgroup|colgroup|param|embed|track|r[pt])\b)[a-z]",
    re.IGNORECASE,
)

_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def extract_html(html: str, url: str, fetched: date | None = None) -> Extracted:
    """Extract a decoded document; `fetched` bounds its publication date. Raises nothing."""
    html, cut = bounded(html)
    tree = LexborHTMLParser(html)
    base = base_of(tree, url)
    links, link_characters = links_of(tree, url, base)
    said = declared(tree, html, base, fetched + timedelta(days=1) if fetched else None)
    visible = len(tree.body.text()) if tree.body else 0
    text = readable(html)
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
        link_density=min(1.0, link_characters / visible) if visible else 0.0,
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
    if html.count("<") > _DEEP_TAGS and (end := _too_deep(html)) is not None:
        html, cut = html[:end], "markup-too-deep"
    return html, cut


def _too_deep(html: str) -> int | None:
    depth = 0
    for tag in _NESTING.finditer(html):
        if tag[1]:
            depth = max(0, depth - 1)
        else:
            depth += 1
            if depth > MAX_DEPTH:
                return tag.start()
    return None


def words(text: str) -> int:
    """Words of a text; where words are not spaced, two ideographs count as one."""
    count = len(text.split())
    return count if text.isascii() else count + len(_IDEOGRAPHS.findall(text)) // 2
