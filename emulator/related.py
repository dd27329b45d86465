"""Suggests related queries from the titles of a query's results: words that titles share, and titles themselves.

Only these results are read, so that a suggestion never reveals what is blocked or was captured later.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from webemu.emulator.query import parse_query

MAX_TITLES = 50
"""Titles that are read."""
MAX_QUERY_CHARS = 60
"""Maximum length of a title that is suggested as a query."""
MIN_TOPIC_TITLES = 2
"""A word in at least this many titles is a topic."""
MIN_SITE_NAME_TITLES = 3
"""A title part in at least this many titles is the name of a site."""
MAX_PAGE_SHARE = 0.1
"""A word in at least this share of all pages is too common to suggest."""
_TITLE_SEPARATOR = re.compile(r"\s+[-–—|·•»:]{1,2}\s+|:\s+")
_WORD = re.compile(r"[^\W\d_]{4,30}")

Terms = Callable[[str], Sequence[str]]


def related_queries(
    text: str, titles: Sequence[str], limit: int, terms: Terms, page_share: Callable[[str], float]
) -> list[str]:
    """Return related queries, likeliest first: by turns the query with one more word, and a similar title.

    `terms` returns the index terms of a text, `page_share` the share of all pages that contain a word.
    """
    query_terms = frozenset(terms(parse_query(text).words))
    if not query_terms or limit < 1:
        return []
    parts = _informative_parts([" ".join(title.split()).lower() for title in titles[:MAX_TITLES]])
    topics = (
        word
        for word in _shared_words(parts)[: 4 * limit]
        if word not in text.lower() and page_share(word) < MAX_PAGE_SHARE
    )
    longer = (f"{text} {word}" for word in topics)
    return _drop_equivalent(
        query_terms, _interleave(longer, iter(_similar_parts(parts, query_terms, terms))), limit, terms
    )


def _informative_parts(titles: list[str]) -> list[str]:
    """Return the parts of titles without the names of sites."""
    split = [_TITLE_SEPARATOR.split(title) for title in dict.fromkeys(titles)]
    counts = Counter(part for parts in split for part in set(parts))
    return [part for parts in split for part in parts if part and counts[part] < MIN_SITE_NAME_TITLES]


def _shared_words(parts: list[str]) -> list[str]:
    """Return words that several parts share, most frequent first."""
    counts = Counter(word for part in parts for word in dict.fromkeys(_WORD.findall(part)))
    return [word for word, count in counts.most_common() if count >= MIN_TOPIC_TITLES]


def _similar_parts(parts: list[str], query_terms: frozenset[str], terms: Terms) -> list[str]:
    """Return parts of several words that contain at least half of the query's terms, best match first."""
    ranked_parts = []
    for position, part in enumerate(parts):
        shared = len(query_terms.intersection(terms(part))) if " " in part and len(part) <= MAX_QUERY_CHARS else 0
        if 2 * shared >= len(query_terms):
            ranked_parts.append((-shared, position, part))
    return [part for _, _, part in sorted(ranked_parts)]


def _interleave(*lists: Iterator[str]) -> Iterator[str]:
    """Yield values of the iterators by turns until all are exhausted."""
    remaining = list(lists)
    while remaining:
        for iterator in tuple(remaining):
            if (value := next(iterator, None)) is None:
                remaining.remove(iterator)
            else:
                yield value


def _drop_equivalent(query_terms: frozenset[str], queries: Iterator[str], limit: int, terms: Terms) -> list[str]:
    """Return up to `limit` queries, without those that have the terms of an earlier one or of the original query."""
    seen_term_sets = {query_terms}
    result: list[str] = []
    for query in queries:
        query_term_set = frozenset(terms(query))
        if query_term_set not in seen_term_sets:
            seen_term_sets.add(query_term_set)
            result.append(query)
        if len(result) == limit:
            break
    return result
