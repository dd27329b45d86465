"""A crawl of captured pages: from a start page along its links, breadth first, within limits.

It reads only pages that the world holds and never goes to the network. A link to an uncaptured page costs a lookup, of
which there are at most `MAX_LOOKUPS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from webemu.api.dialects.site import is_readable_page, open_page
from webemu.emulator import urls
from webemu.emulator.errors import NotCaptured
from webemu.emulator.types import Capture, PageRequest
from webemu.emulator.world import World

MAX_LOOKUPS = 20_000
"""Most URLs that one crawl looks up."""
_LINK = re.compile(r"^\[\d+\] (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """Limits of a crawl."""

    depth: int
    """Links between the start and a page, at most."""
    breadth: int
    """New pages to take from any one page, at most."""
    limit: int
    """Pages in total, at most."""
    accepts: Callable[[str], bool]
    """Returns True if a URL is to be part of the result."""
    follows_links_of: Callable[[str], bool] = lambda url: True
    """Returns True if the links of the page at a URL are to be followed."""


class SiteCrawl:
    """One crawl, with the captures that it has collected so far."""

    def __init__(self, world: World, limits: CrawlLimits, at_time: datetime | None) -> None:
        self._world, self._limits, self._at_time = world, limits, at_time
        self._visited_urls: set[str] = set()
        self.captures: dict[str, Capture] = {}
        """Captures by URL, in the order in which they were reached."""

    def crawl(self, start: str, extra_urls: Iterable[str] = ()) -> list[Capture]:
        """Return the captures of the crawl, the start first if it is captured.

        `extra_urls` are known from elsewhere, such as a sitemap, and count as one link from the start.
        """
        limits = self._limits
        frontier = list(self._visit_new([urls.parse_user_url(start)], lambda url: True))
        for depth in range(limits.depth):
            next_frontier: list[Capture] = []
            for page in frontier:
                next_frontier += islice(self._visit_new(self._links(page), limits.accepts), limits.breadth)
            # The start's own links come first, in case the limit is reached.
            if depth == 0:
                next_frontier += self._visit_new(extra_urls, limits.accepts)
            frontier = next_frontier
        return list(self.captures.values())

    def _links(self, page: Capture) -> Iterator[str]:
        """Yield the links of a page, none if they are not to be followed."""
        if self._limits.follows_links_of(page.url):
            yield from list_links(self._world, page.url, self._at_time)

    def _visit_new(self, candidates: Iterable[str], accepts: Callable[[str], bool]) -> Iterator[Capture]:
        """Yield captures of the URLs that were not visited before and belong to the crawl, until a limit is reached."""
        for url in candidates:
            if len(self.captures) >= self._limits.limit or len(self._visited_urls) >= MAX_LOOKUPS:
                return
            # Spellings of one URL count once, and a redirect may lead back to a page that is known.
            url = urls.normalize(url)
            if url in self._visited_urls or not accepts(url):
                continue
            self._visited_urls.add(url)
            capture = _locate_page(self._world, url, self._at_time)
            if capture and capture.url not in self.captures and accepts(capture.url):
                self.captures[capture.url] = capture
                yield capture


def _locate_page(world: World, url: str, at_time: datetime | None) -> Capture | None:
    """Return the capture of a readable page, None if there is none."""
    try:
        capture = world.locate(PageRequest(url, "links", at_time))
    except NotCaptured:
        return None
    return capture if is_readable_page(capture) else None


def list_links(world: World, url: str, at_time: datetime | None) -> list[str]:
    """Return the targets of a page's links in document order, each once; empty if the page cannot be read.

    Raises: EmulatorError if the server itself fails.
    """
    # This view is the text of the page, followed by a numbered list of link targets.
    page = open_page(world, url, "links", at_time)
    _, title, link_list = (page.content if page else "").rpartition("\n\nLinks:\n")
    return list(dict.fromkeys(map(urls.normalize, _LINK.findall(link_list)))) if title else []
