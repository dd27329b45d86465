"""Lookup of a title: its captured article, its canonical spelling, and its revisions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from weakref import ref

from webemu.api.wiki.params import Ask
from webemu.api.wiki.titles import capitalized, fault, namespace, page_id, path, revision_id, spelled, title_of
from webemu.emulator import urls
from webemu.emulator.article import Article
from webemu.emulator.errors import NotCaptured, NoView
from webemu.emulator.types import Capture, Page, PageRequest
from webemu.emulator.world import World


@dataclass(frozen=True, slots=True)
class Found:
    """Captured article under its own title, redirects followed."""

    title: str
    page: Page
    article: Article

    @property
    def space(self) -> int:
        """Namespace number, as the page itself says it or by the prefix of its title."""
        return namespace(self.title) if self.article.namespace is None else self.article.namespace


@dataclass(frozen=True, slots=True)
class Revision:
    """State of a page, represented by the first capture that shows it."""

    number: int
    """Revision id."""
    parent: int
    """Id of the revision captured before; 0 if there is none."""
    capture: Capture

    @property
    def moment(self) -> datetime:
        """Time of the capture, UTC."""
        return datetime.fromtimestamp(self.capture.time, UTC)

    @property
    def timestamp(self) -> str:
        """Time of the capture in ISO 8601, as MediaWiki writes it."""
        return f"{self.moment:%Y-%m-%dT%H:%M:%SZ}"


def proper(ask: Ask, title: str) -> str:
    """Return the title in the wiki's own spelling: with a capital, unless a page without one was captured."""
    title = spelled(title)
    upper = capitalized(title)
    if upper == title or fault(title):
        return title
    address = urls.exact(ask.address(title))
    small = any(
        capture.url in (address, address.replace("https:", "http:", 1)) for capture in ask.world.captures(address)
    )
    return title if small else upper


def find(ask: Ask, title: str) -> Found | None:
    """Return the article of a title, redirects followed; None if the title is invalid or was not captured."""
    return None if fault(title) or namespace(title) < -1 else _find(ref(ask.world), ask.host, title, ask.at)


@lru_cache(16)
def _find(held: ref[World], host: str, title: str, at: datetime | None) -> Found | None:
    """Fetch and parse the page; cached, since clients ask for one page several times in a row.

    The cache key holds the world weakly, so that the world can be closed while its pages are cached.
    """
    world = held()
    assert world is not None, "the caller holds it"
    try:
        page = world.fetch(PageRequest(f"https://{host}{path(title)}", "html", at))
    except (NotCaptured, NoView):
        return None
    article = world.article(page) if page.capture.status == 200 and urls.host(page.capture.url) == host else None
    if article is None:
        return None
    # The canonical link of the page tells its title even behind redirects.
    own = title_of(article.canonical, host) or title_of(page.capture.url, host) or title
    return Found(own, page, article)


def number(ask: Ask, title: str) -> int:
    """Return the page id of a title on the wiki that is called."""
    return page_id(ask.host, title)


def revisions(ask: Ask, found: Found) -> list[Revision]:
    """Return the captured states of a page, newest first, none later than the state shown; never empty.

    Consecutive captures with the same digest are one revision.
    """
    made: list[Revision] = []
    now = found.page.capture
    for capture in ask.world.captures(now.url):
        if capture.status == 200 and capture.time <= now.time and capture.url == now.url:
            own = revision_id(ask.host, f"{capture.url} {capture.digest or capture.time}")
            if not made or made[-1].number != own:
                made.append(Revision(own, made[-1].number if made else 0, capture))
    return made[::-1] or [Revision(revision_id(ask.host, f"{now.url} {now.digest or now.time}"), 0, now)]


def as_of(ask: Ask, found: Found, revision: Revision) -> Article | None:
    """Return the article as it stood in a revision; None if that capture holds no article."""
    if revision.capture.time == found.page.capture.time:
        return found.article
    page = ask.world.fetch(PageRequest(revision.capture.url, "html", revision.moment))
    return ask.world.article(page)
