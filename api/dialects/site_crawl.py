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

from webemu.api.dialects.site import is_page, opened
from webemu.emulator import urls
from webemu.emulator.errors import NotCaptured
from webemu.emulator.types import Capture, PageRequest
from webemu.emulator.world import World

TRIED = 20_000
"""Most URLs that one crawl looks up."""
_LINK = re.compile(r"^\[\d+\] (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a crawl."""

    depth: int
    """Links between the start and a page, at most."""
    breadth: int
    """New pages to take from any one page, at most."""
    limit: int
    """Pages in total, at most."""
    belongs: Callable[[str], bool]
    """Returns True if a URL is to be part of the result."""
    leads: Callable[[str], bool] = lambda url: True
    """Returns True if the links of the page at a URL are to be followed."""


class Walk:
    """One crawl, with the captures that it has collected so far."""

    def __init__(self, world: World, bounds: Bounds, at: datetime | None) -> None:
        self._world, self._bounds, self._at = world, bounds, at
        self._tried: set[str] = set()
        self.found: dict[str, Capture] = {}
        """Captures by URL, in the order in which they were reached."""

    def run(self, start: str, also: Iterable[str] = ()) -> list[Capture]:
        """Return the captures of the crawl, the start first if it is captured.

        `extra_urls` are known from elsewhere, such as a sitemap, and count as one link from the start.
        """
        bounds = self._bounds
        edge = list(self._new([urls.guess(start)], lambda url: True))
        for depth in range(bounds.depth):
            fresh: list[Capture] = []
            for page in edge:
                fresh += islice(self._new(self._links(page), bounds.belongs), bounds.breadth)
            # The start's own links come first, in case the limit is reached.
            if depth == 0:
                fresh += self._new(also, bounds.belongs)
            edge = fresh
        return list(self.found.values())

    def _links(self, page: Capture) -> Iterator[str]:
        """Yield the links of a page, none if they are not to be followed."""
        if self._bounds.leads(page.url):
            yield from links(self._world, page.url, self._at)

    def _new(self, found: Iterable[str], belongs: Callable[[str], bool]) -> Iterator[Capture]:
        """Yield captures of the URLs that were not visited before and belong to the crawl, until a limit is reached."""
        for url in found:
            if len(self.found) >= self._bounds.limit or len(self._tried) >= TRIED:
                return
            # Spellings of one URL count once, and a redirect may lead back to a page that is known.
            url = urls.exact(url)
            if url in self._tried or not belongs(url):
                continue
            self._tried.add(url)
            capture = _page(self._world, url, self._at)
            if capture and capture.url not in self.found and belongs(capture.url):
                self.found[capture.url] = capture
                yield capture


def _page(world: World, url: str, at: datetime | None) -> Capture | None:
    """Return the capture of a readable page, None if there is none."""
    try:
        capture = world.locate(PageRequest(url, "links", at))
    except NotCaptured:
        return None
    return capture if is_page(capture) else None


def links(world: World, url: str, at: datetime | None) -> list[str]:
    """Return the targets of a page's links in document order, each once; empty if the page cannot be read.

    Raises: EmulatorError if the server itself fails.
    """
    # This view is the text of the page, followed by a numbered list of link targets.
    page = opened(world, url, "links", at)
    _, title, listed = (page.content if page else "").rpartition("\n\nLinks:\n")
    return list(dict.fromkeys(map(urls.exact, _LINK.findall(listed)))) if title else []
