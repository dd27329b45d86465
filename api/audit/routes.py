"""Requests that fit the routes of emulated services, made from the routes themselves, so that none is forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUERY_NAMES = (
    "q", "query", "search", "term", "search_query", "search_term", "prompt", "topic", "question", "input",
)  # fmt: skip
"""Names that services give to words to search for."""
_ADDRESS_NAMES = ("url", "link", "urls", "ids", "website")
"""Names that services give to the address of a page."""


def expand_route(pattern: str, query: str, url: str) -> Iterator[str]:
    """Yield paths that the regular expression of a route matches, as far as alternatives and options tell them."""
    if pattern == "(?s:/.*)":
        yield from ("/" + query.replace(" ", "%20"), "/" + url)
        return
    text = pattern.replace("\\.", ".").replace("[12]", "1").replace("[^/]+", "x")
    choices = [""]
    for part in re.split(r"(\([^()]*\)\??|/\?)", text):
        inside = part.strip("()?").split("|") if part.startswith("(") else ["/" if part == "/?" else part]
        more = [*inside, ""] if part.endswith("?") else inside
        choices = [before + one for before in choices for one in more]
    yield from dict.fromkeys(one for one in choices if re.fullmatch(pattern, one))


def list_bodies(query: str, url: str, site: str) -> list[dict[str, object]]:
    """Return objects that ask for words, for a page or for a site, under all names that services have for them.

    The first ones have all names at once, others one alone, for services that refuse names which they do not know.
    """
    bodies: list[dict[str, object]] = [
        dict.fromkeys(_QUERY_NAMES, query),
        dict.fromkeys(_ADDRESS_NAMES, url),
        {"query": query, "topk": 10, "return_scores": True},
        {"q": query, "query": query, "url": site, "outputType": "searchResults", "depth": "standard"},
        {"url": site, "limit": 20, "max_depth": 3},
        {"engine": "google", "q": query},
        {"source": "google_search", "query": query, "parse": True},
        {"source": "universal", "url": url},
        {"zone": "web_unlocker1", "url": url},
        {"zone": "web_unlocker1", "url": f"https://www.google.com/search?q={query.replace(' ', '+')}&brd_json=1"},
        {"queries": [query]},
        {"query": [query]},
    ]
    bodies += [{name: query} for name in _QUERY_NAMES]
    return bodies + [{name: value} for name in _ADDRESS_NAMES for value in (url, [url])]
