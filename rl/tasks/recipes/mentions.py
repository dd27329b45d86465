"""Questions for the one name that two articles have in common (`mention`).

Neither article alone tells which of its many names is meant. The pair is asked about only if no second name, long or
short, stands in both.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.recipes import english, gold
from webemu.rl.tasks.recipes.asking import is_sound, make_task
from webemu.rl.tasks.recipes.statements import Statement
from webemu.rl.tasks.recipes.store import Article, StatementStore, interleave, load_store
from webemu.rl.tasks.task import Task

MAX_PAGES_WITH_NAME = 3
"""Largest number of articles that have the name."""
MAX_SHARED_WORDS = 3
"""Largest number of single words with a capital that both articles have besides the name."""
_ADJECTIVE = re.compile(r"(?:[a-z]an|ese|ish|ern|al|National|International) ?$|^(?:The|On|In|At|And|But) ")
"""Endings of adjectives: "West African" names nothing. A few names are lost."""
_TEMPLATES = (
    "Which full name of a person, organisation or place stands both in the article {0} and in the article {1}?",
    "Two articles have one name of several words in common: the one {0} and the one {1}. Which name is it?",
    "Somebody or something is called by full name in the article {0}, and again in the article {1}. What is the name?",
)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two articles and the name that they share."""

    first: Article
    second: Article
    name: str


def generate_mentions(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions for names that exactly two described articles share."""
    pages: Counter[str] = Counter()
    for pair in interleave(
        list(_find_pairs(load_store(sources.crawl))), lambda pair: pair.first.host, f"{seed}:mention"
    ):
        urls = (pair.first.url, pair.second.url)
        if max(pages[url] for url in urls) >= 2:
            continue
        if (task := _make_task(sources, pair, seed)) is not None:
            pages.update(urls)
            yield task


def _find_pairs(store: StatementStore) -> Iterator[_Pair]:
    """Yield the pairs of articles that share one name and nothing else."""
    by_name: defaultdict[str, list[Article]] = defaultdict(list)
    for article in store.articles:
        for name in article.names:
            by_name[name].append(article)
    for name, articles in sorted(by_name.items()):
        if not 2 <= len(articles) <= MAX_PAGES_WITH_NAME or not gold.is_good_name(name) or _ADJECTIVE.search(name):
            continue
        first, second = articles[:2]
        if first.url != second.url and _shares_only(first, second, name):
            yield _Pair(first, second, name)


def _shares_only(first: Article, second: Article, name: str) -> bool:
    """True if the articles share no name besides this one, and its words."""
    words = set(name.split())
    shared = set(first.names) & set(second.names)
    single = (first.capitals & second.capitals) - words
    # A word that is also written in lower case belongs to no name.
    is_proper = words.isdisjoint(first.lower_words | second.lower_words)
    return shared == {name} and len(single) <= MAX_SHARED_WORDS and is_proper


def _make_task(sources: Sources, pair: _Pair, seed: int) -> Task | None:
    """Return the question for the name of a pair; None if it gives the name away."""
    question = english.choose(_TEMPLATES, str(seed), pair.name).format(pair.first.description, pair.second.description)
    statements = [_as_statement(article, pair.name) for article in (pair.first, pair.second)]
    if any(re.search(rf"\b{re.escape(word)}\b", question) for word in pair.name.split() if len(word) > 3):
        return None
    if not all(is_sound(sources.crawl, "mention", one, question) for one in statements):
        return None
    return make_task("mention", question, statements)


def _as_statement(article: Article, name: str) -> Statement:
    """Return the sentence of an article that has the name as a statement."""
    return Statement(
        *(article.url, article.digest, article.host, "mention", ("",), (name,), "name", article.names[name], name)
    )
