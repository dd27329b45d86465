"""The answers of the emulated web as frozen values; the fields are those of the native API's JSON (docs/api.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SnippetStyle = Literal["short", "long", "passage"]
"""Length of snippets: at most 260 characters, at most 400 in whole sentences (the default), or a hundred words."""
View = Literal["text", "markdown", "html", "links"]
"""Form of a page: readable text, markdown, HTML, or text with numbered links."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One search result."""

    rank: int
    url: str
    title: str
    snippet: str
    date: str
    """YYYY-MM-DD, or empty."""
    score: float
    others: tuple[str, ...] = ()
    """URLs of near-duplicate pages that were left out in favour of this one."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """One page of results."""

    query: str
    page: int
    size: int
    as_of: str | None
    """Date up to which captures were searched; None for the whole crawl."""
    results: tuple[SearchResult, ...]
    """The results in rank order; empty if nothing matched."""
    more: bool
    """True if a next page has at least one result."""
    snapshot: str
    relaxed: tuple[str, ...] = ()
    """Phrases and `+words` of the query that few pages have, so that the last results lack them; empty if none."""
    corrected: tuple[tuple[str, str], ...] = ()
    """Misspelled words of the query, each with the word that was searched for instead; a `+` before a word keeps it."""


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """A window of a page."""

    url: str
    """The requested URL."""
    final_url: str
    """URL at which the redirects ended."""
    redirects: tuple[str, ...]
    """URLs that redirected on the way, in order."""
    status: int
    """HTTP status that the site sent when it was captured."""
    fetched: str
    """Time of the capture, RFC 3339."""
    mime: str
    truncated: str
    """Reason for which the crawl truncated the page, or empty."""
    title: str
    format: str
    start: int
    """First character of the window."""
    length: int
    """Length of the window, in characters."""
    total: int
    """Length of the whole content, in characters."""
    line: int
    """Line at which the window begins, from 0."""
    next: int | None
    """First character of the following window; None at the end."""
    next_line: int | None
    """First line of the following window; None at the end."""
    content: str
    snapshot: str


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """A recorded response."""

    url: str
    status: int
    reason: str
    """Reason phrase as recorded."""
    fetched: str
    """Time of the capture, RFC 3339."""
    encoding: str
    """Content coding that `body` really has, or empty."""
    headers: tuple[tuple[str, str], ...]
    """Recorded headers in order, repeated ones included; bytes as Latin-1."""
    body: bytes
    snapshot: str


@dataclass(frozen=True, slots=True)
class Match:
    """One occurrence of a pattern."""

    start: int
    """Offset in the text view, in characters."""
    line: int
    """Line of the text view, from 0."""
    text: str
    """The match with its surroundings, on one line."""


@dataclass(frozen=True, slots=True)
class FindAnswer:
    """The occurrences of a pattern in a page."""

    url: str
    final_url: str
    pattern: str
    total: int
    """Number of occurrences; `matches` may hold fewer."""
    matches: tuple[Match, ...]
    snapshot: str


@dataclass(frozen=True, slots=True)
class Health:
    """State of the server."""

    status: str
    snapshot: str
