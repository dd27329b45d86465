"""What a model is asked about: pages, passages with a fact in them, and pages that tell of a name. In English."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from webemu.rl.gates import contains_phrase
from webemu.rl.tasks.claims import values
from webemu.rl.tasks.crawl import Crawl, CrawlPage
from webemu.rl.tasks.phrases import names
from webemu.rl.tasks.recipes.parsed_page import read
from webemu.rl.tasks.recipes.prose import is_english
from webemu.rl.verify import normalise

SHORTEST, LONGEST = 120, 1500
"""Characters of a passage."""
EXCERPT = 1200
"""Characters of a linked page that a model is shown."""
ENGLISH = 0.12
"""Share of common words that prose has."""
MOST_WORDS = 8
"""Of a name: a longer one is a quotation."""
LOOKED_AT = 6
"""Linked pages that are opened for a name."""


@dataclass(frozen=True, slots=True)
class Draw:
    page: CrawlPage
    subject: str
    """What the page is called."""
    passage: str = ""


def pages(crawl: Crawl, recipe: str, seed: int) -> Iterator[Draw]:
    """Pages that can be asked about; the others are counted."""
    for page in crawl.pages(f"{seed}:{recipe}"):
        reading = read(crawl, page, recipe)
        if isinstance(reading, str):
            crawl.dropped[recipe, reading] += 1
        else:
            yield Draw(page, reading.head)


def passages(crawl: Crawl, recipe: str, seed: int) -> Iterator[Draw]:
    """A paragraph with something to look up of each page, drawn by the seed."""
    for draw in pages(crawl, recipe, seed):
        found = [one for one in map(_flat, draw.page.text.split("\n")) if is_passage(one)]
        if found:
            chosen = random.Random(f"{seed}:{recipe}:{draw.page.url}").choice(found)
            yield Draw(draw.page, draw.subject, chosen)
        else:
            crawl.dropped[recipe, "no paragraph with a fact"] += 1


def is_passage(text: str) -> bool:
    return SHORTEST <= len(text) <= LONGEST and " | " not in text and is_english(text, ENGLISH) and any(values(text))


def replaceable(question: str, answer: str) -> list[str]:
    """Names of a question that could be described instead."""
    gold = normalise(answer)
    found = (name for name in names(question) if len(name) > 2 and len(name.split()) <= MOST_WORDS)
    capitals = (name for name in found if any(word[:1].isupper() for word in name.split()))
    return [name for name in capitals if not contains_phrase(normalise(name), gold)]


def telling(crawl: Crawl, known: tuple[CrawlPage, ...], name: str, seed: str) -> list[CrawlPage]:
    """Pages that link to a known one, or are linked to by one, under this name, and say it."""
    wanted = normalise(name)
    found: dict[str, None] = {}
    for page in known:
        found |= {url: None for url, anchor in crawl.links(page) if contains_phrase(normalise(anchor), wanted)}
        found |= {url: None for url, _, anchor in crawl.inlinks(page.url) if contains_phrase(normalise(anchor), wanted)}
    urls = [url for url in found if url not in {page.url for page in known}]
    random.Random(seed).shuffle(urls)
    opened = (crawl.page(url) for url in urls[:LOOKED_AT])
    return [page for page in opened if page is not None and excerpt(page.text, name)]


def excerpt(text: str, name: str) -> str:
    """The paragraphs of a page that say a name."""
    wanted = normalise(name)
    lines = (
        line
        for line in map(_flat, text.split("\n"))
        if contains_phrase(normalise(line), wanted) and is_english(line, ENGLISH)
    )
    return "\n".join(islice(lines, 12))[:EXCERPT]


def _flat(line: str) -> str:
    return " ".join(line.split())
