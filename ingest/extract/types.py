"""What extraction finds in one document. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

Link = tuple[str, str, str]
"""(absolute target URL without fragment, anchor text, rel)."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The readable content of one document and what it declares about itself."""

    title: str
    text: str
    headings: str = ""
    """h1 to h3, one a line."""
    description: str = ""
    language: str | None = None
    """ISO 639-1, as declared; detected where nothing is declared and the detector is sure."""
    published: date | None = None
    """Only as declared by the document."""
    links: list[Link] = field(default_factory=list)
    canonical: str | None = None
    noindex: bool = False
    words: int = 0
    link_density: float = 0.0
    """Share of the visible characters that are link text, 0 to 1."""
    cut: str | None = None
    """Why only the first part was read: `text-too-large`, `markup-too-deep`, `tag-too-large`, `pdf-too-long`.

    None if all was."""
