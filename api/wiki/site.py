"""Detection of wikis among the crawl's hosts, and the titles captured of each.

Both are computed once per world and host, then cached. The caches hold worlds weakly, so that they keep no snapshot
open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from weakref import ref

from webemu.api.wiki.titles import WIKI_PATH, namespace_of, page_id, title_of, title_path
from webemu.emulator import urls
from webemu.emulator.errors import EmulatorError, PayloadError, ViewUnavailable
from webemu.emulator.types import Capture, PageRequest
from webemu.emulator.world import World

SAMPLE_PAGES = 5
"""Pages examined to decide whether a host runs MediaWiki; every page of a wiki bears its marks, so a few suffice."""
MAX_TITLES = 200_000
"""Titles listed for one wiki. Pages beyond it cannot be asked for by number, nor come up at random."""
MAX_COMPLETIONS = 1000
"""Captured titles examined for one completion."""
_HTML = ("text/html", "application/xhtml+xml")
_MAX_CHARACTER = "\U0010ffff"
_WIKIPEDIA = re.compile(r"[a-z]{2,3}(-[a-z]+)?\.wikipedia\.org")


@dataclass(frozen=True, slots=True)
class WikiTitles:
    """Titles captured of a wiki, redirects left out."""

    articles: tuple[str, ...]
    """Titles in the main namespace, sorted."""
    title_by_id: dict[int, str]
    """Every title by its page id."""


def is_wikipedia(host: str) -> bool:
    """True if the host is a Wikipedia edition; those exist even if nothing of them was captured."""
    return _WIKIPEDIA.fullmatch(host) is not None


def is_wiki(world: World, host: str) -> bool:
    """True if the host runs MediaWiki, judged by its captured pages.

    A Wikipedia of which nothing was captured counts as a wiki without articles. Raises PayloadError if none of the
    sampled pages can be read.
    """
    return _detect_mediawiki(ref(world.shared_base), host) if world.knows_host(host) else is_wikipedia(host)


@lru_cache(4096)
def _detect_mediawiki(world_ref: ref[World], host: str) -> bool:
    """Examine a few captured pages for MediaWiki's marks. The cache key holds the world weakly, so that it can be
    closed.
    """
    # An unreadable page proves nothing, so the error is raised only if no sample decides.
    failure: EmulatorError | None = None
    world = _dereference(world_ref)
    for capture in islice(_captured_pages(world, host, ""), SAMPLE_PAGES):
        try:
            page = world.fetch(PageRequest(capture.url, "html"))
            if world.article(page) is not None:
                return True
        except ViewUnavailable:
            continue
        except PayloadError as error:
            failure = error
    if failure is not None:
        raise failure
    return False


def list_titles(world: World, host: str) -> WikiTitles:
    """Return every captured title of the host, redirects left out."""
    return _list_titles(ref(world.shared_base), host)


@lru_cache(8)
def _list_titles(world_ref: ref[World], host: str) -> WikiTitles:
    page_titles = islice(_page_titles(_captured_pages(_dereference(world_ref), host, ""), host), MAX_TITLES)
    ordered = sorted(dict.fromkeys(page_titles))
    articles = tuple(title for title in ordered if namespace_of(title) == 0)
    return WikiTitles(articles, {page_id(host, title): title for title in ordered})


def complete_titles(world: World, host: str, prefix: str, namespaces: frozenset[int], limit: int) -> list[str]:
    """Return up to `limit` captured titles that begin with the prefix in any letter case, the shortest first."""
    page_titles = islice(_page_titles(_captured_pages(world, host, prefix), host), MAX_COMPLETIONS)
    folded_prefix = prefix.casefold()
    matching = {
        title
        for title in page_titles
        if title.casefold().startswith(folded_prefix) and namespace_of(title) in namespaces
    }
    return sorted(matching, key=lambda title: (len(title), title))[:limit]


def _captured_pages(world: World, host: str, prefix: str) -> Iterator[Capture]:
    """Yield the latest good capture of each page of the host whose title begins with the prefix, as SURT keys spell
    it.
    """
    first = (
        urls.surt_key(f"http://{host}/")
        + WIKI_PATH[1:]
        + urls.surt_key(f"http://{host}{title_path(prefix)}").partition(WIKI_PATH)[2]
    )
    for _, captures in world.listing(first, first + _MAX_CHARACTER):
        for url in dict.fromkeys(capture.url for capture in captures):
            # A key collapses case and scheme; titles are case-sensitive, so URLs are compared exactly.
            good = [one for one in captures if one.url == url and one.status == 200 and one.mime in _HTML]
            if good and urls.host_of(url) == host:
                yield good[-1]


def _page_titles(pages: Iterator[Capture], host: str) -> Iterator[str]:
    """Yield the titles of captured pages, skipping pages that have none."""
    return (title for page in pages if (title := title_of(page.url, host)))


def _dereference(world_ref: ref[World]) -> World:
    """Return the world behind a weak reference; the caller of the public function still holds it."""
    world = world_ref()
    assert world is not None, "the caller holds it"
    return world
