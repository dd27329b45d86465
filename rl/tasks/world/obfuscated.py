"""Entities described and never named: two or three facts, some of them blurred, that fit exactly one in the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Task
from webemu.rl.tasks.world.graph_tasks import accepted_names, build_task, parse_day
from webemu.rl.tasks.world.walks import build_chain_task, describe_by_other, draw_chain
from webemu.rl.tasks.world.words import (
    Phrase,
    capitalize_first,
    join_with_and,
    kind_word,
    name_in_sentence,
    with_article,
)

FactTest = Callable[[Fact], bool]
"""Predicate that says whether the words for one fact fit another fact too."""
Blur = Callable[[Fact], tuple[str, FactTest]]
"""Function from a fact to words for it and to the facts of that relation that the words fit as well."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a description."""

    text: str
    """Text of the clause."""
    fact: Fact
    """Fact that the clause states."""
    fits_fact: FactTest
    """Predicate for the facts of other entities that the clause would fit too."""
    lead_facts: tuple[Fact, ...] = ()
    """Facts that lead to an entity that the clause describes instead of naming it."""


def keep_exact(fact: Fact) -> tuple[str, FactTest]:
    """Name the object as it is; only the same object fits."""
    words = name_in_sentence(fact.target) if fact.target else fact.text
    return words, lambda other: (other.text, other.target) == (fact.text, fact.target)


def lower_case(fact: Fact) -> tuple[str, FactTest]:
    """Give the object in lower case; only the same object fits."""
    return fact.text.lower(), lambda other: other.text == fact.text


def blur_to_decade(fact: Fact) -> tuple[str, FactTest]:
    """Blur a year or date to its decade."""
    ten = int(fact.text[-4:]) // 10
    return f"the {ten}0s", lambda other: int(other.text[-4:]) // 10 == ten


def blur_to_century(fact: Fact) -> tuple[str, FactTest]:
    """Blur a year to its century."""
    number = (int(fact.number) - 1) // 100 + 1
    return f"the {number}th century", lambda other: (int(other.number) - 1) // 100 + 1 == number


def blur_to_month(fact: Fact) -> tuple[str, FactTest]:
    """Blur a date to its month and year."""
    day = parse_day(fact)
    return f"{day:%B} {day.year}", lambda other: other.text.endswith(f"{day:%B} {day.year}")


def blur_to_minimum(fact: Fact) -> tuple[str, FactTest]:
    """Blur a number to `more than` a limit: the number rounded down to its first digit."""
    unit = 10 ** (len(str(int(fact.number))) - 1)
    limit = (int(fact.number) - 1) // unit * unit
    return f"more than {limit:,}", lambda other: other.number > limit


CLAUSE_OPTIONS: dict[str, tuple[tuple[str, str, Blur], ...]] = {
    "town": (
        ("in_region", "lies in {}", keep_exact),
        ("on_river", "stands on {}", keep_exact),
        ("first_mentioned", "was first mentioned in {}", blur_to_century),
        ("population", "has {} inhabitants", blur_to_minimum),
        ("mayor_since", "has had its mayor since {}", keep_exact),
        ("area", "covers {} square kilometres", blur_to_minimum),
    ),
    "person": (
        ("born_on", "was born in {}", blur_to_decade),
        ("born_on", "was born in {}", blur_to_month),
        ("born_in", "comes from {}", keep_exact),
        ("educated_at", "studied at {}", keep_exact),
        ("employer", "works for {}", keep_exact),
    ),
    "company": (
        ("industry", "makes {}", lower_case),
        ("founded_in_year", "was founded in {}", blur_to_decade),
        ("founded_in_year", "was founded in {}", keep_exact),
        ("headquartered_in", "has its headquarters in {}", keep_exact),
        ("employees", "employs {} people", blur_to_minimum),
    ),
    "product": (
        ("introduced_in_year", "was introduced in {}", keep_exact),
        ("introduced_in_year", "was introduced in {}", blur_to_decade),
        ("made_by", "is made by {}", keep_exact),
    ),
    "novel": (
        ("published_in_year", "was published in {}", keep_exact),
        ("published_in_year", "was published in {}", blur_to_decade),
        ("publisher", "came out at {}", keep_exact),
        ("set_in", "is set in {}", keep_exact),
        ("author", "was written by {}", keep_exact),
    ),
    "film": (
        ("released_in_year", "was released in {}", keep_exact),
        ("released_in_year", "was released in {}", blur_to_decade),
        ("studio", "was produced by {}", keep_exact),
        ("set_in", "is set in {}", keep_exact),
        ("director", "was directed by {}", keep_exact),
    ),
    "landmark": (
        ("stands_in", "stands in {}", keep_exact),
        ("opened_on", "was opened in {}", blur_to_month),
        ("opened_on", "was opened in {}", blur_to_decade),
        ("architect", "was designed by {}", keep_exact),
    ),
}
"""Relation, words and blur of everything that a description may say, by kind."""
NOUN_RELATIONS = {"person": "occupation", "product": "type"}
"""Relation whose object, and not the kind, is the noun of the description."""


def draw_obfuscated(graph: Graph, rng: Random) -> Task | None:
    """Draw a question about an entity that is described by facts and never named."""
    kind_name = rng.choice(list(CLAUSE_OPTIONS))
    if not graph.entities_of_kind(kind_name):
        return None
    entity = rng.choice(graph.entities_of_kind(kind_name))
    clauses = _draw_clauses(graph, rng, entity)
    if not _fits_only(graph, entity, clauses):
        return None
    noun = _description_noun(graph, entity)
    clauses_text = join_with_and([clause.text for clause in clauses])
    description = f"{noun} {'who' if kind_name == 'person' else 'that'} {clauses_text}"
    statements = tuple(fact for clause in clauses for fact in (*clause.lead_facts, clause.fact))
    return _build_obfuscated_task(
        graph, rng, entity, description, statements, frozenset(clause.fact.relation for clause in clauses)
    )


def _draw_clauses(graph: Graph, rng: Random, entity: Entity) -> list[Clause]:
    """Draw two or three clauses of different relations, in the order of the list; fewer if facts are missing."""
    options = [
        (fact, *option[1:]) for option in CLAUSE_OPTIONS[entity.kind] if (fact := graph.find_fact(entity, option[0]))
    ]
    picked = rng.sample(options, min(len(options), rng.randint(2, 3)))
    clauses, used_relations = [], set()
    for fact, words, blur in options:
        if (fact, words, blur) in picked and fact.relation not in used_relations:
            used_relations.add(fact.relation)
            clauses.append(_draw_clause(graph, rng, fact, words, blur))
    return clauses


def _draw_clause(graph: Graph, rng: Random, fact: Fact, template: str, blur: Blur) -> Clause:
    """Return a clause for a fact; its object is sometimes described by another entity."""
    text, fits = blur(fact)
    lead = describe_by_other(graph, rng, fact.target) if fact.target and rng.random() < 0.3 else None
    if lead and lead[1].subject != fact.subject:
        return Clause(template.format(lead[0].text), fact, fits, (lead[1],))
    return Clause(template.format(text), fact, fits)


def _fits_only(graph: Graph, entity: Entity, clauses: list[Clause]) -> bool:
    """True if all clauses together fit this entity alone, and each fits others too."""
    noun_fact = graph.find_fact(entity, NOUN_RELATIONS[entity.kind]) if entity.kind in NOUN_RELATIONS else None
    group = [
        other for other in graph.entities_of_kind(entity.kind) if not noun_fact or graph.is_true_of(other, noun_fact)
    ]
    fitting = [{other.key for other in group if _fits_clause(graph, other, clause)} for clause in clauses]
    return len(fitting) > 1 and set.intersection(*fitting) == {entity.key} and min(map(len, fitting)) > 1


def _fits_clause(graph: Graph, entity: Entity, clause: Clause) -> bool:
    fact = graph.find_fact(entity, clause.fact.relation)
    return fact is not None and clause.fits_fact(fact)


def _description_noun(graph: Graph, entity: Entity) -> str:
    """Return the noun of the description: the occupation, the type of product, or the kind."""
    noun_fact = graph.find_fact(entity, NOUN_RELATIONS[entity.kind]) if entity.kind in NOUN_RELATIONS else None
    return noun_fact.text.lower() if noun_fact else kind_word(entity)


def _build_obfuscated_task(
    graph: Graph, rng: Random, entity: Entity, description: str, statements: tuple[Fact, ...], excluded: frozenset[str]
) -> Task | None:
    """Return a task that asks what the entity is, or for something that a chain of facts leads to."""
    lead = rng.choice(
        (f"there is only one {description}.", f"I am looking for {with_article(description)}; only one fits.")
    )
    if rng.random() < 0.35:
        ending = "Who is it?" if entity.kind == "person" else "What is its name?"
        return build_task(
            "obfuscated", f"{capitalize_first(lead)} {ending}", accepted_names(entity), statements, "name"
        )
    facts = draw_chain(graph, rng, entity, rng.choice((1, 1, 2, 3)), excluded)
    if not facts:
        return None
    if rng.random() < 0.4:
        return build_chain_task("obfuscated", rng, Phrase(f"the only {description}", True), facts, statements)
    return build_chain_task(
        "obfuscated", rng, Phrase(f"that {kind_word(entity)}"), facts, statements, capitalize_first(lead)
    )
