"""Material for the model: pages, passages with a checkable fact, and pages that mention a name. English only."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from webemu.rl.gates import contains_phrase
from webemu.rl.tasks.claims import checkable_values
from webemu.rl.tasks.crawl import Crawl, CrawlPage
from webemu.rl.tasks.filters.quote import collapse_spaces
from webemu.rl.tasks.phrases import find_names
from webemu.rl.tasks.recipes.parsed_page import parse_page
from webemu.rl.tasks.recipes.prose import is_english
from webemu.rl.verify import normalise

MIN_CHARACTERS, MAX_CHARACTERS = 120, 1500
"""Smallest and largest number of characters in a passage."""
MAX_EXCERPT_CHARACTERS = 1200
"""Largest number of characters of a linked page that the model is shown."""
MIN_ENGLISH_SHARE = 0.12
"""Smallest share of common English words."""
MAX_NAME_WORDS = 8
"""Largest number of words of a name; anything longer is a quotation."""
MAX_PAGES_OPENED = 6
"""Number of linked pages that are opened for a name."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A page, or a passage of it, for the model to work on."""

    page: CrawlPage
    subject: str
    """Name of the page in questions."""
    text: str = ""
    """A paragraph of the page; empty if the whole page is meant."""


def iterate_pages(crawl: Crawl, recipe: str, seed: int) -> Iterator[Passage]:
    """Yield the pages that can be asked about. The reasons for skipping the others are counted."""
    for page in crawl.iterate_pages(f"{seed}:{recipe}"):
        parsed = parse_page(crawl, page, recipe)
        if isinstance(parsed, str):
            crawl.skip_counts[recipe, parsed] += 1
        else:
            yield Passage(page, parsed.short_title)


def draw_passages(crawl: Crawl, recipe: str, seed: int) -> Iterator[Passage]:
    """Yield one paragraph with a checkable fact from each page, chosen by the seed."""
    for page_passage in iterate_pages(crawl, recipe, seed):
        candidates = [one for one in map(collapse_spaces, page_passage.page.text.split("\n")) if is_passage(one)]
        if candidates:
            paragraph = random.Random(f"{seed}:{recipe}:{page_passage.page.url}").choice(candidates)
            yield Passage(page_passage.page, page_passage.subject, paragraph)
        else:
            crawl.skip_counts[recipe, "no paragraph with a fact"] += 1


def is_passage(text: str) -> bool:
    """True if the text is an English paragraph of fitting length with a checkable fact."""
    return (
        MIN_CHARACTERS <= len(text) <= MAX_CHARACTERS
        and " | " not in text
        and is_english(text, MIN_ENGLISH_SHARE)
        and any(checkable_values(text))
    )


def replaceable_names(question: str, answer: str) -> list[str]:
    """Return the capitalised names in a question that could be replaced by a description."""
    answer_text = normalise(answer)
    candidates = (name for name in find_names(question) if len(name) > 2 and len(name.split()) <= MAX_NAME_WORDS)
    capitals = (name for name in candidates if any(word[:1].isupper() for word in name.split()))
    return [name for name in capitals if not contains_phrase(normalise(name), answer_text)]


def pages_naming(crawl: Crawl, known_pages: tuple[CrawlPage, ...], name: str, seed: str) -> list[CrawlPage]:
    """Return pages connected with a known page by a link whose words contain the name, and whose text mentions it."""
    normalised_name = normalise(name)
    # A dict as an ordered set: the seed must give the same pages.
    linked_urls: dict[str, None] = {}
    for page in known_pages:
        links = [(link.target, link.anchor) for link in crawl.list_links(page)]
        inlinks = [(link.source, link.anchor) for link in crawl.list_inlinks(page.url)]
        for url, anchor in (*links, *inlinks):
            if contains_phrase(normalise(anchor), normalised_name):
                linked_urls[url] = None
    urls = [url for url in linked_urls if url not in {page.url for page in known_pages}]
    random.Random(seed).shuffle(urls)
    candidates = (crawl.find_page(url) for url in urls[:MAX_PAGES_OPENED])
    return [page for page in candidates if page is not None and excerpt_naming(page.text, name)]


def excerpt_naming(text: str, name: str) -> str:
    """Return the English paragraphs of a page that mention a name, cut to `MAX_EXCERPT_CHARACTERS`."""
    normalised_name = normalise(name)
    lines = (
        line
        for line in map(collapse_spaces, text.split("\n"))
        if contains_phrase(normalise(line), normalised_name) and is_english(line, MIN_ENGLISH_SHARE)
    )
    return "\n".join(islice(lines, 12))[:MAX_EXCERPT_CHARACTERS]
