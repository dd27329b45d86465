"""Search of one wiki: the crawl's search restricted to the wiki's pages."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from webemu.api.wiki.params import Ask
from webemu.api.wiki.titles import WIKI, namespace, spelled, title_of
from webemu.emulator.types import Capture, Hit, Query
from webemu.emulator.world import DEEPEST

FIRST = 50
"""Results read from the crawl's search at first; more are read if too few of them are pages of the wiki."""


@dataclass(frozen=True, slots=True)
class Match:
    """Page that matches a search."""

    title: str
    space: int
    """Namespace number."""
    hit: Hit


@dataclass(frozen=True, slots=True)
class Matches:
    """One page of matches."""

    shown: list[Match]
    more: bool
    """True if further matches follow."""


def search(ask: Ask, words: str, start: int, limit: int, spaces: frozenset[int] | None) -> Matches:
    """Return up to `limit` matches from offset `start` on.

    A page whose title is the query itself comes first, as with CirrusSearch. `spaces` restricts the namespaces; None
    allows all.
    """
    size = FIRST
    found, more = _read(ask, words, spaces, size)
    # One match more than needed is read, which tells if another page of matches follows.
    while len(found) <= start + limit and more and size < DEEPEST:
        size = min(4 * size, DEEPEST)
        found, more = _read(ask, words, spaces, size)
    ordered = _distinct([*_named(ask, words, spaces), *found])
    return Matches(ordered[start : start + limit], len(ordered) > start + limit)


def total(ask: Ask, words: str, spaces: frozenset[int] | None) -> int:
    """Count the matching pages, up to the depth of the crawl's search."""
    return len(_distinct([*_named(ask, words, spaces), *_read(ask, words, spaces, DEEPEST)[0]]))


def _distinct(matches: list[Match]) -> list[Match]:
    """Drop repeated titles; the first match of each stays in its place."""
    return list({match.title: match for match in matches}.values())


def _read(ask: Ask, words: str, spaces: frozenset[int] | None, size: int) -> tuple[list[Match], bool]:
    """Return the wiki's pages among the first `size` results, and True if more results follow."""
    results = ask.world.search(Query(f"{words} site:{ask.host}{WIKI.rstrip('/')}", 1, size, ask.at))
    matches = (_match(ask, hit) for hit in results.hits)
    return [match for match in matches if match.title and (spaces is None or match.space in spaces)], results.more


def _match(ask: Ask, hit: Hit) -> Match:
    title = title_of(hit.url, ask.host)
    return Match(title, namespace(title), hit)


def _named(ask: Ask, words: str, spaces: frozenset[int] | None) -> list[Match]:
    """Return the page whose title equals the query in any letter case, as a list of at most one."""
    wanted = spelled(words.replace('"', " ")).casefold()
    if not any(map(str.isalnum, wanted)):
        return []
    inside, _ = _read(ask, f'{words} intitle:"{wanted}"', spaces, FIRST)
    return [match for match in inside if match.title.casefold() == wanted][:1]


def snippet(ask: Ask, match: Match, words: str) -> str:
    """Return the snippet of a match as HTML, with the query's words marked."""
    text, at, pieces = match.hit.snippet, 0, []
    for start, end in ask.world.occurrences(text, words):
        pieces.append(f'{escape(text[at:start])}<span class="searchmatch">{escape(text[start:end])}</span>')
        at = end
    return "".join([*pieces, escape(text[at:])])


def capture_of(ask: Ask, match: Match) -> Capture | None:
    """Return the capture that matched; the newest one if it cannot be told, None if there is none."""
    captures = ask.world.captures(match.hit.url)
    return next((one for one in captures if one.doc == match.hit.doc), captures[-1] if captures else None)
