"""All statements of a crawl, read once and shared by the recipes that ask for them.

A crawl is scanned in the order of a fixed seed, up to `MAX_PAGES`; a build of a few hundred tasks needs no more.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import TypeVar
from weakref import WeakKeyDictionary

from webemu.rl.tasks.crawl import Crawl
from webemu.rl.tasks.recipes.clauses import find_clause_statements
from webemu.rl.tasks.recipes.interfaces import Entry, find_interface_statements, read_entries
from webemu.rl.tasks.recipes.labels import find_label_statements
from webemu.rl.tasks.recipes.parsed_page import ParsedPage, eligible_pages
from webemu.rl.tasks.recipes.statements import SUBJECT, Statement
from webemu.rl.verify import normalise

T = TypeVar("T")

MAX_PAGES = 30_000
"""Largest number of pages that are scanned."""
MAX_VALUE_SHARE, MIN_POPULAR, MAX_SAME = 0.15, 3, 12
"""A value that at least three statements of a relation have, and this share of them, can be guessed; so can one that
more than `MAX_SAME` have.
"""


class StatementStore:
    """Statements and documented entries of a crawl."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.entries: list[tuple[str, str, str, Entry]] = []
        """(URL, digest, host, entry)."""
        self._value_counts: Counter[tuple[str, str]] = Counter()
        self._relation_counts: Counter[str] = Counter()
        self._description_counts: Counter[str] = Counter()
        self._answers_by_question: defaultdict[str, set[str]] = defaultdict(set)

    def add_page(self, parsed: ParsedPage) -> None:
        """Read one page."""
        entries = tuple(read_entries(parsed))
        page = parsed.page
        self.entries += [(page.url, page.digest, page.host, entry) for entry in entries]
        readings = (
            find_clause_statements(parsed), find_label_statements(parsed), find_interface_statements(parsed, entries),
        )  # fmt: skip
        for statement in chain(*readings):
            self.statements.append(statement)
            self._value_counts[statement.relation, normalise(statement.answers[0])] += 1
            self._relation_counts[statement.relation] += 1
            self._answers_by_question[_question_key(statement)].add(normalise(statement.answers[0]))
        self._description_counts.update({normalise(entry.subject.described) for entry in entries})

    def is_popular(self, statement: Statement) -> bool:
        """True if many statements of the same relation have the same value, so that it can be guessed."""
        count = self._value_counts[statement.relation, normalise(statement.answers[0])]
        is_large = count >= MAX_VALUE_SHARE * self._relation_counts[statement.relation]
        # Versions are few, and each of them has many things.
        return count >= MIN_POPULAR and (is_large or (count > MAX_SAME and not isinstance(statement.amount, tuple)))

    def is_ambiguous(self, statement: Statement) -> bool:
        """True if the same question has another answer elsewhere: two pages define two things in the same words."""
        return len(self._answers_by_question[_question_key(statement)]) > 1

    def is_unique_description(self, described: str) -> bool:
        """True if the words describe one thing of the crawl only."""
        return bool(described) and self._description_counts[normalise(described)] <= 1


def _question_key(statement: Statement) -> str:
    """Return the plainest question for a statement, normalised."""
    return normalise(statement.templates[0].replace(SUBJECT, statement.subject.name if statement.subject else ""))


_STORES: WeakKeyDictionary[Crawl, StatementStore] = WeakKeyDictionary()
"""Stores by crawl. A cache: entries go with their crawl."""


def load_store(crawl: Crawl) -> StatementStore:
    """Return the statements of a crawl, reading its pages at the first call."""
    if crawl not in _STORES:
        store = StatementStore()
        for number, parsed in enumerate(eligible_pages(crawl, "statements", 0, needs_name=False)):
            if number == MAX_PAGES:
                break
            store.add_page(parsed)
        _STORES[crawl] = store
    return _STORES[crawl]


def interleave(items: Sequence[T], group: Callable[[T], object], seed: str) -> Iterator[T]:
    """Yield the items group by group in turn, each group in an order that the seed decides."""
    rng, groups = random.Random(seed), defaultdict[object, list[T]](list)
    for member in items:
        groups[group(member)].append(member)
    for members in groups.values():
        rng.shuffle(members)
    order = list(groups.values())
    rng.shuffle(order)
    missing = object()
    for turn in zip_longest(*order, fillvalue=missing):
        yield from (one for one in turn if one is not missing)  # type: ignore[misc]
