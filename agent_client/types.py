"""What the emulated web answers, as frozen values; the fields are those of the native API's JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

View = Literal["text", "markdown", "html", "links"]
"""How a page is wanted: readable text, markdown, HTML, or text with numbered links."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    rank: int
    url: str
    title: str
    snippet: str
    date: str
    """YYYY-MM-DD, or empty."""
    score: float
    others: tuple[str, ...] = ()
    """URLs of pages that say the same and were left out for it."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    query: str
    page: int
    size: int
    as_of: str | None
    results: tuple[SearchResult, ...]
    """Empty where nothing was found."""
    more: bool
    """Whether a next page holds at least one result."""
    snapshot: str


@dataclass(frozen=True, slots=True)
class PageAnswer:
    url: str
    """As asked for."""
    final_url: str
    """Where the redirects ended."""
    redirects: tuple[str, ...]
    status: int
    """As the site answered when it was captured."""
    fetched: str
    """When it was captured, RFC 3339."""
    mime: str
    truncated: str
    """The crawl's own reason, or empty."""
    title: str
    format: str
    start: int
    length: int
    total: int
    """Characters of the whole content."""
    line: int
    """0-based line at which the window begins."""
    next: int | None
    """Where the following window begins, in characters; None at the end."""
    next_line: int | None
    content: str
    snapshot: str


@dataclass(frozen=True, slots=True)
class RawAnswer:
    url: str
    status: int
    reason: str
    """Reason phrase as recorded."""
    fetched: str
    encoding: str
    """Content coding `body` really carries, or empty."""
    headers: tuple[tuple[str, str], ...]
    """Recorded headers in order, repeated ones kept; bytes as Latin-1."""
    body: bytes
    snapshot: str


@dataclass(frozen=True, slots=True)
class Match:
    start: int
    """Offset in characters into the text view."""
    line: int
    text: str
    """The match with what surrounds it, on one line."""


@dataclass(frozen=True, slots=True)
class FindAnswer:
    url: str
    final_url: str
    pattern: str
    total: int
    """How often the pattern occurs; `matches` may hold fewer."""
    matches: tuple[Match, ...]
    snapshot: str


@dataclass(frozen=True, slots=True)
class Health:
    status: str
    snapshot: str
