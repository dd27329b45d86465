"""Chains of facts through the graph and the questions they make: the recipe `bridge`, and steps of other recipes."""

from __future__ import annotations

from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Reply, Task
from webemu.rl.tasks.world.graph_tasks import is_telling, spellings, task
from webemu.rl.tasks.world.words import WAYS, Phrase, ask, follow, kind, named, way

HOPS = (1, 2, 3, 4, 5)
"""Lengths of chains, each drawn equally often."""
TRIES = 20
"""Starts that are tried for one chain."""
LEADS = ("Think of {}.", "Consider {}.", "Take {}.", "I am thinking of {}.")
"""First sentences of questions in two sentences."""
STARTS = tuple(dict.fromkeys(kind for kind, _ in WAYS))
"""Kinds of entities that a chain can begin with."""


def bridge(graph: Graph, rng: Random) -> Task | None:
    """Draw a task whose question follows a chain of 1 to 5 facts.

    A start from which no chain is long enough is drawn again, so that long chains are not rarer than the graph
    demands.
    """
    hops = rng.choice(HOPS)
    for _ in range(TRIES):
        start = rng.choice(graph.of(rng.choice(STARTS)))
        if facts := walk(graph, rng, start, hops):
            return asked("bridge", rng, Phrase(named(start)), facts)
    return None


def walk(graph: Graph, rng: Random, start: Entity, hops: int, but: frozenset[str] = frozenset()) -> list[Fact] | None:
    """Draw a chain of `hops` facts, each about the object of the one before; return None if it ends early.

    No entity comes twice. The first relation, without the year of a series, is none of `excluded`.
    """
    facts: list[Fact] = []
    seen, at = {start.key}, start
    for hop in range(1, hops + 1):
        open_ones = [fact for fact in graph.about(at) if _leads(graph, fact, seen, hop == hops)]
        if hop == 1:
            open_ones = [fact for fact in open_ones if fact.base not in but]
        if not open_ones:
            return None
        # First the relation, then one fact of it, so that long series are not preferred.
        base = rng.choice(list(dict.fromkeys(fact.base for fact in open_ones)))
        fact = rng.choice([fact for fact in open_ones if fact.base == base])
        facts.append(fact)
        if fact.target:
            at = fact.target
            seen.add(at.key)
    return facts


def _leads(graph: Graph, fact: Fact, seen: set[str], last: bool) -> bool:
    """True if a chain can go on with this fact, or end with it if `is_last`."""
    found = way(fact)
    if found is None or not is_telling(graph, fact) or (fact.target and fact.target.key in seen):
        return False
    return last or bool(found.nouns and fact.target)


def asked(
    name: str, rng: Random, start: Phrase, facts: list[Fact], read: tuple[Fact, ...] = (), lead: str = "",
    user: tuple[Reply, ...] = (),
) -> Task:  # fmt: skip
    """Return the task of a chain that begins at the entity that `start` describes.

    `lead` is a sentence that comes before the question; `first_facts` are to be read before the chain.
    """
    found = way(facts[-1])
    assert found
    question = f"{lead} {_question(rng, start, facts, not lead)}".strip()
    return task(name, question, spellings(facts[-1]), (*read, *facts), found.type, user)


def _question(rng: Random, start: Phrase, facts: list[Fact], may_part: bool) -> str:
    """Return the question for a chain, in one sentence; longer chains sometimes get two, if `may_split`.

    The first sentence then leads to an entity, and the second goes on from it.
    """
    parts = may_part and len(facts) > 2 and rng.random() < 0.35
    part = rng.randrange(1, len(facts)) if parts else -1
    phrase, before = start, ""
    for number, fact in enumerate(facts):
        if number == part:
            before = f"{rng.choice(LEADS).format(phrase.text)} "
            phrase = Phrase(f"that {kind(fact.subject)}")
        if number < len(facts) - 1:
            phrase = follow(rng, phrase, fact)
    return before + ask(rng, phrase, facts[-1])


def reached(graph: Graph, rng: Random, entity: Entity) -> tuple[Phrase, Fact] | None:
    """Describe an entity by another one that leads to it; return the phrase and the fact that links them, or None."""
    telling = [fact for fact in graph.naming(entity) if is_telling(graph, fact)]
    leading = [fact for fact in telling if (found := way(fact)) and found.nouns]
    if not leading:
        return None
    fact = rng.choice(leading)
    return follow(rng, Phrase(named(fact.subject)), fact), fact
