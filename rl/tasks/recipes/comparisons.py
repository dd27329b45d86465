"""Questions that compare things of two or three pages (`compare`), or measure the time between two (`between`)."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal

from webemu.rl.tasks.phrases import content_words
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.recipes import english
from webemu.rl.tasks.recipes.asking import is_sound
from webemu.rl.tasks.recipes.statements import SUBJECT, Statement
from webemu.rl.tasks.recipes.store import StatementStore, interleave, load_store
from webemu.rl.tasks.task import Evidence, Task

MAX_GROUPS = 2
"""Largest number of comparisons with the same page."""
MAX_DAYS = 400
"""Largest number of days between two dates that are asked for."""
YEAR_PHRASE = "the year in which "
"""Beginning of the description of a year."""
_AGE_NAME = re.compile(r"How old is (.*) reported to be\?")
_WHEN = re.compile(r"(?:In which year|In what year|When) ((?:did|was|were) .*)\?")
_PLAIN = frozenset("article saying year published came began founded released".split())
"""Words of the questions themselves, which relate nothing."""
_WORKS = frozenset(("published", "date of a thing"))
"""Relations of works and foundations."""
_ADVERBS = {
    "introduced": ("was introduced first", "was introduced last"),
    "deprecated": ("was deprecated first", "was deprecated last"),
    "published": ("was published first", "was published last"),
    "release date": ("was released first", "was released last"),
}
"""Words for the smallest and the largest value of a relation."""


def _comparable(store: StatementStore) -> dict[tuple[str, str, str], list[Statement]]:
    """Return the statements that can be compared, by relation, type of amount and kind of thing."""
    groups: defaultdict[tuple[str, str, str], list[Statement]] = defaultdict(list)
    for statement in store.statements:
        if (
            statement.amount is None
            or statement.subject is None
            or not (statement.relation in _ADVERBS or statement.relation.startswith("default"))
        ):
            continue
        if statement.subject.kind in ("thing", "article") or store.is_unique_description(statement.subject.described):
            groups[statement.relation, type(statement.amount).__name__, statement.subject.kind].append(statement)
    return {key: members for key, members in groups.items() if len({one.url for one in members}) >= 2}


def _draw_groups(store: StatementStore, size: int, seed: str) -> Iterator[list[Statement]]:
    """Yield groups of statements from different pages with different amounts, each page in one group."""
    rng = random.Random(seed)
    pools = {key: rng.sample(members, len(members)) for key, members in sorted(_comparable(store).items())}
    waiting: dict[tuple[str, str, str], list[Statement]] = {key: [] for key in pools}
    pages: Counter[str] = Counter()
    for key, one in interleave([(key, one) for key, pool in pools.items() for one in pool], lambda pair: pair[0], seed):
        group = waiting[key]
        if pages[one.url] >= MAX_GROUPS or any(one.amount == other.amount or one.url == other.url for other in group):
            continue
        group.append(one)
        if len(group) == size:
            pages.update(member.url for member in group)
            waiting[key] = []
            yield group


def generate_comparisons(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions for the earliest or latest of things on different pages: its name, or who made it."""
    store = load_store(sources.crawl)
    authors = {one.url: one for one in store.statements if one.relation == "author"}
    for size in (3, 2):
        for group in _draw_groups(store, size, f"{seed}:compare:{size}"):
            task = _ask_author(group, authors, seed) or _ask_name(group, seed)
            if task is not None and all(is_sound(sources.crawl, "compare", one, task.question) for one in group):
                yield task


def _ask_name(group: Sequence[Statement], seed: int) -> Task | None:
    """Return the question which of several things is the first or the last; None if one has no description."""
    things = [one.subject for one in group if one.subject]
    if not all(thing.description for thing in things):
        return None
    adverb, winner = _extreme(group, seed)
    kind = things[0].kind
    number = "two" if len(group) == 2 else "three"
    listed = english.join_list([f"the one {thing.description}" for thing in things])
    question = english.choose(
        (
            f"Of these {english.plural(kind)}, which one {adverb}: {listed}?",
            f"Think of {number} {english.plural(kind)}: {listed}. Which of them {adverb}?",
        ),
        *(str(seed), group[0].url),
    )
    question += " Give its headline." if kind == "article" else ""
    if winner.subject is None or any(
        thing.name.rpartition(".")[2].lower() in question.lower().split() for thing in things
    ):
        return None
    # The page that has the answer comes last.
    evidence = tuple(one.evidence for one in (*(one for one in group if one is not winner), winner))
    names = winner.subject.names
    return Task("", question, names, evidence, len(group), "compare", "name")


def _ask_author(group: Sequence[Statement], authors: dict[str, Statement], seed: int) -> Task | None:
    """Return the question who wrote the first or the last of several works; None if they have no authors."""
    members = [authors[one.url] for one in group if one.url in authors]
    if len(members) < len(group) or len({one.answers[0].split()[-1] for one in members}) < len(group):
        return None
    adverb, winner = _extreme(group, seed)
    things = [one.subject.described or one.subject.name for one in group if one.subject]
    options = english.join_list(things)
    noun = english.choose(("Who wrote the one that", "Who is the author of the one that"), str(seed), group[0].url)
    question = f"Here are {'two' if len(group) == 2 else 'three'} works: {options}. {noun} {adverb}?"
    evidence = (*(one.evidence for one in group), authors[winner.url].evidence)
    return Task("", question, authors[winner.url].answers, evidence, len(group), "compare", "name")


def _extreme(group: Sequence[Statement], seed: int) -> tuple[str, Statement]:
    """Return the words for one end of the order, and the statement at that end."""
    is_last = english.choose(("first", "last"), str(seed), group[-1].url, group[-1].value) == "last"
    ordered = sorted(group, key=_order)
    relation = group[0].relation
    sizes = [f"has the {size} {relation.replace('default of', 'default value of')}" for size in ("smallest", "largest")]
    return _ADVERBS.get(relation, sizes)[is_last], ordered[-1 if is_last else 0]


def _order(statement: Statement) -> tuple[int | Decimal, ...]:
    """Return the amount of a statement as numbers that can be compared."""
    amount = statement.amount
    if isinstance(amount, tuple):
        return amount
    return (amount.toordinal(),) if isinstance(amount, date) else (amount or Decimal(0),)


def _years_between(sources: Sources, store: StatementStore, seed: int) -> Iterator[Task]:
    """Yield questions for the years between two events that different pages tell of."""
    dated = [one for one in store.statements if one.answer_phrase.startswith(YEAR_PHRASE)]
    pool = list(interleave(dated, lambda statement: statement.host, f"{seed}:years"))
    # Each event is in at most two questions, once with each of two others.
    pool += pool[1:]
    while len(pool) >= 2:
        first = pool.pop(0)
        candidates = [
            one for one in pool if one.url != first.url and _years(first, one) >= 3 and _are_related(first, one)
        ]
        # Events of one site are more likely to be asked about together.
        second = next((one for one in candidates if one.host == first.host), candidates[0] if candidates else None)
        if second is None:
            continue
        pool.remove(second)
        early, late = sorted((first, second), key=_order)
        question = _ask_years(early, late, seed)
        if question and all(is_sound(sources.crawl, "between", one, question) for one in (early, late)):
            years, evidence = _years(early, late), (early.evidence, late.evidence)
            yield Task("", question, (str(years), f"{years} years"), evidence, 2, "between", "number")


def _ask_years(early: Statement, late: Statement, seed: int) -> str:
    """Return the question for the years between two events; empty if the second has no fitting phrasing."""
    event = early.answer_phrase.removeprefix(YEAR_PHRASE)
    asks = next((match[1] for one in late.templates if (match := _WHEN.fullmatch(one))), "")
    if not asks:
        return ""
    texts = [
        text.replace(SUBJECT, one.subject.name if one.subject else "") for text, one in ((event, early), (asks, late))
    ]
    question = english.choose(
        ("How many years after {0} {1}?", "{0} in one year. How many years later {1}?"),
        *(str(seed), early.url, late.url),
    ).format(*texts)
    return english.upper_first(question)


def _years_older(sources: Sources, store: StatementStore, seed: int) -> Iterator[Task]:
    """Yield questions for the difference between the ages that two pages give for two people."""
    pool = list(
        interleave(
            [one for one in store.statements if one.relation == "age"], lambda statement: statement.host, f"{seed}:age"
        )
    )
    for first, second in zip(pool[::2], pool[1::2], strict=False):
        old, young = sorted((first, second), key=lambda statement: -int(statement.value))
        names = [_AGE_NAME.sub(r"\1", one.templates[0]) for one in (old, young)]
        years = int(old.value) - int(young.value)
        question = f"How many years older than {names[1]} is {names[0]}, by the ages that news reports give for them?"
        if (
            old.url != young.url
            and years >= 2
            and all(is_sound(sources.crawl, "between", one, question) for one in (old, young))
        ):
            yield Task(
                "", question, (str(years), f"{years} years"), (old.evidence, young.evidence), 2, "between", "number"
            )


def _are_related(first: Statement, second: Statement) -> bool:
    """True if somebody may think of both at once: they are of one site, both are works, or they share a word."""
    if first.host == second.host or {first.relation, second.relation} <= _WORKS:
        return True
    words = [set(content_words(one.answer_phrase.removeprefix(YEAR_PHRASE))) - _PLAIN for one in (first, second)]
    return any(len(word) > 3 for word in words[0] & words[1])


def _years(first: Statement, second: Statement) -> int:
    """Return the number of years between two dated statements."""
    return abs(int(_order(first)[0] - _order(second)[0]))


def generate_between(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions for the number of years between two events, or of days between two articles."""
    store = load_store(sources.crawl)
    yield from _years_between(sources, store, seed)
    yield from _years_older(sources, store, seed)
    for first, second in _draw_groups(store, 2, f"{seed}:between"):
        if not isinstance(first.amount, date) or not isinstance(second.amount, date):
            continue
        early, late = sorted((first, second), key=_order)
        days = int(_order(late)[0] - _order(early)[0])
        things = [one.subject.described or one.subject.name for one in (early, late) if one.subject]
        is_apart = (
            first.host != second.host and not set(content_words(things[0])) & set(content_words(things[1])) - _PLAIN
        )
        if not 3 <= days <= MAX_DAYS or is_apart:
            continue
        question = f"How many days after {things[0]} was {things[1]} published?"
        evidence = tuple(Evidence(one.url, one.quote, one.value, one.digest) for one in (early, late))
        if all(is_sound(sources.crawl, "between", one, question) for one in (first, second)):
            yield Task("", question, (str(days), f"{days} days"), evidence, 2, "between", "number")
