"""The front page and the results of a search, as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from zlib import crc32

from webemu.api.http.request import Request
from webemu.api.pages import addresses
from webemu.api.pages.template import first, sheet
from webemu.api.services.origin import Reply
from webemu.emulator import urls
from webemu.emulator.highlight import pieces
from webemu.emulator.query import MAX_CHARS, Group, Parsed, conditions, parse
from webemu.emulator.types import Hit, Query
from webemu.emulator.world import DEEPEST, World

SIZE = 10
AHEAD = 5
"""Pages are found and numbered in blocks of so many."""
LAST = DEEPEST // SIZE
TINTS = 8
SUGGESTED = 6
RELATED = 8


@dataclass(frozen=True, slots=True)
class Shown:
    """One result."""

    url: str
    title: str
    href: str
    crumbs: Sequence[str]
    host: str
    tint: int
    """Number of the colour that its host has."""
    date: str
    snippet: Sequence[tuple[str, bool]]
    """Pieces, and whether each is a word of the query."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter found in the query, and the query without it."""

    name: str
    value: str
    href: str


def home(world: World, request: Request) -> Reply:
    """`/`: the search box and what is behind it."""
    spans = [archive for archive in world.archives() if archive.last]
    times = (min((one.first for one in spans), default=0), max((one.last for one in spans), default=0))
    return sheet(world, "home.html", figures=world.figures(), times=[addresses.stamp(time) for time in times if time])


def answer(world: World, request: Request) -> Reply:
    """`/search?q=&page=`."""
    text = first(request, "q", MAX_CHARS)
    if not text:
        return home(world, request)
    page = _number(first(request, "page"))
    block = (page - 1) // AHEAD
    found = world.search(Query(text, block + 1, SIZE * AHEAD, request.session.at))
    start = (page - 1) % AHEAD * SIZE
    words = parse(text).words
    last = min(LAST, block * AHEAD + -(-len(found.hits) // SIZE) + found.more)
    return sheet(
        world,
        "results.html",
        query=text,
        page=page,
        shown=[_shown(world, request, hit, words) for hit in found.hits[start : start + SIZE]],
        pages=list(_pages(page, last)),
        last=last,
        meant=world.correct(text) if page == 1 and request.session.at is None else None,
        conditions=[_condition(said, rest) for said, rest in conditions(text)],
        related=world.related(text, found.hits, RELATED),
        suggested=_suggested(world, request, words) if not found.hits else [],
    )


def _number(text: str) -> int:
    return min(LAST, max(1, int(text))) if text.isascii() and text.isdigit() and len(text) < 6 else 1


def _pages(page: int, last: int) -> Iterator[int]:
    """The numbers around a page that are links."""
    return (number for number in range(max(1, page - AHEAD), page + AHEAD + 1) if number <= max(last, page))


def _shown(world: World, request: Request, hit: Hit, words: str) -> Shown:
    url, host = hit.url, urls.host(hit.url)
    return Shown(
        url=url,
        title=hit.title,
        href=addresses.real(request, url) or addresses.view(url),
        crumbs=addresses.crumbs(url),
        host=host,
        tint=crc32(urls.domain(host)[0].encode()) % TINTS,
        date=hit.date,
        snippet=pieces(hit.snippet, world.occurrences(hit.snippet, words)),
    )


_NAMES = {
    "phrases": "exactly",
    "without": "without",
    "sites": "site",
    "without_sites": "without site",
    "titles": "in the title",
    "urls": "in the URL",
    "types": "file type",
    "before": "before",
    "after": "since",
    "required": "with",
    "languages": "language",
    "numbers": "a number from",
    "either": "any of",
    "unwanted": "without",
}


def _condition(said: Parsed, rest: str) -> Condition:
    name, value = next((name, value) for name in _NAMES if (value := getattr(said, name)))
    return Condition(_NAMES[name], _value(value), addresses.search(rest) if rest else "/")


def _value(value: date | tuple[str | Group | tuple[int, int], ...]) -> str:
    if isinstance(value, date):
        return str(value)
    one = value[0]
    if isinstance(one, Group):
        return one.text
    return one if isinstance(one, str) else f"{one[0]} to {one[1]}"


def _suggested(world: World, request: Request, words: str) -> list[str]:
    """Titles near what was asked; none where only a part of the crawl is to be seen, since titles have no date."""
    if request.session.at is not None:
        return []
    begun = (title for word in words.split()[:3] for title in world.suggest(word[:6], SUGGESTED))
    return list(dict.fromkeys(begun))[:SUGGESTED]
