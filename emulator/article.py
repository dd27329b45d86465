"""A MediaWiki page split into the parts that its API returns one by one.

`webemu.index.wiki` reads them out of captured HTML; `webemu.api.wiki` serves them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """The part of an article from one heading to the next; the first section of an article has no heading."""

    level: int
    """Heading level: 2 for `<h2>`; 0 before the first heading."""
    line: str
    """Text of the heading."""
    anchor: str
    """URL fragment of the heading."""
    html: str
    """HTML as captured, including the heading."""
    extract: str
    """Prose as plain HTML, without heading, tables, boxes, notes and links."""
    text: str
    """Prose as text, one line per paragraph and list item."""


@dataclass(frozen=True, slots=True)
class Article:
    """A captured MediaWiki page. Every URL is absolute; a field that the page does not state is empty."""

    display_title: str
    """Title as HTML."""
    canonical_url: str
    """Canonical URL that the page states."""
    namespace: int | None
    """Number of the page's namespace; None if unknown."""
    language: str
    """Language code of the content."""
    direction: str
    """Writing direction: ltr or rtl."""
    description: str
    """Short description, which some wikis hide in the page."""
    site: str
    """Name of the wiki."""
    generator: str
    """`MediaWiki` and its version."""
    is_disambiguation: bool
    """True if the page lists pages that share one name."""
    start_tag: str
    """Start tag of the element that holds the content."""
    sections: tuple[Section, ...]
    """Sections in order; at least one."""
    links: tuple[str, ...]
    """Link targets of the content, without repetitions, in order of appearance."""
    red_links: frozenset[str]
    """Red links: the `links` that the wiki marks as pages that do not exist."""
    images: tuple[str, ...]
    """Pages of the images that the article shows."""
    categories: tuple[str, ...]
    hidden_categories: tuple[str, ...]

    @property
    def html(self) -> str:
        """The content as captured."""
        return self.start_tag + "".join(section.html for section in self.sections) + "</div>"
