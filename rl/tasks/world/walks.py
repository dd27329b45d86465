"""Chains of facts through the graph and their questions: the recipe `draw_bridge`, and steps of other recipes."""

from __future__ import annotations

from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Reply, Task
from webemu.rl.tasks.world.graph_tasks import accepted_spellings, build_task, is_informative
from webemu.rl.tasks.world.words import (
    RELATION_PHRASES,
    Phrase,
    build_question,
    extend_phrase,
    find_phrases,
    kind_word,
    name_in_sentence,
)

HOPS = (1, 2, 3, 4, 5)
"""Lengths of chains, each drawn equally often."""
MAX_TRIES = 20
"""Starts that are tried for one chain."""
LEAD_SENTENCES = ("Think of {}.", "Consider {}.", "Take {}.", "I am thinking of {}.")
"""First sentences of questions in two sentences."""
START_KINDS = tuple(dict.fromkeys(kind_word for kind_word, _ in RELATION_PHRASES))
"""Kinds of entities that a chain can begin with."""


def draw_bridge(graph: Graph, rng: Random) -> Task | None:
    """Draw a task whose question follows a chain of 1 to 5 facts.

    A start from which no chain is long enough is drawn again, so that long chains are not rarer than the graph
    demands.
    """
    hops = rng.choice(HOPS)
    for _ in range(MAX_TRIES):
        start = rng.choice(graph.entities_of_kind(rng.choice(START_KINDS)))
        if facts := draw_chain(graph, rng, start, hops):
            return build_chain_task("bridge", rng, Phrase(name_in_sentence(start)), facts)
    return None


def draw_chain(
    graph: Graph, rng: Random, start: Entity, hops: int, excluded: frozenset[str] = frozenset()
) -> list[Fact] | None:
    """Draw a chain of `hops` facts, each about the object of the one before; return None if it ends early.

    No entity comes twice. The first relation, without the year of a series, is none of `excluded`.
    """
    facts: list[Fact] = []
    visited_keys, entity = {start.key}, start
    for hop in range(1, hops + 1):
        candidates = [
            fact for fact in graph.facts_about(entity) if _can_continue(graph, fact, visited_keys, hop == hops)
        ]
        if hop == 1:
            candidates = [fact for fact in candidates if fact.base_relation not in excluded]
        if not candidates:
            return None
        # First the relation, then one fact of it, so that long series are not preferred.
        relation = rng.choice(list(dict.fromkeys(fact.base_relation for fact in candidates)))
        fact = rng.choice([fact for fact in candidates if fact.base_relation == relation])
        facts.append(fact)
        if fact.target:
            entity = fact.target
            visited_keys.add(entity.key)
    return facts


def _can_continue(graph: Graph, fact: Fact, visited_keys: set[str], is_last: bool) -> bool:
    """True if a chain can go on with this fact, or end with it if `is_last`."""
    phrases = find_phrases(fact)
    if phrases is None or not is_informative(graph, fact) or (fact.target and fact.target.key in visited_keys):
        return False
    return is_last or bool(phrases.noun_phrases and fact.target)


def build_chain_task(
    name: str, rng: Random, start: Phrase, facts: list[Fact], first_facts: tuple[Fact, ...] = (), lead: str = "",
    user: tuple[Reply, ...] = (),
) -> Task:  # fmt: skip
    """Return the task of a chain that begins at the entity that `start` describes.

    `lead` is a sentence that comes before the question; `first_facts` are to be read before the chain.
    """
    phrases = find_phrases(facts[-1])
    assert phrases
    question = f"{lead} {_build_chain_question(rng, start, facts, not lead)}".strip()
    return build_task(name, question, accepted_spellings(facts[-1]), (*first_facts, *facts), phrases.answer_type, user)


def _build_chain_question(rng: Random, start: Phrase, facts: list[Fact], may_split: bool) -> str:
    """Return the question for a chain, in one sentence; longer chains sometimes get two, if `may_split`.

    The first sentence then leads to an entity, and the second goes on from it.
    """
    is_split = may_split and len(facts) > 2 and rng.random() < 0.35
    split_position = rng.randrange(1, len(facts)) if is_split else -1
    phrase, first_sentence = start, ""
    for position, fact in enumerate(facts):
        if position == split_position:
            first_sentence = f"{rng.choice(LEAD_SENTENCES).format(phrase.text)} "
            phrase = Phrase(f"that {kind_word(fact.subject)}")
        if position < len(facts) - 1:
            phrase = extend_phrase(rng, phrase, fact)
    return first_sentence + build_question(rng, phrase, facts[-1])


def describe_by_other(graph: Graph, rng: Random, entity: Entity) -> tuple[Phrase, Fact] | None:
    """Describe an entity by another one that leads to it; return the phrase and the fact that links them, or None."""
    informative = [fact for fact in graph.facts_naming(entity) if is_informative(graph, fact)]
    usable = [fact for fact in informative if (phrases := find_phrases(fact)) and phrases.noun_phrases]
    if not usable:
        return None
    fact = rng.choice(usable)
    return extend_phrase(rng, Phrase(name_in_sentence(fact.subject)), fact), fact
