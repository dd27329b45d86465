"""Value types of an invented web before it is recorded: sites, pages to be rendered, and HTTP responses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One HTTP response."""

    body: bytes
    """Bytes of the body, without content coding."""
    status: int = 200
    content_type: str = "text/html; charset=UTF-8"
    """Content-Type header as the server sends it; empty for none."""
    location: str = ""
    """Location header; empty for none."""
    last_modified: str = ""
    """ISO date for the Last-Modified header; empty for none."""


@dataclass(frozen=True, slots=True)
class SitePage:
    """One page of a site, rendered only when it is written."""

    path: str
    """Path and query below the site's base URL."""
    render: Callable[[], str]
    """Callable that returns the whole HTML document."""
    last_modified: str = ""
    """ISO date of the last change; empty for unknown."""
    language: str = "en"
    """ISO 639-1 code of the text."""
    charset: str = "utf-8"
    """Encoding of the bytes; declared in the header unless `omits_charset`."""
    omits_charset: bool = False
    """True if the header names no charset and only the page itself declares it."""
    render_before: Callable[[], str] | None = None
    """Callable that renders the page as it was at its first capture, if it changed between two captures."""


@dataclass(frozen=True, slots=True)
class Site:
    """A host with its look, its pages, and the paths that answer with something else than a page."""

    host: str
    name: str
    kind: str
    """Layout of the pages: a key of `templates.LAYOUTS`."""
    tagline: str
    list_pages: Callable[[Site], Iterator[SitePage]]
    """Callable that yields the pages of the site it is given."""
    nav: tuple[tuple[str, str], ...] = ()
    """Main navigation as (path, label) pairs."""
    accent: str = "#2a5d84"
    """CSS colour of the layout."""
    server: str = "nginx"
    """Server header; it also decides some details of the responses, such as redirect targets."""
    feed_path: str = ""
    """Path of an RSS feed of the pages changed last; empty for none."""
    not_found_paths: tuple[str, ...] = ()
    """Paths that pages link to and that answer 404."""
    gone_paths: tuple[str, ...] = ()
    """Paths that answer 410."""
    failing_paths: tuple[tuple[str, int], ...] = ()
    """Paths that fail, as (path, status 5xx) pairs."""
    redirects: tuple[tuple[str, str, int], ...] = ()
    """Redirects, as (old path, new path or URL, status 301 or 302)."""
    disallowed_prefixes: tuple[str, ...] = ()
    """Path prefixes that robots.txt disallows."""
    language: str = "en"

    @property
    def base_url(self) -> str:
        """Base URL of the site, without a slash at the end."""
        return f"https://{self.host}"
