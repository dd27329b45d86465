"""Tasks drawn one by one from a graph: what every recipe of the invented world shares."""

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
"""One attempt at a task; None where the dice fell badly."""

PATIENCE = 400
"""Attempts in vain after which the graph is exhausted."""
MOST = 4
"""How often something longer than `SHORT` may be the answer within a recipe: else it could be learned by heart."""
SHORT = 3
"""Characters of counts and ages, which recur."""
UNITS = {"km": ("kilometres", "kilometers"), "km²": ("km2", "square kilometres", "square kilometers")}
GUESSABLE = 0.25
"""Share of one value above which a relation is not asked for."""


def recipe(name: str, summary: str, draw: Draw) -> Recipe:
    """A recipe that draws until nothing new comes."""

    def make(sources: Sources, seed: int) -> Iterator[Task]:
        if sources.graph is None:
            raise ValueError(f"the recipe {name} needs the graph of a generated web (graph.jsonl)")
        for task in _tasks(sources.graph, Random(f"{seed}:{name}"), draw):
            yield replace(task, evidence=tuple(_digested(sources.crawl, place) for place in task.evidence))

    return Recipe(name, "graph", make, summary)


def _digested(crawl: Crawl, place: Evidence) -> Evidence:
    """With the digest of its capture, where the collection has one."""
    page = crawl.page(place.url)
    return replace(place, digest=page.digest) if page else place


def _tasks(graph: Graph, rng: Random, draw: Draw) -> Iterator[Task]:
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
        given[task.answers[0]] += task.answer_type not in ("choice", "none") and len(task.answers[0]) > SHORT
        yield task


def _tells(task: Task) -> bool:
    """Whether the question says the answer, which only a choice may."""
    asked = normalise(task.question)
    return task.answer_type != "choice" and any(holds(asked, normalise(one)) for one in task.answers)


def task(
    name: str, question: str, answers: Iterable[str], read: Iterable[Fact | Evidence], type: AnswerType,
    user: tuple[Reply, ...] = (),
) -> Task:  # fmt: skip
    """A task of that recipe; `read` is what must be read, in order, and hops are its pages."""
    evidence = tuple(dict.fromkeys(stated(one) if isinstance(one, Fact) else one for one in read))
    pages = len({one.url for one in evidence})
    accepted = tuple(dict.fromkeys(answers))
    return Task("", question, accepted, evidence, max(pages, 1), name, type, user=user)


def stated(fact: Fact) -> Evidence:
    return Evidence(fact.url, fact.quote, fact.text)


def is_telling(graph: Graph, fact: Fact) -> bool:
    """Whether a fact is worth reading for: not to be guessed, and not in the subject's name."""
    named = fact.target is not None and fact.target.name in fact.subject.name
    return not named and not fact.as_of and graph.commonest(fact) <= GUESSABLE


def names(entity: Entity) -> tuple[str, ...]:
    return (entity.name, entity.title)


def spellings(fact: Fact) -> tuple[str, ...]:
    """The object as the page has it, and in the other forms in which it is as right."""
    found = [fact.text, *(names(fact.target) if fact.target else ())]
    if fact.base.endswith("_on"):
        day = day_of(fact)
        found += [day.isoformat(), f"{day:%B} {day.day}, {day.year}"]
    bare, _, unit = fact.text.partition(" ")
    if unit in UNITS and bare[:1].isdigit():
        found += [bare, *(f"{bare} {word}" for word in UNITS[unit])]
    return tuple(dict.fromkeys([*found, *(text.replace(",", "") for text in found if text[:1].isdigit())]))


def counted(count: int, unit: str = "", *, old: bool = False) -> tuple[str, ...]:
    """A number as an answer, bare and with its unit; `old`: also as an age is said."""
    bare = f"{count:,}"
    if not unit:
        return (bare,)
    words = f"{bare} {unit}{'s' * (count != 1)}"
    return (bare, words, f"{words} old") if old else (bare, words)


def day_of(fact: Fact) -> date:
    """Of a fact whose object is a full date."""
    return datetime.strptime(fact.text, "%d %B %Y").date()


def size(fact: Fact) -> float:
    """What facts of one relation are compared by."""
    return day_of(fact).toordinal() if fact.base.endswith("_on") else fact.number
