"""Comparisons of two entities, and superlatives over all entities that stand in a relation to another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.tasks.world.graph_tasks import (
    accepted_names,
    accepted_spellings,
    build_task,
    comparison_value,
    evidence_of,
)
from webemu.rl.tasks.world.groups import (
    MAX_PAGES_READ,
    MAX_TABLE_ROWS,
    draw_maker,
    list_populations,
    list_river_towns,
    river_towns_evidence,
    table_row_evidence,
)
from webemu.rl.tasks.world.walks import describe_by_other, draw_chain
from webemu.rl.tasks.world.words import Phrase, build_question, find_phrases, name_in_sentence

LESS, MORE = False, True
COMPARISONS: tuple[tuple[str, str, str, bool], ...] = (
    ("company", "founded_in_year", "Which company was founded earlier", LESS),
    ("company", "founded_in_year", "Which company is the younger one", MORE),
    ("company", "employees", "Which company employs more people", MORE),
    ("company", "employees", "Which company has the smaller staff", LESS),
    ("town", "population", "Which town has more inhabitants", MORE),
    ("town", "population", "Which town has fewer inhabitants", LESS),
    ("town", "first_mentioned", "Which town was mentioned first", LESS),
    ("town", "first_mentioned", "Which town was first mentioned later", MORE),
    ("town", "area", "Which town covers the larger area", MORE),
    ("person", "born_on", "Who was born earlier", LESS),
    ("person", "born_on", "Who was born later", MORE),
    ("river", "length", "Which river is longer", MORE),
    ("river", "length", "Which river is shorter", LESS),
    ("novel", "published_in_year", "Which novel was published earlier", LESS),
    ("novel", "published_in_year", "Which novel is the more recent one", MORE),
    ("film", "released_in_year", "Which film was released earlier", LESS),
    ("film", "released_in_year", "Which film is the more recent one", MORE),
    ("product", "introduced_in_year", "Which product was introduced earlier", LESS),
    ("product", "introduced_in_year", "Which product came onto the market later", MORE),
    ("landmark", "opened_on", "Which building was opened earlier", LESS),
    ("landmark", "opened_on", "Which building was opened later", MORE),
    ("university", "established_in_year", "Which university is older", LESS),
    ("university", "students", "Which university has more students", MORE),
    ("festival", "first_held_in_year", "Which festival has the longer history", LESS),
    ("prize", "established_in_year", "Which prize was established earlier", LESS),
)
"""Kind of entity, relation, how to ask, and whether the larger value is meant."""


def draw_comparison(graph: Graph, rng: Random) -> Task | None:
    """Draw a comparison of two entities, each named or described by another one; either is right equally often."""
    kind, relation, question_start, wants_larger = rng.choice(COMPARISONS)
    if len(graph.entities_of_kind(kind)) < 2:
        return None
    pair = rng.sample(graph.entities_of_kind(kind), 2)
    facts = [fact for entity in pair if (fact := graph.find_fact(entity, relation))]
    if len(facts) < 2 or comparison_value(facts[0]) == comparison_value(facts[1]) or pair[0].name == pair[1].name:
        return None
    right_fact = max(facts, key=comparison_value) if wants_larger else min(facts, key=comparison_value)
    # A named pair is a choice; a described pair must be resolved first, so the answer is a name.
    if rng.random() < 0.6:
        question = f"{question_start}, {_brief_name(pair[0])} or {_brief_name(pair[1])}?"
        answers = (*accepted_names(right_fact.subject), name_in_sentence(right_fact.subject))
        return build_task("comparison", question, answers, _with_right_last(facts, right_fact), "choice")
    described = [phrase_and_fact for entity in pair if (phrase_and_fact := describe_by_other(graph, rng, entity))]
    if len(described) < 2:
        return None
    question = f"{question_start}: {described[0][0].text} or {described[1][0].text}?"
    statements = [described[0][1], described[1][1], *_with_right_last(facts, right_fact)]
    return build_task("comparison", question, accepted_names(right_fact.subject), statements, "name")


def _with_right_last(facts: list[Fact], right_fact: Fact) -> list[Fact]:
    """Return the facts with the right one last, so that the page that has the answer is read last."""
    return sorted(facts, key=lambda fact: fact is right_fact)


def _brief_name(entity: Entity) -> str:
    """Return the entity's name for a question that has already said its kind."""
    return f'"{entity.name}"' if entity.kind in ("novel", "film") else name_in_sentence(entity)


def draw_superlative(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the first or last of a group by a value that no other shares, or for one fact of that
    entity.
    """
    return rng.choice(_SUPERLATIVE_DRAWERS)(graph, rng)


def _draw_of_region(graph: Graph, rng: Random) -> Task | None:
    """Draw a superlative over the table of towns on a region's page."""
    region = rng.choice(graph.entities_of_kind("region"))
    towns = list_populations(graph, region)
    ordinal, position = rng.choice((("largest", 0), ("second largest", 1), ("third largest", 2), ("smallest", -1)))
    if not 4 <= len(towns) <= MAX_TABLE_ROWS or len({fact.text for fact in towns}) < len(towns):
        return None
    best = towns[position]
    row = table_row_evidence(region, best)
    phrase = Phrase(f"the {ordinal} town by population in {name_in_sentence(region)}")
    return _build_superlative_task(graph, rng, phrase, best, [row])


def _draw_of_river(graph: Graph, rng: Random) -> Task | None:
    """Draw a superlative over the towns on a river."""
    river = rng.choice(graph.entities_of_kind("river"))
    towns = list_river_towns(graph, river)
    relation, template, wants_larger = rng.choice(
        (("first_mentioned", "the town on {R} that was mentioned first", LESS),
         ("area", "the town on {R} that covers the largest area", MORE),
         ("population", "the most populous town on {R}", MORE))
    )  # fmt: skip
    return _build_extreme_task(
        graph,
        rng,
        towns,
        relation,
        wants_larger,
        template.format(R=name_in_sentence(river)),
        [river_towns_evidence(graph, river)],
    )


def _draw_of_country(graph: Graph, rng: Random) -> Task | None:
    """Draw a superlative over the rivers of a country."""
    country = rng.choice(graph.entities_of_kind("country"))
    rivers = [fact.subject for fact in graph.facts_naming(country) if fact.subject.kind == "river"]
    adjective, wants_larger = rng.choice((("longest", MORE), ("shortest", LESS)))
    return _build_extreme_task(
        graph, rng, rivers, "length", wants_larger, f"the {adjective} river of {name_in_sentence(country)}", []
    )


def _draw_of_maker(graph: Graph, rng: Random) -> Task | None:
    """Draw a superlative over a person's works or buildings, or a company's products, by their dates."""
    kind, relation, date_relation, first, latest = rng.choice(
        (("novel", "author", "published_in_year", "the first published novel by", "the most recent novel by"),
         ("film", "director", "released_in_year", "the earliest film by", "the most recent film by"),
         ("product", "made_by", "introduced_in_year", "the oldest product of", "the newest product of"),
         ("landmark", "architect", "opened_on", "the first to be opened of the buildings by",
          "the last to be opened of the buildings by"))
    )  # fmt: skip
    maker, maker_facts = draw_maker(graph, rng, kind, relation)
    wants_larger = rng.random() < 0.5
    phrase = f"{latest if wants_larger else first} {name_in_sentence(maker)}"
    return _build_extreme_task(
        graph,
        rng,
        [maker_fact.subject for maker_fact in maker_facts],
        date_relation,
        wants_larger,
        phrase,
        [evidence_of(fact) for fact in maker_facts],
    )


def _draw_of_years(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the year in which a festival had most or fewest visitors."""
    festival = rng.choice(graph.entities_of_kind("festival"))
    years = sorted(
        (fact for fact in graph.facts_about(festival) if fact.base_relation == "visitors"), key=comparison_value
    )
    quantity, best = rng.choice((("the most", years[-1]), ("the fewest", years[0])))
    if [fact.text for fact in years].count(best.text) > 1:
        return None
    question = f"Of the years 2018 to 2024, in which did {name_in_sentence(festival)} have {quantity} visitors?"
    return build_task("superlative", question, (best.year,), [best], "number")


_SUPERLATIVE_DRAWERS: tuple[Callable[[Graph, Random], Task | None], ...] = (
    _draw_of_region, _draw_of_river, _draw_of_country, _draw_of_maker, _draw_of_years,
)  # fmt: skip


def _build_extreme_task(
    graph: Graph,
    rng: Random,
    group: Iterable[Entity],
    relation: str,
    wants_larger: bool,
    description: str,
    statements: list[Evidence],
) -> Task | None:
    """Return the task for the largest or smallest value of a group; None for groups too small or too large, or for
    ties.
    """
    facts = [candidate for entity in group if (candidate := graph.find_fact(entity, relation))]
    if not 2 <= len(facts) <= MAX_PAGES_READ:
        return None
    best = (max if wants_larger else min)(facts, key=comparison_value)
    if sum(comparison_value(fact) == comparison_value(best) for fact in facts) > 1:
        return None
    return _build_superlative_task(
        graph, rng, Phrase(description, True), best, [*statements, *map(evidence_of, _with_right_last(facts, best))]
    )


def _build_superlative_task(
    graph: Graph, rng: Random, phrase: Phrase, best: Fact, statements: list[Evidence]
) -> Task | None:
    """Return a task that asks which entity it is, or for one fact of it; None if there is no such fact."""
    if rng.random() < 0.5:
        return build_task("superlative", f"Which is {phrase.text}?", accepted_names(best.subject), statements, "name")
    facts = draw_chain(graph, rng, best.subject, 1, frozenset({best.relation}))
    if not facts:
        return None
    phrases = find_phrases(facts[0])
    assert phrases
    question, answers = build_question(rng, phrase, facts[0]), accepted_spellings(facts[0])
    return build_task("superlative", question, answers, [*statements, *map(evidence_of, facts)], phrases.answer_type)
