"""Questions without an answer: about what no page says of an existing entity, or about an entity that does not exist.

Both are asked in the words of questions that have answers, so that the form gives nothing away.
"""

from __future__ import annotations

import re
from random import Random

from webemu.rl.tasks.graph import Entity, Graph
from webemu.rl.tasks.task import NOT_FOUND, Evidence, Task
from webemu.rl.tasks.world.graph_tasks import MAX_GUESS_SHARE, build_task
from webemu.rl.tasks.world.words import (
    RELATION_PHRASES,
    RelationPhrases,
    capitalize_first,
    find_phrases,
    name_in_sentence,
)

UNSTATED_RELATIONS: tuple[tuple[str, str, str], ...] = (
    ("town", "on_river", "Which river flows through {X}?"),
    ("town", "on_river", "On which river does {X} stand?"),
    ("town", "previous_mayor", "Who was the previous mayor of {X}?"),
    ("town", "population_1981", "What was the population of {X} in 1981?"),
    ("person", "died_in_year", "In which year did {X} die?"),
    ("novel", "won", "Which prize did {X} win?"),
    ("film", "won", "Which prize did {X} win?"),
    ("prize", "winner_{Y}", "Who won {X} in {Y}?"),
    ("festival", "visitors_{Y}", "How many visitors did {X} have in {Y}?"),
)
"""Kind of entity, a relation that some or all of the kind lack, and the question for it."""
YEARS_BEFORE_TABLE = {"prize": range(2001, 2012), "festival": range(2014, 2018)}
"""Years that are not in the tables of such pages."""
FIRST_YEAR_RELATION = {"prize": "established_in_year", "festival": "first_held_in_year"}
"""Relation that says in which year the series begins."""
COMPANY_SUFFIXES = ("Group", "Industries", "Instruments", "Manufacturing", "Labs", "Systems")
"""Endings for the names of companies that do not exist; existing companies end alike."""
MODEL_NUMBERS = (2, 3, 4, 5, 7, 20, 100, 200, 300, 500, 700)
TOWN_FORMS = ("Upper {}", "Nether {}", "New {}", "Little {}", "Old {}", "{} Regis", "{} Marsh")


def draw_no_such_thing(graph: Graph, rng: Random) -> Task | None:
    """Draw a task that has no answer; half of them are about something that does not exist."""
    return (_draw_unstated if rng.random() < 0.5 else _draw_nonexistent)(graph, rng)


def _draw_unstated(graph: Graph, rng: Random) -> Task | None:
    """Draw a question about an existing entity whose page does not answer it."""
    kind, relation, template = rng.choice(UNSTATED_RELATIONS)
    entity = rng.choice(graph.entities_of_kind(kind))
    year = 0
    if kind in YEARS_BEFORE_TABLE:
        year = rng.choice(YEARS_BEFORE_TABLE[kind])
        first_year = graph.find_fact(entity, FIRST_YEAR_RELATION[kind])
        if first_year is None or first_year.number > year:
            return None
    if _is_answered(graph, entity, relation.format(Y=year)):
        return None
    question = capitalize_first(template.format(X=name_in_sentence(entity), Y=year))
    return build_task("no-such-thing", question, NOT_FOUND, [Evidence(entity.url)], "none")


def _is_answered(graph: Graph, entity: Entity, relation: str) -> bool:
    """True if the graph answers the question; an outdated page that names a mayor counts too."""
    if relation == "won":
        return any(fact.base_relation == "winner" for fact in graph.facts_naming(entity))
    if relation == "previous_mayor" and any(fact.as_of for fact in graph.facts_about(entity)):
        return True
    return graph.find_fact(entity, relation) is not None


def _draw_nonexistent(graph: Graph, rng: Random) -> Task | None:
    """Draw a question about something whose name is put together from names that exist.

    Only kinds are used of which pages mention no others than those in the graph. People are not among them: stories
    quote people that the graph does not know.
    """
    kind = rng.choice(("town", "product", "company", "novel", "film"))
    name = _invent_name(graph, rng, kind)
    if name is None or not is_unused_name(graph, name):
        return None
    candidates = [
        _phrases_of_kind(graph, one, relation)
        for one, relation in RELATION_PHRASES
        if one == kind and "{Y}" not in relation
    ]
    phrases = rng.choice([one for one in candidates if one])
    entity = Entity("", kind, name, name, "")
    question = capitalize_first(rng.choice(phrases.questions).format(X=name_in_sentence(entity)))
    return build_task("no-such-thing", question, NOT_FOUND, [], "none")


def _phrases_of_kind(graph: Graph, kind: str, relation: str) -> RelationPhrases | None:
    """Return the phrases for a relation of a kind, or None if no such entity has it or if its answer is easily
    guessed.
    """
    facts = (fact for entity in graph.entities_of_kind(kind) if (fact := graph.find_fact(entity, relation)))
    first_fact = next(facts, None)
    return find_phrases(first_fact) if first_fact and graph.most_common_share(first_fact) <= MAX_GUESS_SHARE else None


def is_unused_name(graph: Graph, name: str) -> bool:
    """True if no name in the graph is this one or contains it."""
    folded_name = name.casefold()
    return not any(folded_name in entity.name.casefold() for entity in graph.entities.values())


def _invent_name(graph: Graph, rng: Random, kind: str) -> str | None:
    """Put together a name of a kind from two existing ones; return None if they do not allow it."""
    first, second = rng.choice(graph.entities_of_kind(kind)).name, rng.choice(graph.entities_of_kind(kind)).name
    match kind:
        case "town":
            return rng.choice(TOWN_FORMS).format(first) if " " not in first else None
        case "product":
            match = re.fullmatch(r"(\S+ \S+)(?: \d+)?", first)
            return f"{match[1]} {rng.choice(MODEL_NUMBERS)}" if match else None
        case "company":
            stem, suffix = first.partition(" ")[::2]
            is_stem_used = any(firm.name == stem for firm in graph.entities_of_kind("company"))
            return (
                f"{stem} {rng.choice(COMPANY_SUFFIXES)}" if suffix and "&" not in suffix and not is_stem_used else None
            )
    return _mix_titles(first, second)


def _mix_titles(first: str, second: str) -> str | None:
    """Return `The Silent Orchard` for the works `The Silent Ferry` and `The Low Orchard`, or None for other forms of
    title.
    """
    halves = [re.fullmatch(r"(The \w+) (\w+)", name) for name in (first, second)]
    return f"{halves[0][1]} {halves[1][2]}" if halves[0] and halves[1] else None
