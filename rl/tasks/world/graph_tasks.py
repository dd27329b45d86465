"""Machinery that all recipes of the invented world share: tasks are drawn one by one until nothing new comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime
from random import Random
from typing import TYPE_CHECKING

from webemu.rl.gates import holds
from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.recipe import Recipe, Sources
from webemu.rl.tasks.task import AnswerType, Evidence, Reply, Task
from webemu.rl.verify import normalise

if TYPE_CHECKING:
    from webemu.rl.tasks.crawl import Crawl

Draw = Callable[[Graph, Random], Task | None]
"""One attempt at a task. None means that the random choices led nowhere; it is tried again."""

PATIENCE = 400
"""Failed attempts in a row after which the recipe ends."""
MOST = 4
"""Largest number of tasks of a recipe with the same first answer, if it is longer than `MAX_RECURRING_LENGTH`. More
could be learned by heart.
"""
SHORT = 3
"""Longest answer, in characters, that may recur without limit: counts and ages."""
UNITS = {"km": ("kilometres", "kilometers"), "km²": ("km2", "square kilometres", "square kilometers")}
"""Other spellings of the units in facts."""
GUESSABLE = 0.25
"""Largest share of a relation's facts that may have the same object; above it the relation is not asked for."""


def recipe(name: str, summary: str, draw: Draw) -> Recipe:
    """Return a recipe that calls `draw_task` until nothing new comes.

    The recipe raises ValueError if its sources hold no graph.
    """

    def make(sources: Sources, seed: int) -> Iterator[Task]:
        if sources.graph is None:
            raise ValueError(f"the recipe {name} needs the graph.jsonl of a generated web; run `webemu generate`")
        for task in _tasks(sources.graph, Random(f"{seed}:{name}"), draw):
            yield replace(task, evidence=tuple(_digested(sources.crawl, place) for place in task.evidence))

    return Recipe(name, "graph", make, summary)


def _digested(crawl: Crawl, place: Evidence) -> Evidence:
    """Return the evidence with the digest of its capture, if the collection has the page."""
    page = crawl.page(place.url)
    return replace(place, digest=page.digest) if page else place


def _tasks(graph: Graph, rng: Random, draw: Draw) -> Iterator[Task]:
    """Yield tasks without repeated questions, overused answers and questions that give the answer away."""
    asked: set[str] = set()
    given: Counter[str] = Counter()
    misses = 0
    while misses < PATIENCE:
        task = draw(graph, rng)
        if task is None or task.question in asked or given[task.answers[0]] >= MOST or _tells(task):
            misses += 1
            continue
        misses = 0
        asked.add(task.question)
        # Choices, missing answers and short numbers may recur; only other answers are counted.
        given[task.answers[0]] += task.answer_type not in ("choice", "none") and len(task.answers[0]) > SHORT
        yield task


def _tells(task: Task) -> bool:
    """True if the question contains an answer, which is allowed for choices only."""
    asked = normalise(task.question)
    return task.answer_type != "choice" and any(holds(asked, normalise(one)) for one in task.answers)


def task(
    name: str, question: str, answers: Iterable[str], read: Iterable[Fact | Evidence], type: AnswerType,
    user: tuple[Reply, ...] = (),
) -> Task:  # fmt: skip
    """Return a task of the recipe called `name`, still without an id.

    `statements` are what must be read, in order; the number of hops is the number of their pages, at least 1. Repeated
    answers and statements are dropped.
    """
    evidence = tuple(dict.fromkeys(stated(one) if isinstance(one, Fact) else one for one in read))
    pages = len({one.url for one in evidence})
    accepted = tuple(dict.fromkeys(answers))
    return Task("", question, accepted, evidence, max(pages, 1), name, type, user=user)


def stated(fact: Fact) -> Evidence:
    """Return the page and the table row that state a fact, as evidence."""
    return Evidence(fact.url, fact.quote, fact.text)


def is_telling(graph: Graph, fact: Fact) -> bool:
    """True if a fact is worth reading for: not easily guessed, not outdated, and not part of the subject's name."""
    named = fact.target is not None and fact.target.name in fact.subject.name
    return not named and not fact.as_of and graph.commonest(fact) <= GUESSABLE


def names(entity: Entity) -> tuple[str, ...]:
    """Return the accepted names of an entity: without and with the bracket of its title."""
    return (entity.name, entity.title)


def spellings(fact: Fact) -> tuple[str, ...]:
    """Return the object as the page has it, and in the other forms that are equally right, without repeats."""
    found = [fact.text, *(names(fact.target) if fact.target else ())]
    if fact.base.endswith("_on"):
        day = day_of(fact)
        found += [day.isoformat(), f"{day:%B} {day.day}, {day.year}"]
    bare, _, unit = fact.text.partition(" ")
    if unit in UNITS and bare[:1].isdigit():
        found += [bare, *(f"{bare} {word}" for word in UNITS[unit])]
    return tuple(dict.fromkeys([*found, *(text.replace(",", "") for text in found if text[:1].isdigit())]))


def counted(count: int, unit: str = "", *, old: bool = False) -> tuple[str, ...]:
    """Return a number as accepted answers: bare and with its unit. `old` adds the form `7 years old`."""
    bare = f"{count:,}"
    if not unit:
        return (bare,)
    words = f"{bare} {unit}{'s' * (count != 1)}"
    return (bare, words, f"{words} old") if old else (bare, words)


def day_of(fact: Fact) -> date:
    """Return the date of a fact whose object is a full date. Raises ValueError for another object."""
    return datetime.strptime(fact.text, "%d %B %Y").date()


def size(fact: Fact) -> float:
    """Return the number by which facts of one relation are compared: a date's ordinal, or the number itself."""
    return day_of(fact).toordinal() if fact.base.endswith("_on") else fact.number
