"""Which hosts of the crawl are wikis, and which titles were captured of one. Read once per world and host, and kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from weakref import ref

from webemu.api.wiki.titles import WIKI, namespace, page_id, path, title_of
from webemu.emulator import urls
from webemu.emulator.errors import EmulatorError, NoView, PayloadError
from webemu.emulator.types import Capture, PageRequest
from webemu.emulator.world import World

SAMPLE = 5
"""So many pages are looked at: all those of a wiki bear the marks of MediaWiki."""
MAX_TITLES = 200_000
"""Of a larger wiki, no more can be asked for by number or met at random."""
MAX_COMPLETIONS = 1000
_HTML = ("text/html", "application/xhtml+xml")
_LAST = "\U0010ffff"
_WIKIPEDIA = re.compile(r"[a-z]{2,3}(-[a-z]+)?\.wikipedia\.org")


@dataclass(frozen=True, slots=True)
class Titles:
    """What was captured of a wiki."""

    articles: tuple[str, ...]
    """Titles in the main namespace, in order."""
    numbers: dict[int, str]
    """Every title by the number of its page."""


def is_wikipedia(host: str) -> bool:
    """Return whether the host is a language's Wikipedia, which is there though nothing of it was captured."""
    return _WIKIPEDIA.fullmatch(host) is not None


def is_wiki(world: World, host: str) -> bool:
    """Return whether the host runs MediaWiki, by its captured pages. Raises PayloadError if none of them can be read.

    A Wikipedia of which nothing was captured is one without articles.
    """
    return _is_wiki(ref(world.base), host) if world.knows_host(host) else is_wikipedia(host)


@lru_cache(4096)
def _is_wiki(held: ref[World], host: str) -> bool:
    """The world is held weakly, so that what is kept here keeps no snapshot open."""
    failure: EmulatorError | None = None
    world = _held(held)
    for capture in islice(_pages(world, host, ""), SAMPLE):
        try:
            page = world.fetch(PageRequest(capture.url, "html"))
            if world.article(page) is not None:
                return True
        except NoView:
            continue
        except PayloadError as error:
            failure = error
    if failure is not None:
        raise failure
    return False


def titles(world: World, host: str) -> Titles:
    """Every captured title of the host, redirects left out."""
    return _titles(ref(world.base), host)


@lru_cache(8)
def _titles(held: ref[World], host: str) -> Titles:
    found = islice(_titled(_pages(_held(held), host, ""), host), MAX_TITLES)
    ordered = sorted(dict.fromkeys(found))
    articles = tuple(title for title in ordered if namespace(title) == 0)
    return Titles(articles, {page_id(host, title): title for title in ordered})


def completions(world: World, host: str, prefix: str, spaces: frozenset[int], limit: int) -> list[str]:
    """Titles that begin so in any case of letters: the very one before others, short before long."""
    found = islice(_titled(_pages(world, host, prefix), host), MAX_COMPLETIONS)
    wanted = prefix.casefold()
    fitting = {title for title in found if title.casefold().startswith(wanted) and namespace(title) in spaces}
    return sorted(fitting, key=lambda title: (len(title), title))[:limit]


def _pages(world: World, host: str, prefix: str) -> Iterator[Capture]:
    """The latest good capture of each of the host's pages whose titles begin so, as SURT keys spell it."""
    first = urls.surt(f"http://{host}/") + WIKI[1:] + urls.surt(f"http://{host}{path(prefix)}").partition(WIKI)[2]
    for _, captures in world.listing(first, first + _LAST):
        for url in dict.fromkeys(capture.url for capture in captures):
            good = [one for one in captures if one.url == url and one.status == 200 and one.mime in _HTML]
            if good and urls.host(url) == host:
                yield good[-1]


def _titled(pages: Iterator[Capture], host: str) -> Iterator[str]:
    return (title for page in pages if (title := title_of(page.url, host)))


def _held(held: ref[World]) -> World:
    world = held()
    assert world is not None, "the caller holds it"
    return world
