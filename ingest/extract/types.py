"""Result types of extraction. They hold values only; the extractors are beside this module."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

Link = tuple[str, str, str]
"""Link as (absolute target URL without fragment, anchor text, rel)."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """Readable content of one document and the metadata it declares."""

    title: str
    text: str
    headings: str = ""
    """Texts of h1 to h3, one a line."""
    description: str = ""
    language: str | None = None
    """ISO 639-1 code, as declared; detected if nothing is declared and the detector is sure."""
    publish_date: date | None = None
    """Publication date, only as the document declares it."""
    links: list[Link] = field(default_factory=list)
    is_noindex: bool = False
    """True if the document asks not to be indexed, or is a sitemap."""
    word_count: int = 0
    """Number of words in the text."""
    link_density: float = 0.0
    """Share of the visible characters that are link text, 0 to 1."""
    cut_reason: str | None = None
    """Reason why only the first part was read: `text-too-large`, `markup-too-deep`, `tag-too-large`, `pdf-too-long`.

    None if the whole document was read.
    """
