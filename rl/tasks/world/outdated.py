"""Questions about what changed: an old almanac says one thing, newer pages another, and the question says which is
meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from webemu.rl.tasks.graph import Fact, Graph
from webemu.rl.tasks.task import Task
from webemu.rl.tasks.world.graph_tasks import counted, size, spellings, task
from webemu.rl.tasks.world.walks import asked, walk
from webemu.rl.tasks.world.words import Phrase, named, sentence

NOW = {
    "mayor": ("Who is the present mayor of {X}?", "Who is mayor of {X} today?"),
    "employees": ("How many people does {X} employ today?", "What is the present number of employees of {X}?"),
    "students": ("How many students does {X} have today?", "What is the present number of students of {X}?"),
    "population": ("What is the latest known population of {X}?", "How many people did the last census count in {X}?"),
}
"""Questions for the value of today, by relation."""
THEN = {
    "mayor": ("Who was mayor of {X} at the beginning of 2018?", "On 1 January 2018, who was mayor of {X}?"),
    "employees": (
        "How many people did {X} employ at the beginning of 2018?",
        "On 1 January 2018, how many employees did {X} have?",
    ),
    "students": (
        "How many students did {X} have at the beginning of 2018?",
        "On 1 January 2018, how many students were at {X}?",
    ),
    "population": (
        "What was the population of {X} ten years before the 2021 census?",
        "How many people did the 2011 census count in {X}?",
    ),
}
"""Questions for the value that the old almanac states, by relation."""
CHANGE = {
    "employees": "By how many does the present number of employees of {X} differ from that at the beginning of 2018?",
    "students": "By how many does the present number of students of {X} differ from that at the beginning of 2018?",
    "population": "By how many inhabitants did the population of {X} change from the 2011 census to the 2021 census?",
}
"""Questions for the difference of the two, by relation."""


def stale(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the value of today, the outdated one, or the difference of the two."""
    if rng.random() < 0.15:
        return _lately_changed(graph, rng)
    base = rng.choice(list(THEN))
    if not graph.stating(base, old=True):
        return None
    old = rng.choice(graph.stating(base, old=True))
    now = graph.fact(old.subject, old.base)
    assert now
    # `_outdated_task` is listed twice: outdated values are asked for twice as often.
    way = rng.choice((_now, _then, _then, _change))
    return way(graph, rng, old, now)


def _ask(rng: Random, forms: Mapping[str, tuple[str, ...]], fact: Fact) -> str:
    return sentence(rng.choice(forms[fact.base]).format(X=named(fact.subject)))


def _now(graph: Graph, rng: Random, old: Fact, now: Fact) -> Task | None:
    if old.text == now.text:
        return None
    return task("stale", _ask(rng, NOW, now), spellings(now), [now], "name" if now.target else "number")


def _then(graph: Graph, rng: Random, old: Fact, now: Fact) -> Task | None:
    """Return a task for the outdated value, or for one fact of the mayor of that time."""
    further = walk(graph, rng, old.target, 1) if old.target and rng.random() < 0.5 else None
    if further:
        start = Phrase(f"the person who was mayor of {named(old.subject)} at the beginning of 2018", True)
        return asked("stale", rng, start, further, (old,))
    return task("stale", _ask(rng, THEN, old), spellings(old), [old], "name" if old.base == "mayor" else "number")


def _change(graph: Graph, rng: Random, old: Fact, now: Fact) -> Task | None:
    if old.base not in CHANGE or size(old) == size(now):
        return None
    question = CHANGE[old.base].format(X=named(old.subject))
    return task("stale", question, counted(round(abs(size(old) - size(now)))), [old, now], "number")


def _lately_changed(graph: Graph, rng: Random) -> Task | None:
    """Draw a question about a mayor who changed during the crawl: the first captures of such pages name the previous
    one.
    """
    changed = graph.stating("previous_mayor")
    if not changed:
        return None
    before = rng.choice(changed)
    now = graph.fact(before.subject, "mayor")
    assert now
    town = named(before.subject)
    if rng.random() < 0.5:
        return task("stale", f"Who was mayor of {town} until December 2024?", spellings(before), [before], "name")
    return task("stale", f"Who became mayor of {town} in December 2024?", spellings(now), [now], "name")
