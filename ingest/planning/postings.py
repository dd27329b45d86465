"""Number of postings that a search reads, which is most of its cost in a large collection.

The engine ranks every page that has any word of the query, so that a search reads as many postings of each word as
pages have it. How many that are is estimated from the texts of some pages, for queries made of their titles as
`webemu bench` makes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from webemu.index.analysis import extract_terms
from webemu.index.load_samples import sample_title_spans

MAX_TEXTS = 1000
"""Pages whose texts are analyzed."""
MAX_QUERIES = 1000
"""Queries that the mean is taken over."""

TITLE_CHARACTERS = 80
"""Characters of a text that stand for its title."""


class PageText(NamedTuple):
    """The texts of a page and its language (ISO 639-1); no texts for a page that search never finds."""

    title: str | None
    text: str
    language: str | None


def estimate_postings_share(pages: Sequence[PageText]) -> float:
    """Return the number of postings that a search reads, as a share of the pages; 0 if fewer than two are given.

    A query of three words, each of which half of the pages have, reads 1.5 postings a page. The beginning of its text
    stands for the title of a page that has none, and for all titles if none has two words.
    """
    beginnings = [page.text[:TITLE_CHARACTERS] for page in pages]
    titles = [page.title or beginning for page, beginning in zip(pages, beginnings, strict=True)]
    queries = sample_title_spans(titles, MAX_QUERIES, "plan") or sample_title_spans(beginnings, MAX_QUERIES, "plan")
    if len(pages) < 2 or not queries:
        return 0.0
    counts = Counter[str]()
    for page in pages:
        counts.update(set(extract_terms(f"{page.title or ''}\n{page.text}", page.language or "")))
    # Less the page that the query was made of, which has all of its words.
    read_postings = [sum(max(counts[term] - 1, 0) for term in set(extract_terms(query))) for query in queries]
    return fmean(read_postings) / (len(pages) - 1)
