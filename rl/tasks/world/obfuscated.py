"""Entities described and never named: two or three facts, some of them blurred, that fit exactly one in the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Task
from webemu.rl.tasks.world.graph_tasks import day_of, names, task
from webemu.rl.tasks.world.walks import asked, reached, walk
from webemu.rl.tasks.world.words import Phrase, an, kind, listing, named, sentence

Test = Callable[[Fact], bool]
"""Predicate that says whether the words for one fact fit another fact too."""
Blur = Callable[[Fact], tuple[str, Test]]
"""Function from a fact to words for it and to the facts of that relation that the words fit as well."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a description."""

    words: str
    """Text of the clause."""
    fact: Fact
    """Fact that the clause states."""
    fits: Test
    """Predicate for the facts of other entities that the clause would fit too."""
    read: tuple[Fact, ...] = ()
    """Facts that lead to an entity that the clause describes instead of naming it."""


def exactly(fact: Fact) -> tuple[str, Test]:
    """Name the object as it is; only the same object fits."""
    words = named(fact.target) if fact.target else fact.text
    return words, lambda one: (one.text, one.target) == (fact.text, fact.target)


def lower(fact: Fact) -> tuple[str, Test]:
    """Give the object in lower case; only the same object fits."""
    return fact.text.lower(), lambda one: one.text == fact.text


def decade(fact: Fact) -> tuple[str, Test]:
    """Blur a year or date to its decade."""
    ten = int(fact.text[-4:]) // 10
    return f"the {ten}0s", lambda one: int(one.text[-4:]) // 10 == ten


def century(fact: Fact) -> tuple[str, Test]:
    """Blur a year to its century."""
    number = (int(fact.number) - 1) // 100 + 1
    return f"the {number}th century", lambda one: (int(one.number) - 1) // 100 + 1 == number


def month(fact: Fact) -> tuple[str, Test]:
    """Blur a date to its month and year."""
    day = day_of(fact)
    return f"{day:%B} {day.year}", lambda one: one.text.endswith(f"{day:%B} {day.year}")


def above(fact: Fact) -> tuple[str, Test]:
    """Blur a number to `more than` a limit: the number rounded down to its first digit."""
    unit = 10 ** (len(str(int(fact.number))) - 1)
    limit = (int(fact.number) - 1) // unit * unit
    return f"more than {limit:,}", lambda one: one.number > limit


CLAUSES: dict[str, tuple[tuple[str, str, Blur], ...]] = {
    "town": (
        ("in_region", "lies in {}", exactly),
        ("on_river", "stands on {}", exactly),
        ("first_mentioned", "was first mentioned in {}", century),
        ("population", "has {} inhabitants", above),
        ("mayor_since", "has had its mayor since {}", exactly),
        ("area", "covers {} square kilometres", above),
    ),
    "person": (
        ("born_on", "was born in {}", decade),
        ("born_on", "was born in {}", month),
        ("born_in", "comes from {}", exactly),
        ("educated_at", "studied at {}", exactly),
        ("employer", "works for {}", exactly),
    ),
    "company": (
        ("industry", "makes {}", lower),
        ("founded_in_year", "was founded in {}", decade),
        ("founded_in_year", "was founded in {}", exactly),
        ("headquartered_in", "has its headquarters in {}", exactly),
        ("employees", "employs {} people", above),
    ),
    "product": (
        ("introduced_in_year", "was introduced in {}", exactly),
        ("introduced_in_year", "was introduced in {}", decade),
        ("made_by", "is made by {}", exactly),
    ),
    "novel": (
        ("published_in_year", "was published in {}", exactly),
        ("published_in_year", "was published in {}", decade),
        ("publisher", "came out at {}", exactly),
        ("set_in", "is set in {}", exactly),
        ("author", "was written by {}", exactly),
    ),
    "film": (
        ("released_in_year", "was released in {}", exactly),
        ("released_in_year", "was released in {}", decade),
        ("studio", "was produced by {}", exactly),
        ("set_in", "is set in {}", exactly),
        ("director", "was directed by {}", exactly),
    ),
    "landmark": (
        ("stands_in", "stands in {}", exactly),
        ("opened_on", "was opened in {}", month),
        ("opened_on", "was opened in {}", decade),
        ("architect", "was designed by {}", exactly),
    ),
}
"""Relation, words and blur of everything that a description may say, by kind."""
HEADS = {"person": "occupation", "product": "type"}
"""Relation whose object, and not the kind, is the noun of the description."""


def obfuscated(graph: Graph, rng: Random) -> Task | None:
    """Draw a question about an entity that is described by facts and never named."""
    what = rng.choice(list(CLAUSES))
    if not graph.of(what):
        return None
    entity = rng.choice(graph.of(what))
    clauses = _clauses(graph, rng, entity)
    if not _fits_one(graph, entity, clauses):
        return None
    noun = _noun(graph, entity)
    told = listing([clause.words for clause in clauses])
    description = f"{noun} {'who' if what == 'person' else 'that'} {told}"
    read = tuple(fact for clause in clauses for fact in (*clause.read, clause.fact))
    return _asked(graph, rng, entity, description, read, frozenset(clause.fact.relation for clause in clauses))


def _clauses(graph: Graph, rng: Random, entity: Entity) -> list[Clause]:
    """Draw two or three clauses of different relations, in the order of the list; fewer if facts are missing."""
    known = [(fact, *one[1:]) for one in CLAUSES[entity.kind] if (fact := graph.fact(entity, one[0]))]
    picked = rng.sample(known, min(len(known), rng.randint(2, 3)))
    made, used = [], set()
    for fact, words, blur in known:
        if (fact, words, blur) in picked and fact.relation not in used:
            used.add(fact.relation)
            made.append(_clause(graph, rng, fact, words, blur))
    return made


def _clause(graph: Graph, rng: Random, fact: Fact, words: str, blur: Blur) -> Clause:
    """Return a clause for a fact; its object is sometimes described by another entity."""
    text, fits = blur(fact)
    led = reached(graph, rng, fact.target) if fact.target and rng.random() < 0.3 else None
    if led and led[1].subject != fact.subject:
        return Clause(words.format(led[0].text), fact, fits, (led[1],))
    return Clause(words.format(text), fact, fits)


def _fits_one(graph: Graph, entity: Entity, clauses: list[Clause]) -> bool:
    """True if all clauses together fit this entity alone, and each fits others too."""
    head = graph.fact(entity, HEADS[entity.kind]) if entity.kind in HEADS else None
    group = [one for one in graph.of(entity.kind) if not head or graph.holds(one, head)]
    fitting = [{one.key for one in group if _fits(graph, one, clause)} for clause in clauses]
    return len(fitting) > 1 and set.intersection(*fitting) == {entity.key} and min(map(len, fitting)) > 1


def _fits(graph: Graph, entity: Entity, clause: Clause) -> bool:
    found = graph.fact(entity, clause.fact.relation)
    return found is not None and clause.fits(found)


def _noun(graph: Graph, entity: Entity) -> str:
    """Return the noun of the description: the occupation, the type of product, or the kind."""
    found = graph.fact(entity, HEADS[entity.kind]) if entity.kind in HEADS else None
    return found.text.lower() if found else kind(entity)


def _asked(
    graph: Graph, rng: Random, entity: Entity, description: str, read: tuple[Fact, ...], but: frozenset[str]
) -> Task | None:
    """Return a task that asks what the entity is, or for something that a chain of facts leads to."""
    lead = rng.choice((f"there is only one {description}.", f"I am looking for {an(description)}; only one fits."))
    if rng.random() < 0.35:
        ending = "Who is it?" if entity.kind == "person" else "What is its name?"
        return task("obfuscated", f"{sentence(lead)} {ending}", names(entity), read, "name")
    facts = walk(graph, rng, entity, rng.choice((1, 1, 2, 3)), but)
    if not facts:
        return None
    if rng.random() < 0.4:
        return asked("obfuscated", rng, Phrase(f"the only {description}", True), facts, read)
    return asked("obfuscated", rng, Phrase(f"that {kind(entity)}"), facts, read, sentence(lead))
