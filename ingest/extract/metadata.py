"""Metadata that an HTML document declares: title, description, language, publication date, canonical URL, robots.

Takes a parsed tree. Detection of what is not declared (language) is in `webemu.ingest.extract.language`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from selectolax.lexbor import LexborHTMLParser

from webemu.ingest.extract.dates import parse_day
from webemu.ingest.extract.language import iso_639_1

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
_TIME_SELECTORS = (
    "time[itemprop=datePublished][datetime]",
    "time[pubdate][datetime]",
    "article time[datetime]",
    "header time[datetime]",
)
_MAX_JSON = 200_000
"""Longest JSON-LD script that is parsed, in characters."""


@dataclass(frozen=True, slots=True)
class PageMetadata:
    """Metadata declared by one HTML document. Texts are empty, and the other fields None, if nothing is declared."""

    title: str
    """Text of the title element, else `og:title`, else the first heading."""
    headings: str
    """Texts of h1 to h3, one a line."""
    description: str
    language: str | None
    """ISO 639-1 code."""
    publish_date: date | None
    """Publication date."""
    is_noindex: bool
    """True if a robots meta element forbids indexing."""


def read_metadata(tree: LexborHTMLParser, html: str, latest: date | None) -> PageMetadata:
    """Read the metadata of a document; `latest` is the last plausible publication date.

    `html` is the source of `tree`, used for quick substring tests.
    """
    metas = _read_metas(tree)
    headings = [text for node in tree.css("h1,h2,h3") if (text := _fold_blanks(node.text()))]
    title = tree.css_first("title")
    return PageMetadata(
        title=(
            _fold_blanks(title.text() if title else "")
            or _fold_blanks(metas.get("og:title", ""))
            or "".join(headings[:1])
        )[:MAX_TITLE],
        headings="\n".join(headings)[:MAX_HEADINGS],
        description=_fold_blanks(metas.get("description") or metas.get("og:description") or "")[:MAX_DESCRIPTION],
        language=_read_language(tree, metas),
        publish_date=next((day for text in _iter_dates(tree, html, metas) if (day := parse_day(text, latest))), None),
        is_noindex=not {"noindex", "none"}.isdisjoint(re.split(r"[\s,;]+", metas.get("robots", "").lower())),
    )


def _fold_blanks(text: str) -> str:
    return " ".join(text.split())


def _read_metas(tree: LexborHTMLParser) -> dict[str, str]:
    """Return the content of meta elements by lower-case name; the first non-empty one wins."""
    contents: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        attributes = node.attributes
        name = (
            attributes.get("name")
            or attributes.get("property")
            or attributes.get("itemprop")
            or attributes.get("http-equiv")
        )
        if name and (content := attributes["content"]):
            contents.setdefault(name.strip().lower(), content)
    return contents


def _read_language(tree: LexborHTMLParser, metas: dict[str, str]) -> str | None:
    root = tree.root
    attributes = root.attributes if root else {}
    lang = attributes.get("lang") or attributes.get("xml:lang")
    return iso_639_1(lang) or iso_639_1(metas.get("content-language")) or iso_639_1(metas.get("og:locale"))


def _iter_dates(tree: LexborHTMLParser, html: str, metas: dict[str, str]) -> Iterator[str]:
    """Yield the declared publication dates as texts, most explicit first."""
    if text := metas.get(_DATE_METAS[0]):
        yield text
    if "datePublished" in html:
        yield from _iter_json_ld_dates(tree)
    for name in _DATE_METAS[1:]:
        if text := metas.get(name):
            yield text
    if "<time" in html:
        for selector in _TIME_SELECTORS:
            if node := tree.css_first(selector):
                yield node.attributes["datetime"] or ""


def _iter_json_ld_dates(tree: LexborHTMLParser) -> Iterator[str]:
    """Yield each datePublished of JSON-LD, the outermost first: inner ones belong to comments and related articles."""
    for node in tree.css('script[type="application/ld+json"]'):
        source = node.text()
        if "datePublished" not in source or len(source) > _MAX_JSON:
            continue
        try:
            level: list[object] = [json.loads(source, strict=False)]
        except (ValueError, RecursionError):
            continue
        while level:
            for node_value in level:
                if isinstance(node_value, dict) and isinstance(text := node_value.get("datePublished"), str):
                    yield text
            level = [inner for node_value in level for inner in _list_children(node_value)]


def _list_children(json_value: object) -> list[object]:
    """Return the children of a JSON value."""
    if isinstance(json_value, dict):
        return list(json_value.values())
    return json_value if isinstance(json_value, list) else []
