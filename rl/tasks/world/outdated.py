"""Questions about what changed: an old almanac says one thing, newer pages another, and the question says which is
meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from webemu.rl.tasks.graph import Fact, Graph
from webemu.rl.tasks.task import Task
from webemu.rl.tasks.world.graph_tasks import accepted_spellings, build_task, comparison_value, format_count
from webemu.rl.tasks.world.walks import build_chain_task, draw_chain
from webemu.rl.tasks.world.words import Phrase, capitalize_first, name_in_sentence

CURRENT_QUESTIONS = {
    "mayor": ("Who is the present mayor of {X}?", "Who is mayor of {X} today?"),
    "employees": ("How many people does {X} employ today?", "What is the present number of employees of {X}?"),
    "students": ("How many students does {X} have today?", "What is the present number of students of {X}?"),
    "population": ("What is the latest known population of {X}?", "How many people did the last census count in {X}?"),
}
"""Questions for the value of today, by relation."""
OUTDATED_QUESTIONS = {
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
CHANGE_QUESTIONS = {
    "employees": "By how many does the present number of employees of {X} differ from that at the beginning of 2018?",
    "students": "By how many does the present number of students of {X} differ from that at the beginning of 2018?",
    "population": "By how many inhabitants did the population of {X} change from the 2011 census to the 2021 census?",
}
"""Questions for the difference of the two, by relation."""


def draw_stale(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the value of today, the outdated one, or the difference of the two."""
    if rng.random() < 0.15:
        return _draw_mayor_change(graph, rng)
    relation = rng.choice(list(OUTDATED_QUESTIONS))
    if not graph.facts_of_relation(relation, old=True):
        return None
    old_fact = rng.choice(graph.facts_of_relation(relation, old=True))
    current_fact = graph.find_fact(old_fact.subject, old_fact.base_relation)
    assert current_fact
    # `_outdated_task` is listed twice: outdated values are asked for twice as often.
    build_variant = rng.choice((_current_task, _outdated_task, _outdated_task, _change_task))
    return build_variant(graph, rng, old_fact, current_fact)


def _fill_question(rng: Random, templates: Mapping[str, tuple[str, ...]], fact: Fact) -> str:
    return capitalize_first(rng.choice(templates[fact.base_relation]).format(X=name_in_sentence(fact.subject)))


def _current_task(graph: Graph, rng: Random, old_fact: Fact, current_fact: Fact) -> Task | None:
    if old_fact.text == current_fact.text:
        return None
    return build_task(
        "stale",
        _fill_question(rng, CURRENT_QUESTIONS, current_fact),
        accepted_spellings(current_fact),
        [current_fact],
        "name" if current_fact.target else "number",
    )


def _outdated_task(graph: Graph, rng: Random, old_fact: Fact, current_fact: Fact) -> Task | None:
    """Return a task for the outdated value, or for one fact of the mayor of that time."""
    chain = draw_chain(graph, rng, old_fact.target, 1) if old_fact.target and rng.random() < 0.5 else None
    if chain:
        start = Phrase(
            f"the person who was mayor of {name_in_sentence(old_fact.subject)} at the beginning of 2018", True
        )
        return build_chain_task("stale", rng, start, chain, (old_fact,))
    return build_task(
        "stale",
        _fill_question(rng, OUTDATED_QUESTIONS, old_fact),
        accepted_spellings(old_fact),
        [old_fact],
        "name" if old_fact.base_relation == "mayor" else "number",
    )


def _change_task(graph: Graph, rng: Random, old_fact: Fact, current_fact: Fact) -> Task | None:
    if old_fact.base_relation not in CHANGE_QUESTIONS or comparison_value(old_fact) == comparison_value(current_fact):
        return None
    question = CHANGE_QUESTIONS[old_fact.base_relation].format(X=name_in_sentence(old_fact.subject))
    return build_task(
        "stale",
        question,
        format_count(round(abs(comparison_value(old_fact) - comparison_value(current_fact)))),
        [old_fact, current_fact],
        "number",
    )


def _draw_mayor_change(graph: Graph, rng: Random) -> Task | None:
    """Draw a question about a mayor who changed during the crawl: the first captures of such pages name the previous
    one.
    """
    former_mayor_facts = graph.facts_of_relation("previous_mayor")
    if not former_mayor_facts:
        return None
    old_fact = rng.choice(former_mayor_facts)
    current_fact = graph.find_fact(old_fact.subject, "mayor")
    assert current_fact
    town = name_in_sentence(old_fact.subject)
    if rng.random() < 0.5:
        return build_task(
            "stale", f"Who was mayor of {town} until December 2024?", accepted_spellings(old_fact), [old_fact], "name"
        )
    return build_task(
        "stale",
        f"Who became mayor of {town} in December 2024?",
        accepted_spellings(current_fact),
        [current_fact],
        "name",
    )
