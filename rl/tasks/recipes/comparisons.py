"""Questions that compare things of two or three pages (`compare`), or ask for the years between two (`between`)."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import combinations

from webemu.rl.tasks.phrases import content_words
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.recipes import english
from webemu.rl.tasks.recipes.alike import are_distinct, draw_alike, take_turns
from webemu.rl.tasks.recipes.asking import is_sound
from webemu.rl.tasks.recipes.statements import SUBJECT, Statement, Subject, subject_of
from webemu.rl.tasks.recipes.store import StatementStore, interleave, load_store
from webemu.rl.tasks.task import Task

MAX_GROUPS = 2
"""Largest number of comparisons with the same page."""
MIN_YEARS = 3
"""Smallest number of years between two events that is asked for."""
YEAR_PHRASE = "the year in which "
"""Beginning of the description of a year."""
_WHEN = re.compile(r"(?:In which year|In what year|When) ((?:did|was|were) .*)\?")
_VERSION = re.compile(r"\b\d+(?:\.\d+){1,2}\b")
_PLAIN = frozenset(
    "article saying year published came began founded released established created opened launched company film book "
    "novel first with from that university national american international world county state".split()
)
"""Words of the questions themselves, which relate nothing."""
_CHOICES = {
    ("introduced", False): (
        "Which {product} {noun} is the oldest: {options}?",
        "Which of these {nouns} has been in {product} for the longest time: {options}?",
        "We use {product} {version}. Only one of these {nouns} is in it: {options}. What is it called?",
    ),
    ("introduced", True): (
        "Which {product} {noun} is the newest: {options}?",
        "Which of these {nouns} was added to {product} last: {options}?",
    ),
    ("deprecated", False): ("Which of these {nouns} did {product} deprecate first: {options}?",),
    ("deprecated", True): ("Which of these {nouns} did {product} deprecate last: {options}?",),
}
"""Questions for the first and for the last of several things of a software."""
_COMPARED = frozenset(("introduced", "deprecated", "published", "release date"))
"""Relations that are compared, besides defaults."""


def _comparable(store: StatementStore) -> dict[tuple[str, str, str], list[Statement]]:
    """Return the statements that can be compared, by relation, type of amount and kind of thing."""
    groups: defaultdict[tuple[str, str, str], list[Statement]] = defaultdict(list)
    for statement in store.statements:
        if (
            statement.amount is None
            or statement.subject is None
            or not (statement.relation in _COMPARED or statement.relation.startswith("default"))
        ):
            continue
        if statement.subject.kind in ("thing", "article") or store.is_unique_description(statement.subject.described):
            groups[statement.relation, type(statement.amount).__name__, statement.subject.kind].append(statement)
    return {key: members for key, members in groups.items() if len({one.url for one in members}) >= 2}


def _draw_groups(store: StatementStore, size: int, seed: str) -> Iterator[list[Statement]]:
    """Yield groups of alike things from different pages with different amounts, each page in few groups."""
    pages: Counter[str] = Counter()
    pairs: set[frozenset[str]] = set()

    def fits(group: Sequence[Statement], statement: Statement) -> bool:
        is_new = all(one.amount != statement.amount and _pair(one, statement) not in pairs for one in group)
        is_clear = all(are_distinct(one, statement) for one in group)
        return is_new and is_clear and pages[statement.url] < MAX_GROUPS

    rng = random.Random(seed)
    pools = [rng.sample(members, len(members)) for _, members in sorted(_comparable(store).items())]
    for group in take_turns([draw_alike(pool, subject_of, size, fits) for pool in pools]):
        pages.update(statement.url for statement in group)
        pairs.update(_pair(first, second) for first, second in combinations(group, 2))
        yield group


def _pair(first: Statement, second: Statement) -> frozenset[str]:
    """Return the pages of two statements."""
    return frozenset((first.url, second.url))


def generate_comparisons(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions for the earliest or latest of things on different pages: its name, or who made it."""
    store = load_store(sources.crawl)
    authors = {one.url: one for one in store.statements if one.relation == "author"}
    for size in (3, 2):
        for group in _draw_groups(store, size, f"{seed}:compare:{size}"):
            task = _ask_author(group, authors, seed) or _ask_name(group, seed)
            # The version that the winner came with may stand in the question; its name is the answer.
            question = _VERSION.sub("", task.question) if task else ""
            if task is not None and all(is_sound(sources.crawl, "compare", one, question) for one in group):
                yield task


def _ask_name(group: Sequence[Statement], seed: int) -> Task | None:
    """Return the question which of several things is the first or the last; None if one has no description."""
    things = [subject_of(statement) for statement in group]
    if not all(thing.description for thing in things):
        return None
    is_last, winner = _extreme(group, seed)
    question = _phrase_choice(group, things, is_last, winner, seed)
    words = question.lower().split()
    if any(thing.name.rpartition(".")[2].lower() in words for thing in things):
        return None
    # The page that has the answer comes last.
    evidence = tuple(one.evidence for one in (*(one for one in group if one is not winner), winner))
    return Task("", question, subject_of(winner).names, evidence, len(group), "compare", "name")


def _phrase_choice(
    group: Sequence[Statement], things: Sequence[Subject], is_last: bool, winner: Statement, seed: int
) -> str:
    """Return the question which of several described things is the first or the last, or has the larger default."""
    product, relation = things[0].product, group[0].relation
    noun = things[0].kind.removeprefix(f"{product} ")
    options = english.join_list([f"the one {thing.description}" for thing in things], "or")
    names = {"product": product, "noun": noun, "nouns": english.plural(noun), "options": options}
    if relation.startswith("default"):
        size = ("smaller", "smallest") if not is_last else ("larger", "largest")
        names |= {"size": size[len(group) > 2], "parameter": relation.removeprefix("default of ")}
        return "Which {product} {noun} has the {size} default of {parameter}: {options}?".format(**names)
    if noun == "article":
        ending = f"appeared {'last' if is_last else 'first'}"
        return f"Which article {ending}: {options}? Give its headline."
    templates = _CHOICES[relation, is_last]
    names["version"] = winner.value
    return english.choose(templates, str(seed), group[0].url).format(**names)


def _ask_author(group: Sequence[Statement], authors: dict[str, Statement], seed: int) -> Task | None:
    """Return the question who wrote the first or the last of several works; None if they have no authors."""
    members = [authors[one.url] for one in group if one.url in authors]
    if len(members) < len(group) or len({one.answers[0].split()[-1] for one in members}) < len(group):
        return None
    is_last, winner = _extreme(group, seed)
    options = english.join_list([subject_of(one).described or subject_of(one).name for one in group])
    start = english.choose(("Who wrote", "Who is the author of"), str(seed), group[0].url)
    size = ("older", "oldest") if not is_last else ("newer", "newest")
    question = f"{start} the {size[len(group) > 2]} of {options}?"
    evidence = (*(one.evidence for one in group), authors[winner.url].evidence)
    return Task("", question, authors[winner.url].answers, evidence, len(group), "compare", "name")


def _extreme(group: Sequence[Statement], seed: int) -> tuple[bool, Statement]:
    """Return whether the last or largest is asked for, and the statement at that end of the order."""
    is_last = english.choose(("first", "last"), str(seed), group[-1].url, group[-1].value) == "last"
    ordered = sorted(group, key=_order)
    return is_last, ordered[-1 if is_last else 0]


def _order(statement: Statement) -> tuple[int | Decimal, ...]:
    """Return the amount of a statement as numbers that can be compared."""
    amount = statement.amount
    if isinstance(amount, tuple):
        return amount
    return (amount.toordinal(),) if isinstance(amount, date) else (amount or Decimal(0),)


def generate_between(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions for the years between two events that different pages tell of."""
    dated = [one for one in load_store(sources.crawl).statements if one.answer_phrase.startswith(YEAR_PHRASE)]
    pool = list(interleave(dated, lambda statement: statement.host, f"{seed}:years"))
    # Each event is in at most two questions, once with each of two others.
    pool += pool[1:]
    while len(pool) >= 2:
        first = pool.pop(0)
        second = next((one for one in pool if _years(first, one) >= MIN_YEARS and _are_related(first, one)), None)
        if second is None:
            continue
        pool.remove(second)
        early, late = sorted((first, second), key=_order)
        question = _ask_years(early, late)
        if question and all(is_sound(sources.crawl, "between", one, question) for one in (early, late)):
            years, evidence = _years(early, late), (early.evidence, late.evidence)
            yield Task("", question, (str(years), f"{years} years"), evidence, 2, "between", "number")


def _ask_years(early: Statement, late: Statement) -> str:
    """Return the question for the years between two events; empty if the second has no fitting phrasing."""
    event = early.answer_phrase.removeprefix(YEAR_PHRASE)
    asks = next((match[1] for one in late.templates if (match := _WHEN.fullmatch(one))), "")
    if not asks:
        return ""
    texts = [
        text.replace(SUBJECT, one.subject.name if one.subject else "") for text, one in ((event, early), (asks, late))
    ]
    return f"How many years after {texts[0]} {texts[1]}?"


def _are_related(first: Statement, second: Statement) -> bool:
    """True if two pages tell of events that share a word, so that somebody may think of both at once."""
    words = [
        {word for word in content_words(one.answer_phrase.removeprefix(YEAR_PHRASE)) if len(word) > 3} - _PLAIN
        for one in (first, second)
    ]
    return first.url != second.url and bool(words[0] & words[1])


def _years(first: Statement, second: Statement) -> int:
    """Return the number of years between two dated statements."""
    return abs(int(_order(first)[0] - _order(second)[0]))
