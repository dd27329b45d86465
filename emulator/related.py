"""What else people might search for, told by what was found: words that titles of results share, and titles themselves.

Only results in hand are read, so that nothing is told of what is blocked, or was captured on a later day.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from webemu.emulator.query import parse

MAX_TITLES = 50
MAX_CHARS = 60
SHARED = 2
"""A word of so many titles is a topic."""
NAME = 3
"""A part of so many titles is the name of a site."""
COMMON = 0.1
"""A word of so large a share of all pages tells nothing."""
_PARTS = re.compile(r"\s+[-–—|·•»:]{1,2}\s+|:\s+")
_WORD = re.compile(r"[^\W\d_]{4,30}")

Terms = Callable[[str], Sequence[str]]


def related(text: str, titles: Sequence[str], limit: int, terms: Terms, share: Callable[[str], float]) -> list[str]:
    """Queries beside this one, the likeliest first: by turns it with one more word, and a title near to it.

    `terms` are those of a text as the search has them, `share` the share of all pages that a word occurs in.
    """
    asked = frozenset(terms(parse(text).words))
    if not asked or limit < 1:
        return []
    parts = _telling([" ".join(title.split()).lower() for title in titles[:MAX_TITLES]])
    topics = (word for word in _topics(parts)[: 4 * limit] if word not in text.lower() and share(word) < COMMON)
    longer = (f"{text} {word}" for word in topics)
    return _distinct(asked, _by_turns(longer, iter(_near(parts, asked, terms))), limit, terms)


def _telling(titles: list[str]) -> list[str]:
    """The parts of titles, without names of sites."""
    split = [_PARTS.split(title) for title in dict.fromkeys(titles)]
    counts = Counter(part for parts in split for part in set(parts))
    return [part for parts in split for part in parts if part and counts[part] < NAME]


def _topics(parts: list[str]) -> list[str]:
    """Words that several parts have, those of the most first."""
    counts = Counter(word for part in parts for word in dict.fromkeys(_WORD.findall(part)))
    return [word for word, count in counts.most_common() if count >= SHARED]


def _near(parts: list[str], asked: frozenset[str], terms: Terms) -> list[str]:
    """Parts of several words that have half of the query at least, those that have the most of it first."""
    found = []
    for place, part in enumerate(parts):
        shared = len(asked.intersection(terms(part))) if " " in part and len(part) <= MAX_CHARS else 0
        if 2 * shared >= len(asked):
            found.append((-shared, place, part))
    return [part for _, _, part in sorted(found)]


def _by_turns(*lists: Iterator[str]) -> Iterator[str]:
    waiting = list(lists)
    while waiting:
        for one in tuple(waiting):
            if (value := next(one, None)) is None:
                waiting.remove(one)
            else:
                yield value


def _distinct(asked: frozenset[str], queries: Iterator[str], limit: int, terms: Terms) -> list[str]:
    """Those that say the same as none before, in whatever order."""
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
