"""A crawler's way over captured pages: from a start along real links, breadth first, inside bounds.

It reads no page that the crawl does not hold and asks nobody. Links into nowhere cost a look-up, of which there are at
most `TRIED`.
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
_LINK = re.compile(r"^\[\d+\] (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a walk goes."""

    depth: int
    """Links between the start and a page."""
    breadth: int
    """Pages that are new and were found on one page."""
    limit: int
    """Pages in all."""
    belongs: Callable[[str], bool]
    """Whether a URL is wanted."""
    leads: Callable[[str], bool] = lambda url: True
    """Whether the links of a page are followed."""


class Walk:
    """Pages found so far, in order."""

    def __init__(self, world: World, bounds: Bounds, at: datetime | None) -> None:
        self._world, self._bounds, self._at = world, bounds, at
        self._tried: set[str] = set()
        self.found: dict[str, Capture] = {}

    def run(self, start: str, also: Iterable[str] = ()) -> list[Capture]:
        """The pages. `also` are URLs known from elsewhere, one step from the start."""
        bounds = self._bounds
        edge = list(self._new([urls.guess(start)], lambda url: True))
        for depth in range(bounds.depth):
            fresh: list[Capture] = []
            for page in edge:
                fresh += islice(self._new(self._links(page), bounds.belongs), bounds.breadth)
            if depth == 0:
                fresh += self._new(also, bounds.belongs)
            edge = fresh
        return list(self.found.values())

    def _links(self, page: Capture) -> Iterator[str]:
        if self._bounds.leads(page.url):
            yield from links(self._world, page.url, self._at)

    def _new(self, found: Iterable[str], belongs: Callable[[str], bool]) -> Iterator[Capture]:
        """Pages that URLs lead to, but for those met before."""
        for url in found:
            if len(self.found) >= self._bounds.limit or len(self._tried) >= TRIED:
                return
            url = urls.exact(url)
            if url in self._tried or not belongs(url):
                continue
            self._tried.add(url)
            capture = _page(self._world, url, self._at)
            if capture and capture.url not in self.found and belongs(capture.url):
                self.found[capture.url] = capture
                yield capture


def _page(world: World, url: str, at: datetime | None) -> Capture | None:
    try:
        capture = world.locate(PageRequest(url, "links", at))
    except NotCaptured:
        return None
    return capture if is_page(capture) else None


def links(world: World, url: str, at: datetime | None) -> list[str]:
    """Where a page's links lead, in order, each once; none where the crawl cannot say. Raises our own failures."""
    page = opened(world, url, "links", at)
    _, title, listed = (page.content if page else "").rpartition("\n\nLinks:\n")
    return list(dict.fromkeys(map(urls.exact, _LINK.findall(listed)))) if title else []
