"""Search of one wiki: the crawl's search restricted to the wiki's pages."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from webemu.api.wiki.params import WikiCall
from webemu.api.wiki.titles import WIKI_PATH, namespace_of, normalize_title, title_of
from webemu.emulator.types import Capture, Hit, Query
from webemu.emulator.world import MAX_RANK

FIRST_BATCH_SIZE = 50
"""Results read from the crawl's search at first; more are read if too few of them are pages of the wiki."""


@dataclass(frozen=True, slots=True)
class WikiMatch:
    """Page that matches a search."""

    title: str
    namespace: int
    """Namespace number."""
    hit: Hit


@dataclass(frozen=True, slots=True)
class MatchPage:
    """One page of matches."""

    matches: list[WikiMatch]
    has_more: bool
    """True if further matches follow."""


def search_wiki(call: WikiCall, words: str, start: int, limit: int, namespaces: frozenset[int] | None) -> MatchPage:
    """Return up to `limit` matches from offset `start` on.

    A page whose title is the query itself comes first, as with CirrusSearch. `namespaces` restricts the namespaces;
    None allows all.
    """
    size = FIRST_BATCH_SIZE
    matches, has_more = _read_matches(call, words, namespaces, size)
    # One match more than needed is read, which tells if another page of matches follows.
    while len(matches) <= start + limit and has_more and size < MAX_RANK:
        size = min(4 * size, MAX_RANK)
        matches, has_more = _read_matches(call, words, namespaces, size)
    ordered = _drop_duplicate_titles([*_find_exact_title(call, words, namespaces), *matches])
    return MatchPage(ordered[start : start + limit], len(ordered) > start + limit)


def count_matches(call: WikiCall, words: str, namespaces: frozenset[int] | None) -> int:
    """Count the matching pages, up to the depth of the crawl's search."""
    return len(
        _drop_duplicate_titles(
            [*_find_exact_title(call, words, namespaces), *_read_matches(call, words, namespaces, MAX_RANK)[0]]
        )
    )


def _drop_duplicate_titles(matches: list[WikiMatch]) -> list[WikiMatch]:
    """Drop repeated titles; the first match of each stays in its place."""
    return list({match.title: match for match in matches}.values())


def _read_matches(
    call: WikiCall, words: str, namespaces: frozenset[int] | None, size: int
) -> tuple[list[WikiMatch], bool]:
    """Return the wiki's pages among the first `size` results, and True if more results follow."""
    results = call.world.search(Query(f"{words} site:{call.host}{WIKI_PATH.rstrip('/')}", 1, size, call.at_time))
    matches = (_to_match(call, hit) for hit in results.hits)
    return [
        match for match in matches if match.title and (namespaces is None or match.namespace in namespaces)
    ], results.more


def _to_match(call: WikiCall, hit: Hit) -> WikiMatch:
    title = title_of(hit.url, call.host)
    return WikiMatch(title, namespace_of(title), hit)


def _find_exact_title(call: WikiCall, words: str, namespaces: frozenset[int] | None) -> list[WikiMatch]:
    """Return the page whose title equals the query in any letter case, as a list of at most one."""
    folded_title = normalize_title(words.replace('"', " ")).casefold()
    if not any(map(str.isalnum, folded_title)):
        return []
    titled_matches, _ = _read_matches(call, f'{words} intitle:"{folded_title}"', namespaces, FIRST_BATCH_SIZE)
    return [match for match in titled_matches if match.title.casefold() == folded_title][:1]


def snippet_html(call: WikiCall, match: WikiMatch, words: str) -> str:
    """Return the snippet of a match as HTML, with the query's words marked."""
    text, offset, pieces = match.hit.snippet, 0, []
    for start, end in call.world.occurrences(text, words):
        pieces.append(f'{escape(text[offset:start])}<span class="searchmatch">{escape(text[start:end])}</span>')
        offset = end
    return "".join([*pieces, escape(text[offset:])])


def matched_capture(call: WikiCall, match: WikiMatch) -> Capture | None:
    """Return the capture that matched; the newest one if it cannot be told, None if there is none."""
    captures = call.world.captures(match.hit.url)
    return next((one for one in captures if one.doc == match.hit.doc), captures[-1] if captures else None)
