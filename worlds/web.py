"""What a web is made of before it is recorded: sites, their leaves (pages to be rendered), and the answers servers gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer."""

    body: bytes
    status: int = 200
    content_type: str = "text/html; charset=UTF-8"
    """The header as the server sends it; empty for none."""
    location: str = ""
    modified: str = ""
    """ISO date for Last-Modified, or empty."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One page of a site, rendered only when it is written."""

    path: str
    render: Callable[[], str]
    modified: str = ""
    """ISO date."""
    language: str = "en"
    charset: str = "utf-8"
    """Encoding of the bytes; declared in the header unless `quiet`."""
    quiet: bool = False
    """The header names no charset: only the page itself does."""
    before: Callable[[], str] | None = None
    """What the page was when first captured, where it changed between two captures."""


@dataclass(frozen=True, slots=True)
class Site:
    """A host with its look and its pages."""

    host: str
    name: str
    kind: str
    tagline: str
    leaves: Callable[[Site], Iterator[Leaf]]
    nav: tuple[tuple[str, str], ...] = ()
    """(path, label) of the main navigation."""
    accent: str = "#2a5d84"
    server: str = "nginx"
    feed: str = ""
    """Path of an RSS feed of the pages last changed, or empty."""
    dead: tuple[str, ...] = ()
    """Paths that pages link to and that answer 404."""
    gone: tuple[str, ...] = ()
    """Paths that answer 410."""
    broken: tuple[tuple[str, int], ...] = ()
    """(path, 5xx)."""
    moved: tuple[tuple[str, str, int], ...] = ()
    """(old path, new path or URL, 301 or 302)."""
    disallow: tuple[str, ...] = ()
    """Path prefixes that robots.txt closes."""
    language: str = "en"

    @property
    def base(self) -> str:
        return f"https://{self.host}"
