"""Names that several entities share: told apart by the question (`namesakes`), or left open until the agent asks
(`ambiguous`).
"""

from __future__ import annotations

from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Reply, Task
from webemu.rl.tasks.world.graph_tasks import is_telling, spellings, task
from webemu.rl.tasks.world.walks import asked, walk
from webemu.rl.tasks.world.words import Phrase, named, way

TOLD_BY = {
    "town": (
        ("in_region", "{N} in {V}"),
        ("on_river", "the {N} that stands on {V}"),
        ("first_mentioned", "the {N} that was first mentioned in {V}"),
    ),
    "person": (
        ("occupation", "the {v} {N}"),
        ("born_in", "the {N} who was born in {V}"),
        ("educated_at", "the {N} who studied at {V}"),
    ),
}
"""Relations that tell namesakes apart, and how to say so, by kind. `{N}` is the name, `{V}` the object, `{v}` the same
in lower case.
"""
TOLD = frozenset({"in_region", "occupation"})
"""Relations that the user names when asked which entity is meant; they are never asked for."""
WHICH = ("which", "what", "who", "where", "whom", "mean", "region", "country", "kind", "occupation", "profession")
"""Words by which the scripted user recognises a question about which entity is meant."""
WHEN = ("which", "what", "when", "year", "date", "time", "edition", "census", "mean")
"""Words by which the scripted user recognises a question about which year is meant."""


def bearers(graph: Graph, entity: Entity) -> list[Entity]:
    """Return all entities with the name and kind of this one, itself included."""
    return [other for other in graph.of(entity.kind) if other.name == entity.name]


def _shared(graph: Graph, rng: Random) -> Entity | None:
    """Draw an entity whose name others share, or None if there is none."""
    found = [entity for kind in TOLD_BY for entity in graph.of(kind) if entity.bracket]
    return rng.choice(found) if found else None


def namesakes(graph: Graph, rng: Random) -> Task | None:
    """Draw a question whose entity shares its name and is told apart by a fact."""
    entity = _shared(graph, rng)
    if entity is None:
        return None
    relation, words = rng.choice(TOLD_BY[entity.kind])
    told = graph.fact(entity, relation)
    facts = walk(graph, rng, entity, rng.randint(1, 2), frozenset({relation}))
    if told is None or not facts or sum(graph.holds(one, told) for one in bearers(graph, entity)) > 1:
        return None
    value = named(told.target) if told.target else told.text
    start = Phrase(words.format(N=entity.name, V=value, v=value.lower()), "who" in words or "that" in words)
    # The region is in the title of the page anyway, so the fact need not be read.
    return asked("namesakes", rng, start, facts, (told,) if relation != "in_region" else ())


def ambiguous(graph: Graph, rng: Random) -> Task | None:
    """Draw a question that only the user can complete.

    Without asking, no answer is the right one: the user means one namesake, or one year of a series.
    """
    return (_which if rng.random() < 0.5 else _when)(graph, rng)


def _which(graph: Graph, rng: Random) -> Task | None:
    """Draw a question about one of several namesakes that only the user's reply tells apart."""
    entity = _shared(graph, rng)
    facts = walk(graph, rng, entity, 1, TOLD) if entity else None
    if entity is None or not facts or _agree(graph, entity, facts[0]):
        return None
    meant = f"The one in {entity.bracket}." if entity.kind == "town" else f"I mean the {entity.bracket}."
    return asked("ambiguous", rng, Phrase(entity.name), facts, user=(Reply(WHICH, meant),))


def _agree(graph: Graph, entity: Entity, fact: Fact) -> bool:
    """True if another entity of the name has the same answer, or has none."""
    others = [graph.fact(one, fact.relation) for one in bearers(graph, entity) if one != entity]
    return any(other is None or other.text == fact.text for other in others)


YEARS = {
    "winner": ("Which {K} won {X} that year?", "In the year that I have in mind, which {K} won {X}?"),
    "visitors": (
        "How many visitors did {X} have that year?",
        "In the year that I have in mind, how many people came to {X}?",
    ),
    "population": (
        "What was the population of {X} at an earlier census?",
        "At the census that I have in mind, how many people lived in {X}?",
    ),
}
"""Questions that leave the year of a series open, by relation; `{K}` is the object's kind."""


def _when(graph: Graph, rng: Random) -> Task | None:
    """Draw a question about a series whose year only the user's reply names."""
    base = rng.choice(list(YEARS))
    fact = rng.choice(graph.stating(base))
    series = [one.text for one in graph.about(fact.subject) if one.base == base and one.year and not one.as_of]
    words = rng.choice(YEARS[base])
    if (
        not fact.year
        or ("earlier" in words and fact.year == "2021")
        or series.count(fact.text) > 1
        or not is_telling(graph, fact)
    ):
        return None
    found = way(fact)
    assert found
    question = words.format(X=named(fact.subject), K=fact.target.kind if fact.target else "")
    said = rng.choice((f"I mean the year {fact.year}.", f"In {fact.year}."))
    return task("ambiguous", question, spellings(fact), [fact], found.type, (Reply(WHEN, said),))
