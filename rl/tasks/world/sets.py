"""Questions about sets: the one entity for which two facts hold, and how many members a set has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.tasks.world.graph_tasks import counted, names, size, stated, task
from webemu.rl.tasks.world.groups import (
    MOST_IN_TABLE,
    MOST_ON_BANKS,
    MOST_READ,
    in_table,
    made_by,
    on_banks,
    on_river,
    towns_of,
)
from webemu.rl.tasks.world.walks import reached
from webemu.rl.tasks.world.words import named, sentence

MEETINGS: tuple[tuple[str, str, str, str], ...] = (
    ("town", "in_region", "on_river", "Which town in {A} stands on {B}?"),
    ("person", "born_in", "educated_at", "Who was born in {A} and studied at {B}?"),
    ("person", "occupation", "born_in", "Which {a} was born in {B}?"),
    ("person", "occupation", "educated_at", "Which {a} studied at {B}?"),
    ("person", "employer", "born_in", "Which person employed by {A} was born in {B}?"),
    ("company", "industry", "headquartered_in", "Which maker of {a} is headquartered in {B}?"),
    ("company", "industry", "founded_in_year", "Which maker of {a} was founded in {B}?"),
    ("company", "headquartered_in", "founded_in_year", "Which company headquartered in {A} was founded in {B}?"),
    ("product", "type", "introduced_in_year", "Which {a} was introduced in {B}?"),
    ("product", "type", "made_by", "Which {a} does {B} make?"),
    ("novel", "publisher", "published_in_year", "Which novel did {A} publish in {B}?"),
    ("novel", "set_in", "publisher", "Which novel set in {A} was published by {B}?"),
    ("novel", "set_in", "author", "Which novel by {B} is set in {A}?"),
    ("film", "studio", "released_in_year", "Which film by {A} was released in {B}?"),
    ("film", "set_in", "studio", "Which film set in {A} was produced by {B}?"),
    ("film", "director", "studio", "Which film did {A} direct for {B}?"),
    ("landmark", "architect", "stands_in", "Which building by {A} stands in {B}?"),
)
"""Kind, two relations that each have more than one such subject for these objects, and how to ask for the one entity
that has both. `{A}` and `{B}` are the objects, `{a}` is the first in lower case.
"""
WON = (("set_in", "is set in"), ("publisher", "was published by"), ("studio", "was produced by"))
"""Relations of a prize winner that tell it from other winners, and the words for them."""


def intersection(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the only entity for which two facts hold that each hold for others too."""
    if rng.random() < 0.25:
        return _winner(graph, rng)
    kind, first, second, words = rng.choice(MEETINGS)
    if not graph.of(kind):
        return None
    entity = rng.choice(graph.of(kind))
    facts = [found for relation in (first, second) if (found := graph.fact(entity, relation))]
    if len(facts) < 2 or not _meet(graph, entity, facts):
        return None
    led = reached(graph, rng, facts[1].target) if facts[1].target and rng.random() < 0.4 else None
    second_named = led[0].text if led else _object(facts[1])
    question = words.format(A=_object(facts[0]), B=second_named, a=facts[0].text.lower())
    return task("intersection", question, names(entity), ((led[1],) if led else ()) + tuple(facts), "name")


def _meet(graph: Graph, entity: Entity, facts: Sequence[Fact]) -> bool:
    """True if each fact holds for others too, and all together for this entity alone."""
    alike = [{other.key for other in graph.of(entity.kind) if graph.holds(other, fact)} for fact in facts]
    return all(len(found) > 1 for found in alike) and set.intersection(*alike) == {entity.key}


def _object(fact: Fact) -> str:
    """Return the object of a fact as it stands in a sentence."""
    return named(fact.target) if fact.target else fact.text


def _winner(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the winner of a prize about which another fact is known; the year is left open."""
    prize = rng.choice(graph.of("prize"))
    won = [fact for fact in graph.about(prize) if fact.base == "winner"]
    fact = rng.choice(won)
    assert fact.target
    relation, words = rng.choice(WON)
    also = graph.fact(fact.target, relation)
    if also is None or sum(graph.holds(one.target, also) for one in won if one.target) > 1:
        return None
    question = f"Which winner of {named(prize)} in the years {won[0].year} to {won[-1].year} {words} {_object(also)}?"
    return task("intersection", question, names(fact.target), (fact, also), "title")


FEWEST = (2, 3, 3)
"""Smallest counts that are asked for, drawn anew for each task. Small groups are so common that without it most counts
would be one or two.
"""


def counting(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the number of members of a set."""
    return rng.choice(_COUNTS)(graph, rng)


def _counted(question: str, count: int, read: Iterable[Fact | Evidence]) -> Task:
    return task("counting", sentence(question), counted(count), read, "number")


def _years_above(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the number of years in which a festival had more visitors than a limit."""
    festival = rng.choice(graph.of("festival"))
    years = [fact for fact in graph.about(festival) if fact.base == "visitors"]
    count = rng.randint(1, len(years) - 1)
    limit = between(sorted(map(size, years), reverse=True), count)
    if limit is None:
        return None
    question = f"in how many of the years 2018 to 2024 did {named(festival)} have more than {limit:,} visitors?"
    return _counted(question, count, [fact for fact in years if size(fact) > limit])


def _towns_above(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the number of towns in a region with more inhabitants than a limit."""
    region = rng.choice(graph.of("region"))
    towns = towns_of(graph, region)
    if not 4 <= len(towns) <= MOST_IN_TABLE:
        return None
    count = rng.randint(1, len(towns) - 1)
    limit = between([size(fact) for fact in towns], count)
    if limit is None:
        return None
    question = f"how many towns in {named(region)} had more than {limit:,} inhabitants at the 2021 census?"
    return _counted(question, count, [in_table(region, fact) for fact in towns[:count]])


def _on_river(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the number of towns on a river: all of them, or those with more inhabitants than a limit."""
    river = rng.choice(graph.of("river"))
    towns = on_river(graph, river)
    if not 1 <= len(towns) <= MOST_ON_BANKS:
        return None
    if len(towns) > MOST_READ or rng.random() < 0.3:
        return _counted(f"how many towns stand on {named(river)}?", len(towns), [on_banks(graph, river)])
    facts = sorted((found for town in towns if (found := graph.fact(town, "population"))), key=size, reverse=True)
    count = rng.randint(1, len(facts))
    limit = between([*map(size, facts), 0], count)
    if limit is None:
        return None
    question = f"how many towns on {named(river)} have more than {limit:,} inhabitants?"
    return _counted(question, count, [on_banks(graph, river), *map(stated, facts)])


def _made(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the number of things that a person or a company made."""
    kind, relation, words = rng.choice(
        (("novel", "author", "how many novels by {} are listed in OpenLexicon?"),
         ("film", "director", "how many films by {} are listed in OpenLexicon?"),
         ("product", "made_by", "how many products of {} are listed in OpenLexicon?"),
         ("landmark", "architect", "how many buildings by {} are listed in OpenLexicon?"))
    )  # fmt: skip
    maker, made = made_by(graph, rng, kind, relation)
    if not rng.choice(FEWEST) <= len(made) <= MOST_READ:
        return None
    return _counted(words.format(named(maker)), len(made), made)


def _winners_of(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the number of winners of some years that came from one publisher or studio."""
    prize = rng.choice(graph.of("prize"))
    won = [fact for fact in graph.about(prize) if fact.base == "winner"]
    span = rng.randint(3, 5)
    start = rng.randrange(len(won) - span + 1)
    some = won[start : start + span]
    houses = [found for fact in some if fact.target and (found := graph.fact(fact.target, _house(fact.target)))]
    house = rng.choice(houses).text
    count = sum(fact.text == house for fact in houses)
    if count < rng.choice(FEWEST):
        return None
    verb = "published" if houses[0].relation == "publisher" else "produced"
    years = f"from {some[0].year} to {some[-1].year}"
    question = f"how many of the winners of {named(prize)} {years} were {verb} by {house}?"
    return _counted(question, count, [*some, *houses])


def _house(work: Entity) -> str:
    """Return the relation that names a work's publisher or studio."""
    return "publisher" if work.kind == "novel" else "studio"


_COUNTS: tuple[Callable[[Graph, Random], Task | None], ...] = (
    _years_above, _towns_above, _on_river, _made, _winners_of,
)  # fmt: skip


def between(falling: Sequence[float], count: int) -> int | None:
    """Return a round number that exactly `count` of the numbers exceed, or None if there is none.

    `descending` holds the numbers, largest first, and has more than `count` entries.
    """
    above, below = falling[count - 1], falling[count]
    for unit in (10_000, 5_000, 1_000, 500, 100):
        limit = int(above - 1) // unit * unit
        if limit >= below and limit > 0:
            return limit
    return None
