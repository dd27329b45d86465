"""Machinery that all recipes of the invented world share: tasks are drawn one by one until nothing new comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime
from math import inf
from random import Random
from typing import TYPE_CHECKING

from webemu.rl.gates import contains_phrase
from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.recipe import Recipe, Sources
from webemu.rl.tasks.task import AnswerType, Evidence, Reply, Task
from webemu.rl.verify import normalise

if TYPE_CHECKING:
    from webemu.rl.tasks.crawl import Crawl

TaskDrawer = Callable[[Graph, Random], Task | None]
"""One attempt at a task. None means that the random choices led nowhere; it is tried again."""

MAX_MISSES = 400
"""Failed attempts in a row after which the recipe ends."""
MAX_SAME_ANSWER = 4
"""Number of tasks of a recipe that may have the same first answer, if it is longer than `MAX_RECURRING_LENGTH`. More
could be learned by heart.
"""
MAX_RECURRING_LENGTH = 3
"""Longest answer, in characters, that may recur more often: counts and ages."""
MAX_RECURRING_SHARE = 0.08
"""Largest share of a recipe's tasks with the same short answer, so that a favourite guess gains little."""
UNIT_SPELLINGS = {"km": ("kilometres", "kilometers"), "km²": ("km2", "square kilometres", "square kilometers")}
"""Other spellings of the units in facts."""
MAX_GUESS_SHARE = 0.25
"""Largest share of a relation's facts that may have the same object; above it the relation is not asked for."""


def make_recipe(name: str, summary: str, draw_task: TaskDrawer) -> Recipe:
    """Return a recipe that calls `draw_task` until nothing new comes.

    The recipe raises ValueError if its sources hold no graph.
    """

    def generate_tasks(sources: Sources, seed: int) -> Iterator[Task]:
        if sources.graph is None:
            raise ValueError(f"the recipe {name} needs the graph.jsonl of a generated web; run `webemu generate`")
        for task in _draw_tasks(sources.graph, Random(f"{seed}:{name}"), draw_task):
            yield replace(task, evidence=tuple(_with_digest(sources.crawl, evidence) for evidence in task.evidence))

    return Recipe(name, "graph", generate_tasks, summary)


def _with_digest(crawl: Crawl, evidence: Evidence) -> Evidence:
    """Return the evidence with the digest of its capture, if the collection has the page."""
    page = crawl.find_page(evidence.url)
    return replace(evidence, digest=page.digest) if page else evidence


def _draw_tasks(graph: Graph, rng: Random, draw_task: TaskDrawer) -> Iterator[Task]:
    """Yield tasks without repeated questions, overused answers and questions that give the answer away."""
    seen_questions: set[str] = set()
    answer_counts: Counter[str] = Counter()
    misses = 0
    while misses < MAX_MISSES:
        task = draw_task(graph, rng)
        if (
            task is None
            or task.question in seen_questions
            or answer_counts[task.answers[0]] >= _max_same_answers(task, len(seen_questions))
            or _reveals_answer(task)
        ):
            misses += 1
            continue
        misses = 0
        seen_questions.add(task.question)
        answer_counts[task.answers[0]] += 1
        yield task


def _max_same_answers(task: Task, drawn_count: int) -> float:
    """Return how many tasks of a recipe may have the task's answer, after so many tasks. Choices and missing answers
    have no limit.
    """
    if task.answer_type in ("choice", "none"):
        return inf
    is_short = len(task.answers[0]) <= MAX_RECURRING_LENGTH
    return max(MAX_SAME_ANSWER, MAX_RECURRING_SHARE * drawn_count) if is_short else MAX_SAME_ANSWER


def _reveals_answer(task: Task) -> bool:
    """True if the question contains an answer, which is allowed for choices only."""
    question = normalise(task.question)
    return task.answer_type != "choice" and any(contains_phrase(question, normalise(answer)) for answer in task.answers)


def build_task(
    name: str, question: str, answers: Iterable[str], statements: Iterable[Fact | Evidence], answer_type: AnswerType,
    user: tuple[Reply, ...] = (),
) -> Task:  # fmt: skip
    """Return a task of the recipe called `name`, still without an id.

    `statements` are what must be read, in order; the number of hops is the number of their pages, at least 1. Repeated
    answers and statements are dropped.
    """
    evidence = tuple(
        dict.fromkeys(evidence_of(statement) if isinstance(statement, Fact) else statement for statement in statements)
    )
    pages = len({statement.url for statement in evidence})
    accepted_answers = tuple(dict.fromkeys(answers))
    return Task("", question, accepted_answers, evidence, max(pages, 1), name, answer_type, user=user)


def evidence_of(fact: Fact) -> Evidence:
    """Return the page and the table row that state a fact, as evidence."""
    return Evidence(fact.url, fact.quote, fact.text)


def is_informative(graph: Graph, fact: Fact) -> bool:
    """True if a fact is worth reading for: not easily guessed, not outdated, and not part of the subject's name."""
    is_in_subject = fact.target is not None and fact.target.name in fact.subject.name
    return not is_in_subject and not fact.as_of and graph.most_common_share(fact) <= MAX_GUESS_SHARE


def accepted_names(entity: Entity) -> tuple[str, ...]:
    """Return the accepted names of an entity: without and with the bracket of its title."""
    return (entity.name, entity.title)


def accepted_spellings(fact: Fact) -> tuple[str, ...]:
    """Return the object as the page has it, and in the other forms that are equally right, without repeats."""
    texts = [fact.text, *(accepted_names(fact.target) if fact.target else ())]
    if fact.base_relation.endswith("_on"):
        day = parse_day(fact)
        texts += [day.isoformat(), f"{day:%B} {day.day}, {day.year}"]
    number_text, _, unit = fact.text.partition(" ")
    if unit in UNIT_SPELLINGS and number_text[:1].isdigit():
        texts += [number_text, *(f"{number_text} {unit_name}" for unit_name in UNIT_SPELLINGS[unit])]
    return tuple(dict.fromkeys([*texts, *(text.replace(",", "") for text in texts if text[:1].isdigit())]))


def format_count(count: int, unit: str = "", *, is_age: bool = False) -> tuple[str, ...]:
    """Return a number as accepted answers: bare and with its unit. `is_age` adds the form `7 years old`."""
    number_text = f"{count:,}"
    if not unit:
        return (number_text,)
    with_unit = f"{number_text} {unit}{'s' * (count != 1)}"
    return (number_text, with_unit, f"{with_unit} old") if is_age else (number_text, with_unit)


def parse_day(fact: Fact) -> date:
    """Return the date of a fact whose object is a full date. Raises ValueError for another object."""
    return datetime.strptime(fact.text, "%d %B %Y").date()


def comparison_value(fact: Fact) -> float:
    """Return the number by which facts of one relation are compared: a date's ordinal, or the number itself."""
    return parse_day(fact).toordinal() if fact.base_relation.endswith("_on") else fact.number
