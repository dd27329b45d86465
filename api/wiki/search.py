"""A search of one wiki: the search of the crawl, of which the wiki's pages are shown."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from webemu.api.wiki.params import Ask
from webemu.api.wiki.titles import WIKI, namespace, spelled, title_of
from webemu.emulator.types import Capture, Hit, Query
from webemu.emulator.world import DEEPEST

FIRST = 50
"""So many results are read at first."""


@dataclass(frozen=True, slots=True)
class Match:
    """A page that was found."""

    title: str
    space: int
    hit: Hit


@dataclass(frozen=True, slots=True)
class Matches:
    """A part of what was found."""

    shown: list[Match]
    more: bool


def search(ask: Ask, words: str, start: int, limit: int, spaces: frozenset[int] | None) -> Matches:
    """The matches from `start` on. A page of the very title that was asked for comes first, as with CirrusSearch."""
    size = FIRST
    found, more = _read(ask, words, spaces, size)
    while len(found) <= start + limit and more and size < DEEPEST:
        size = min(4 * size, DEEPEST)
        found, more = _read(ask, words, spaces, size)
    ordered = _distinct([*_named(ask, words, spaces), *found])
    return Matches(ordered[start : start + limit], len(ordered) > start + limit)


def total(ask: Ask, words: str, spaces: frozenset[int] | None) -> int:
    """How many pages match, counted no further than the search of the crawl goes."""
    return len(_distinct([*_named(ask, words, spaces), *_read(ask, words, spaces, DEEPEST)[0]]))


def _distinct(matches: list[Match]) -> list[Match]:
    return list({match.title: match for match in matches}.values())


def _read(ask: Ask, words: str, spaces: frozenset[int] | None, size: int) -> tuple[list[Match], bool]:
    """Pages of the wiki among so many results, and whether more results follow."""
    results = ask.world.search(Query(f"{words} site:{ask.host}{WIKI.rstrip('/')}", 1, size, ask.at))
    matches = (_match(ask, hit) for hit in results.hits)
    return [match for match in matches if match.title and (spaces is None or match.space in spaces)], results.more


def _match(ask: Ask, hit: Hit) -> Match:
    title = title_of(hit.url, ask.host)
    return Match(title, namespace(title), hit)


def _named(ask: Ask, words: str, spaces: frozenset[int] | None) -> list[Match]:
    """The page whose title is what was typed, in any case of letters."""
    wanted = spelled(words.replace('"', " ")).casefold()
    if not any(map(str.isalnum, wanted)):
        return []
    inside, _ = _read(ask, f'{words} intitle:"{wanted}"', spaces, FIRST)
    return [match for match in inside if match.title.casefold() == wanted][:1]


def snippet(ask: Ask, match: Match, words: str) -> str:
    """What is shown of a match, as HTML, the words that were searched for marked."""
    text, at, pieces = match.hit.snippet, 0, []
    for start, end in ask.world.occurrences(text, words):
        pieces.append(f'{escape(text[at:start])}<span class="searchmatch">{escape(text[start:end])}</span>')
        at = end
    return "".join([*pieces, escape(text[at:])])


def capture_of(ask: Ask, match: Match) -> Capture | None:
    """The capture that was found."""
    captures = ask.world.captures(match.hit.url)
    return next((one for one in captures if one.doc == match.hit.doc), captures[-1] if captures else None)
