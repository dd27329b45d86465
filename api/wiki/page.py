"""Lookup of a title: its captured article, its canonical spelling, and its revisions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from weakref import ref

from webemu.api.wiki.params import WikiCall
from webemu.api.wiki.titles import (
    capitalize_title,
    namespace_of,
    normalize_title,
    page_id,
    revision_id,
    title_error,
    title_of,
    title_path,
)
from webemu.emulator import urls
from webemu.emulator.article import Article
from webemu.emulator.errors import NotCaptured, ViewUnavailable
from webemu.emulator.types import Capture, Page, PageRequest
from webemu.emulator.world import World


@dataclass(frozen=True, slots=True)
class WikiPage:
    """Captured article under its own title, redirects followed."""

    title: str
    source: Page
    article: Article

    @property
    def namespace(self) -> int:
        """Namespace number, as the page itself says it or by the prefix of its title."""
        return namespace_of(self.title) if self.article.namespace is None else self.article.namespace


@dataclass(frozen=True, slots=True)
class Revision:
    """State of a page, represented by the first capture that shows it."""

    number: int
    """Revision id."""
    parent: int
    """Id of the revision captured before; 0 if there is none."""
    capture: Capture

    @property
    def captured_at(self) -> datetime:
        """Time of the capture, UTC."""
        return datetime.fromtimestamp(self.capture.time, UTC)

    @property
    def timestamp(self) -> str:
        """Time of the capture in ISO 8601, as MediaWiki writes it."""
        return f"{self.captured_at:%Y-%m-%dT%H:%M:%SZ}"


def canonical_title(call: WikiCall, title: str) -> str:
    """Return the title in the wiki's own spelling: with a capital, unless a page without one was captured."""
    title = normalize_title(title)
    capitalized_title = capitalize_title(title)
    if capitalized_title == title or title_error(title):
        return title
    page_url = urls.normalize(call.page_url(title))
    is_lowercase_captured = any(
        capture.url in (page_url, page_url.replace("https:", "http:", 1)) for capture in call.world.captures(page_url)
    )
    return title if is_lowercase_captured else capitalized_title


def find_page(call: WikiCall, title: str) -> WikiPage | None:
    """Return the article of a title, redirects followed; None if the title is invalid or was not captured."""
    return (
        None
        if title_error(title) or namespace_of(title) < -1
        else _fetch_page(ref(call.world), call.host, title, call.at_time)
    )


@lru_cache(16)
def _fetch_page(world_ref: ref[World], host: str, title: str, at_time: datetime | None) -> WikiPage | None:
    """Fetch and parse the page; cached, since clients ask for one page several times in a row.

    The cache key holds the world weakly, so that the world can be closed while its pages are cached.
    """
    world = world_ref()
    assert world is not None, "the caller holds it"
    try:
        page = world.fetch(PageRequest(f"https://{host}{title_path(title)}", "html", at_time))
    except (NotCaptured, ViewUnavailable):
        return None
    article = world.article(page) if page.capture.status == 200 and urls.host_of(page.capture.url) == host else None
    if article is None:
        return None
    # The canonical link of the page tells its title even behind redirects.
    canonical = title_of(article.canonical_url, host) or title_of(page.capture.url, host) or title
    return WikiPage(canonical, page, article)


def page_id_of(call: WikiCall, title: str) -> int:
    """Return the page id of a title on the wiki that is called."""
    return page_id(call.host, title)


def list_revisions(call: WikiCall, page: WikiPage) -> list[Revision]:
    """Return the captured states of a page, newest first, none later than the state shown; never empty.

    Consecutive captures with the same digest are one revision.
    """
    oldest_first: list[Revision] = []
    current_capture = page.source.capture
    for capture in call.world.captures(current_capture.url):
        if capture.status == 200 and capture.time <= current_capture.time and capture.url == current_capture.url:
            revision_number = revision_id(call.host, f"{capture.url} {capture.digest or capture.time}")
            if not oldest_first or oldest_first[-1].number != revision_number:
                oldest_first.append(Revision(revision_number, oldest_first[-1].number if oldest_first else 0, capture))
    return oldest_first[::-1] or [
        Revision(
            revision_id(call.host, f"{current_capture.url} {current_capture.digest or current_capture.time}"),
            0,
            current_capture,
        )
    ]


def article_at(call: WikiCall, current: WikiPage, revision: Revision) -> Article | None:
    """Return the article as it stood in a revision; None if that capture holds no article."""
    if revision.capture.time == current.source.capture.time:
        return current.article
    fetched_page = call.world.fetch(PageRequest(revision.capture.url, "html", revision.captured_at))
    return call.world.article(fetched_page)
