"""Names that several entities share: told apart by the question (`draw_namesakes`), or left open until the agent asks
(`draw_ambiguous`).
"""

from __future__ import annotations

from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Reply, Task
from webemu.rl.tasks.world.graph_tasks import accepted_spellings, build_task, is_informative
from webemu.rl.tasks.world.walks import build_chain_task, draw_chain
from webemu.rl.tasks.world.words import Phrase, find_phrases, name_in_sentence

DISTINGUISHING_PHRASES = {
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
TITLE_RELATIONS = frozenset({"in_region", "occupation"})
"""Relations that the user names when asked which entity is meant; they are never asked for."""
ENTITY_QUESTION_WORDS = ("which one", "which", "who", "where", "mean", "region", "country", "occupation", "profession")
"""Words by which the scripted user recognises a question about which entity is meant."""
YEAR_QUESTION_WORDS = ("which one", "year", "when", "date", "time", "edition", "census")
"""Words by which the scripted user recognises a question about which year is meant."""


def list_bearers(graph: Graph, entity: Entity) -> list[Entity]:
    """Return all entities with the name and kind of this one, itself included."""
    return [other for other in graph.entities_of_kind(entity.kind) if other.name == entity.name]


def _draw_namesake(graph: Graph, rng: Random) -> Entity | None:
    """Draw an entity whose name others share, or None if there is none."""
    candidates = [
        entity for kind in DISTINGUISHING_PHRASES for entity in graph.entities_of_kind(kind) if entity.disambiguator
    ]
    return rng.choice(candidates) if candidates else None


def draw_namesakes(graph: Graph, rng: Random) -> Task | None:
    """Draw a question whose entity shares its name and is told apart by a fact."""
    entity = _draw_namesake(graph, rng)
    if entity is None:
        return None
    relation, words = rng.choice(DISTINGUISHING_PHRASES[entity.kind])
    distinguishing_fact = graph.find_fact(entity, relation)
    facts = draw_chain(graph, rng, entity, rng.randint(1, 2), frozenset({relation}))
    if (
        distinguishing_fact is None
        or not facts
        or sum(graph.is_true_of(bearer, distinguishing_fact) for bearer in list_bearers(graph, entity)) > 1
    ):
        return None
    value = name_in_sentence(distinguishing_fact.target) if distinguishing_fact.target else distinguishing_fact.text
    start = Phrase(words.format(N=entity.name, V=value, v=value.lower()), "who" in words or "that" in words)
    # The region is in the title of the page anyway, so the fact need not be read.
    return build_chain_task("namesakes", rng, start, facts, (distinguishing_fact,) if relation != "in_region" else ())


def draw_ambiguous(graph: Graph, rng: Random) -> Task | None:
    """Draw a question that only the user can complete.

    Without asking, no answer is the right one: the user means one namesake, or one year of a series.
    """
    return (_draw_ambiguous_entity if rng.random() < 0.5 else _draw_ambiguous_year)(graph, rng)


def _draw_ambiguous_entity(graph: Graph, rng: Random) -> Task | None:
    """Draw a question about one of several namesakes that only the user's reply tells apart."""
    entity = _draw_namesake(graph, rng)
    facts = draw_chain(graph, rng, entity, 1, TITLE_RELATIONS) if entity else None
    if entity is None or not facts or _has_same_answer(graph, entity, facts[0]):
        return None
    reply_text = (
        f"The one in {entity.disambiguator}." if entity.kind == "town" else f"I mean the {entity.disambiguator}."
    )
    return build_chain_task(
        "ambiguous", rng, Phrase(entity.name), facts, user=(Reply(ENTITY_QUESTION_WORDS, reply_text),)
    )


def _has_same_answer(graph: Graph, entity: Entity, fact: Fact) -> bool:
    """True if another entity of the name has the same answer, or has none."""
    other_facts = [graph.find_fact(bearer, fact.relation) for bearer in list_bearers(graph, entity) if bearer != entity]
    return any(other_fact is None or other_fact.text == fact.text for other_fact in other_facts)


SERIES_QUESTIONS = {
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


def _draw_ambiguous_year(graph: Graph, rng: Random) -> Task | None:
    """Draw a question about a series whose year only the user's reply names."""
    relation = rng.choice(list(SERIES_QUESTIONS))
    fact = rng.choice(graph.facts_of_relation(relation))
    series = [
        other_fact.text
        for other_fact in graph.facts_about(fact.subject)
        if other_fact.base_relation == relation and other_fact.year and not other_fact.as_of
    ]
    template = rng.choice(SERIES_QUESTIONS[relation])
    if (
        not fact.year
        or ("earlier" in template and fact.year == "2021")
        or series.count(fact.text) > 1
        or not is_informative(graph, fact)
    ):
        return None
    phrases = find_phrases(fact)
    assert phrases
    question = template.format(X=name_in_sentence(fact.subject), K=fact.target.kind if fact.target else "")
    reply_text = rng.choice((f"I mean the year {fact.year}.", f"In {fact.year}."))
    return build_task(
        "ambiguous",
        question,
        accepted_spellings(fact),
        [fact],
        phrases.answer_type,
        (Reply(YEAR_QUESTION_WORDS, reply_text),),
    )
