"""Questions without an answer: about what no page says of an existing entity, or about an entity that does not exist.

Both are asked in the words of questions that have answers, so that the form gives nothing away.
"""

from __future__ import annotations

import re
from random import Random

from webemu.rl.tasks.graph import Entity, Graph
from webemu.rl.tasks.task import NOT_FOUND, Evidence, Task
from webemu.rl.tasks.world.graph_tasks import GUESSABLE, task
from webemu.rl.tasks.world.words import WAYS, Way, named, sentence, way

SILENT: tuple[tuple[str, str, str], ...] = (
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
BEFORE = {"prize": range(2001, 2012), "festival": range(2014, 2018)}
"""Years that are not in the tables of such pages."""
SINCE = {"prize": "established_in_year", "festival": "first_held_in_year"}
"""Relation that says in which year the series begins."""
FIRM_ENDS = ("Group", "Industries", "Instruments", "Manufacturing", "Labs", "Systems")
"""Endings for the names of companies that do not exist; existing companies end alike."""
NUMBERS = (2, 3, 4, 5, 7, 20, 100, 200, 300, 500, 700)
TOWN_FORMS = ("Upper {}", "Nether {}", "New {}", "Little {}", "Old {}", "{} Regis", "{} Marsh")


def no_such_thing(graph: Graph, rng: Random) -> Task | None:
    """Draw a task that has no answer; half of them are about something that does not exist."""
    return (_silent if rng.random() < 0.5 else _unheard_of)(graph, rng)


def _silent(graph: Graph, rng: Random) -> Task | None:
    """Draw a question about an existing entity whose page does not answer it."""
    kind, relation, words = rng.choice(SILENT)
    entity = rng.choice(graph.of(kind))
    year = 0
    if kind in BEFORE:
        year = rng.choice(BEFORE[kind])
        since = graph.fact(entity, SINCE[kind])
        if since is None or since.number > year:
            return None
    if _is_known(graph, entity, relation.format(Y=year)):
        return None
    question = sentence(words.format(X=named(entity), Y=year))
    return task("no-such-thing", question, NOT_FOUND, [Evidence(entity.url)], "none")


def _is_known(graph: Graph, entity: Entity, relation: str) -> bool:
    """True if the graph answers the question; an outdated page that names a mayor counts too."""
    if relation == "won":
        return any(fact.base == "winner" for fact in graph.naming(entity))
    if relation == "previous_mayor" and any(fact.as_of for fact in graph.about(entity)):
        return True
    return graph.fact(entity, relation) is not None


def _unheard_of(graph: Graph, rng: Random) -> Task | None:
    """Draw a question about something whose name is put together from names that exist.

    Only kinds are used of which pages mention no others than those in the graph. People are not among them: stories
    quote people that the graph does not know.
    """
    kind = rng.choice(("town", "product", "company", "novel", "film"))
    name = _name(graph, rng, kind)
    if name is None or not is_free(graph, name):
        return None
    ways = [_generic(graph, one, relation) for one, relation in WAYS if one == kind and "{Y}" not in relation]
    found = rng.choice([one for one in ways if one])
    entity = Entity("", kind, name, name, "")
    question = sentence(rng.choice(found.asks).format(X=named(entity)))
    return task("no-such-thing", question, NOT_FOUND, [], "none")


def _generic(graph: Graph, kind: str, relation: str) -> Way | None:
    """Return the phrases for a relation of a kind, or None if no such entity has it or if its answer is easily
    guessed.
    """
    facts = (found for entity in graph.of(kind) if (found := graph.fact(entity, relation)))
    first = next(facts, None)
    return way(first) if first and graph.commonest(first) <= GUESSABLE else None


def is_free(graph: Graph, name: str) -> bool:
    """True if no name in the graph is this one or contains it."""
    wanted = name.casefold()
    return not any(wanted in other.name.casefold() for other in graph.entities.values())


def _name(graph: Graph, rng: Random, kind: str) -> str | None:
    """Put together a name of a kind from two existing ones; return None if they do not allow it."""
    one, other = rng.choice(graph.of(kind)).name, rng.choice(graph.of(kind)).name
    match kind:
        case "town":
            return rng.choice(TOWN_FORMS).format(one) if " " not in one else None
        case "product":
            found = re.fullmatch(r"(\S+ \S+)(?: \d+)?", one)
            return f"{found[1]} {rng.choice(NUMBERS)}" if found else None
        case "company":
            stem, end = one.partition(" ")[::2]
            alone = any(firm.name == stem for firm in graph.of("company"))
            return f"{stem} {rng.choice(FIRM_ENDS)}" if end and "&" not in end and not alone else None
    return _title(one, other)


def _title(one: str, other: str) -> str | None:
    """Return `The Silent Orchard` for the works `The Silent Ferry` and `The Low Orchard`, or None for other forms of
    title.
    """
    halves = [re.fullmatch(r"(The \w+) (\w+)", name) for name in (one, other)]
    return f"{halves[0][1]} {halves[1][2]}" if halves[0] and halves[1] else None
