"""The front page, and the result page of a search."""

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
"""Results on a page."""
AHEAD = 5
"""Pages that one search fetches, so that the links to the next pages are known."""
LAST = DEEPEST // SIZE
"""Number of the last page."""
TINTS = 8
"""Number of colours for hosts."""
SUGGESTED = 6
"""Most titles to suggest for a search without results."""
RELATED = 8
"""Most related searches."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One result, as the template reads it."""

    url: str
    title: str
    href: str
    """Address of the page: the URL itself for a client of the proxy, else the view of it."""
    crumbs: Sequence[str]
    """Host and parts of the path."""
    host: str
    tint: int
    """Number of the colour of its host."""
    date: str
    snippet: Sequence[tuple[str, bool]]
    """The snippet in pieces, each with True if it is a word of the query."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter in the query, with the address of the search without it."""

    name: str
    """Label of the filter."""
    value: str
    href: str
    """Address of the search without the filter."""


def home(world: World, request: Request) -> Reply:
    """Answer `/`: the search box and the size of the crawl."""
    spans = [archive for archive in world.archives() if archive.last]
    times = (min((one.first for one in spans), default=0), max((one.last for one in spans), default=0))
    return sheet(world, "home.html", figures=world.figures(), times=[addresses.stamp(time) for time in times if time])


def answer(world: World, request: Request) -> Reply:
    """Answer `/search?q=&page=`; without a query, the front page."""
    text = first(request, "q", MAX_CHARS)
    if not text:
        return home(world, request)
    page = _number(first(request, "page"))
    block = (page - 1) // AHEAD
    # One search covers a block of pages, so that the links to the following pages are right.
    found = world.search(Query(text, block + 1, SIZE * AHEAD, request.session.at))
    start = (page - 1) % AHEAD * SIZE
    words = parse(text).words
    last = min(LAST, block * AHEAD + -(-len(found.hits) // SIZE) + found.more)
    return sheet(
        world,
        "results.html",
        query=text,
        page=page,
        results=[_shown(world, request, hit, words) for hit in found.hits[start : start + SIZE]],
        pages=list(_pages(page, last)),
        last=last,
        correction=world.correct(text) if page == 1 and request.session.at is None else None,
        conditions=[_condition(said, rest) for said, rest in conditions(text)],
        related=world.related(text, found.hits, RELATED),
        similar_titles=_suggested(world, request, words) if not found.hits else [],
    )


def _number(text: str) -> int:
    """Return the number of a page, clamped to those that exist; 1 if the text is no number."""
    return min(LAST, max(1, int(text))) if text.isascii() and text.isdigit() and len(text) < 6 else 1


def _pages(page: int, last: int) -> Iterator[int]:
    """Yield the numbers of pages around the current one that become links."""
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
    "excluded_terms": "without",
    "sites": "site",
    "excluded_sites": "without site",
    "titles": "in the title",
    "urls": "in the URL",
    "types": "file type",
    "before": "before",
    "after": "since",
    "required": "with",
    "languages": "language",
    "numbers": "a number from",
    "any_of": "any of",
    "excluded_groups": "without",
}
"""Labels of filters by the attribute of the parsed query that holds them."""


def _condition(said: Parsed, rest: str) -> Condition:
    """Return a filter for display; `parsed` holds it alone, `remaining_query` is the query without it."""
    name, value = next((name, value) for name in _NAMES if (value := getattr(said, name)))
    return Condition(_NAMES[name], _value(value), addresses.search(rest) if rest else "/")


def _value(value: date | tuple[str | Group | tuple[int, int], ...]) -> str:
    """Return the first value of a filter as text."""
    if isinstance(value, date):
        return str(value)
    one = value[0]
    if isinstance(one, Group):
        return one.text
    return one if isinstance(one, str) else f"{one[0]} to {one[1]}"


def _suggested(world: World, request: Request, words: str) -> list[str]:
    """Return titles that begin like words of the query.

    Titles have no date, so that a session that sees the web of a past day gets none.
    """
    if request.session.at is not None:
        return []
    begun = (title for word in words.split()[:3] for title in world.suggest(word[:6], SUGGESTED))
    return list(dict.fromkeys(begun))[:SUGGESTED]
