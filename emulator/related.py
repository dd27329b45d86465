"""Suggests related queries from the titles of a query's results: words that titles share, and titles themselves.

Only these results are read, so that a suggestion never reveals what is blocked or was captured later.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from webemu.emulator.query import parse

MAX_TITLES = 50
"""Titles that are read."""
MAX_CHARS = 60
"""Maximum length of a title that is suggested as a query."""
SHARED = 2
"""A word in at least this many titles is a topic."""
NAME = 3
"""A title part in at least this many titles is the name of a site."""
COMMON = 0.1
"""A word in at least this share of all pages is too common to suggest."""
_PARTS = re.compile(r"\s+[-–—|·•»:]{1,2}\s+|:\s+")
_WORD = re.compile(r"[^\W\d_]{4,30}")

Terms = Callable[[str], Sequence[str]]


def related(text: str, titles: Sequence[str], limit: int, terms: Terms, share: Callable[[str], float]) -> list[str]:
    """Return related queries, likeliest first: by turns the query with one more word, and a similar title.

    `terms` returns the index terms of a text, `share` the share of all pages that contain a word.
    """
    asked = frozenset(terms(parse(text).words))
    if not asked or limit < 1:
        return []
    parts = _telling([" ".join(title.split()).lower() for title in titles[:MAX_TITLES]])
    topics = (word for word in _topics(parts)[: 4 * limit] if word not in text.lower() and share(word) < COMMON)
    longer = (f"{text} {word}" for word in topics)
    return _distinct(asked, _by_turns(longer, iter(_near(parts, asked, terms))), limit, terms)


def _telling(titles: list[str]) -> list[str]:
    """Return the parts of titles without the names of sites."""
    split = [_PARTS.split(title) for title in dict.fromkeys(titles)]
    counts = Counter(part for parts in split for part in set(parts))
    return [part for parts in split for part in parts if part and counts[part] < NAME]


def _topics(parts: list[str]) -> list[str]:
    """Return words that several parts share, most frequent first."""
    counts = Counter(word for part in parts for word in dict.fromkeys(_WORD.findall(part)))
    return [word for word, count in counts.most_common() if count >= SHARED]


def _near(parts: list[str], asked: frozenset[str], terms: Terms) -> list[str]:
    """Return parts of several words that contain at least half of the query's terms, best match first."""
    found = []
    for place, part in enumerate(parts):
        shared = len(asked.intersection(terms(part))) if " " in part and len(part) <= MAX_CHARS else 0
        if 2 * shared >= len(asked):
            found.append((-shared, place, part))
    return [part for _, _, part in sorted(found)]


def _by_turns(*lists: Iterator[str]) -> Iterator[str]:
    """Yield values of the iterators by turns until all are exhausted."""
    waiting = list(lists)
    while waiting:
        for one in tuple(waiting):
            if (value := next(one, None)) is None:
                waiting.remove(one)
            else:
                yield value


def _distinct(asked: frozenset[str], queries: Iterator[str], limit: int, terms: Terms) -> list[str]:
    """Return up to `limit` queries, without those that have the terms of an earlier one or of the original query."""
    seen = {asked}
    found: list[str] = []
    for query in queries:
        said = frozenset(terms(query))
        if said not in seen:
            seen.add(said)
            found.append(query)
        if len(found) == limit:
            break
    return found
