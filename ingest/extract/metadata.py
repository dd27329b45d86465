"""Metadata that an HTML document declares: title, description, language, publication date, canonical URL, robots.

Takes a parsed tree. Detection of what is not declared (language) is in `webemu.ingest.extract.language`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from webemu.ingest.extract.dates import parse_day
from webemu.ingest.extract.language import iso_639_1
from webemu.ingest.extract.links import join

MAX_TITLE = 1000
"""Longest title kept, in characters."""
MAX_DESCRIPTION = 2000
"""Longest description kept, in characters."""
MAX_HEADINGS = 10_000
"""Longest text of all headings kept, in characters."""
_DATE_METAS = (
    "article:published_time",
    "datepublished",
    "citation_publication_date",
    "citation_date",
    "dc.date.issued",
    "dcterms.issued",
    "dcterms.created",
    "dc.date.created",
    "dc.date",
    "dcterms.date",
    "date.issued",
    "pubdate",
    "publishdate",
    "parsely-pub-date",
    "sailthru.date",
)
"""Lower-case names of meta elements that state a publication date, most reliable first."""
_TIMES = (
    "time[itemprop=datePublished][datetime]",
    "time[pubdate][datetime]",
    "article time[datetime]",
    "header time[datetime]",
)
_MAX_JSON = 200_000
"""Longest JSON-LD script that is parsed, in characters."""


@dataclass(frozen=True, slots=True)
class Declared:
    """Metadata declared by one HTML document. Texts are empty, and the other fields None, if nothing is declared."""

    title: str
    """Text of the title element, else `og:title`, else the first heading."""
    headings: str
    """Texts of h1 to h3, one a line."""
    description: str
    language: str | None
    """ISO 639-1 code."""
    published: date | None
    """Publication date."""
    canonical: str | None
    """Absolute canonical URL without fragment."""
    noindex: bool
    """True if a robots meta element forbids indexing."""


def declared(tree: LexborHTMLParser, html: str, base: str, latest: date | None) -> Declared:
    """Read the metadata of a document; `latest` is the last plausible publication date.

    `base` is the URL that references are relative to. `html` is the source of `tree`, used for quick substring tests.
    """
    metas = _metas(tree)
    headings = [text for node in tree.css("h1,h2,h3") if (text := _folded(node.text()))]
    title = tree.css_first("title")
    return Declared(
        title=(_folded(title.text() if title else "") or _folded(metas.get("og:title", "")) or "".join(headings[:1]))[
            :MAX_TITLE
        ],
        headings="\n".join(headings)[:MAX_HEADINGS],
        description=_folded(metas.get("description") or metas.get("og:description") or "")[:MAX_DESCRIPTION],
        language=_language(tree, metas),
        published=next((day for text in _dates(tree, html, metas) if (day := parse_day(text, latest))), None),
        canonical=_canonical(tree, base),
        noindex=not {"noindex", "none"}.isdisjoint(re.split(r"[\s,;]+", metas.get("robots", "").lower())),
    )


def _folded(text: str) -> str:
    return " ".join(text.split())


def _metas(tree: LexborHTMLParser) -> dict[str, str]:
    """Return the content of meta elements by lower-case name; the first non-empty one wins."""
    found: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        attributes = node.attributes
        name = (
            attributes.get("name")
            or attributes.get("property")
            or attributes.get("itemprop")
            or attributes.get("http-equiv")
        )
        if name and (content := attributes["content"]):
            found.setdefault(name.strip().lower(), content)
    return found


def _language(tree: LexborHTMLParser, metas: dict[str, str]) -> str | None:
    root = tree.root
    attributes = root.attributes if root else {}
    said = attributes.get("lang") or attributes.get("xml:lang")
    return iso_639_1(said) or iso_639_1(metas.get("content-language")) or iso_639_1(metas.get("og:locale"))


def _canonical(tree: LexborHTMLParser, base: str) -> str | None:
    node = tree.css_first("link[rel=canonical][href]")
    href = (node.attributes["href"] or "").strip() if node else ""
    return join(base, href).partition("#")[0] or None if href else None


def _dates(tree: LexborHTMLParser, html: str, metas: dict[str, str]) -> Iterator[str]:
    """Yield the declared publication dates as texts, most explicit first."""
    if said := metas.get(_DATE_METAS[0]):
        yield said
    if "datePublished" in html:
        yield from _linked_data(tree)
    for name in _DATE_METAS[1:]:
        if said := metas.get(name):
            yield said
    if "<time" in html:
        for selector in _TIMES:
            if node := tree.css_first(selector):
                yield node.attributes["datetime"] or ""


def _linked_data(tree: LexborHTMLParser) -> Iterator[str]:
    """Yield each datePublished of JSON-LD, the outermost first: inner ones belong to comments and related articles."""
    for node in tree.css('script[type="application/ld+json"]'):
        source = node.text()
        if "datePublished" not in source or len(source) > _MAX_JSON:
            continue
        try:
            level: list[Any] = [json.loads(source, strict=False)]
        except (ValueError, RecursionError):
            continue
        while level:
            for one in level:
                if isinstance(one, dict) and isinstance(said := one.get("datePublished"), str):
                    yield said
            level = [inner for one in level for inner in _inside(one)]


def _inside(one: Any) -> list[Any]:
    """Return the children of a JSON value."""
    if isinstance(one, dict):
        return list(one.values())
    return one if isinstance(one, list) else []
