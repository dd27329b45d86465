"""Comparisons of two entities, and superlatives over all entities that stand in a relation to another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import NamedTuple

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import AnswerType, Evidence, Task
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


class Comparison(NamedTuple):
    """A measure by which two entities of a kind are compared."""

    kind: str
    """Kind of the entities."""
    relation: str
    """Relation whose values are compared."""
    wants_larger: bool
    """True if the larger value is meant."""
    question_start: str
    """Beginning of a question for the name of that one."""
    value_question: str
    """Question for the value of that one; `{A}` and `{B}` are the names, in any order."""
    answer_type: AnswerType = "number"
    """Type of the value."""


COMPARISONS = (
    Comparison("company", "founded_in_year", LESS, "Which company was founded earlier",
               "In which year was the older of the companies {A} and {B} founded?"),
    Comparison("company", "founded_in_year", MORE, "Which company is the younger one",
               "In which year was the younger of the companies {A} and {B} founded?"),
    Comparison("company", "employees", MORE, "Which company employs more people",
               "How many people does the bigger employer of the two, {A} and {B}, employ?"),
    Comparison("company", "employees", LESS, "Which company has the smaller staff",
               "How many people does the smaller employer of the two, {A} and {B}, employ?"),
    Comparison("town", "population", MORE, "Which town has more inhabitants",
               "How many inhabitants does the more populous of the towns {A} and {B} have?"),
    Comparison("town", "population", LESS, "Which town has fewer inhabitants",
               "How many inhabitants does the less populous of the towns {A} and {B} have?"),
    Comparison("town", "first_mentioned", LESS, "Which town was mentioned first",
               "In which year was the older of the towns {A} and {B} first mentioned?"),
    Comparison("town", "first_mentioned", MORE, "Which town was first mentioned later",
               "In which year was the younger of the towns {A} and {B} first mentioned?"),
    Comparison("town", "area", MORE, "Which town covers the larger area",
               "How many square kilometres does the larger of the towns {A} and {B} cover?"),
    Comparison("person", "born_on", LESS, "Who was born earlier",
               "On what date was the older of the two, {A} and {B}, born?", "date"),
    Comparison("person", "born_on", MORE, "Who was born later",
               "On what date was the younger of the two, {A} and {B}, born?", "date"),
    Comparison("river", "length", MORE, "Which river is longer",
               "How long is the longer of the two rivers, {A} and {B}?"),
    Comparison("river", "length", LESS, "Which river is shorter",
               "How long is the shorter of the two rivers, {A} and {B}?"),
    Comparison("novel", "published_in_year", LESS, "Which novel was published earlier",
               "In which year was the older of the novels {A} and {B} published?"),
    Comparison("novel", "published_in_year", MORE, "Which novel is the more recent one",
               "In which year was the more recent of the novels {A} and {B} published?"),
    Comparison("film", "released_in_year", LESS, "Which film was released earlier",
               "In which year was the older of the films {A} and {B} released?"),
    Comparison("film", "released_in_year", MORE, "Which film is the more recent one",
               "In which year was the more recent of the films {A} and {B} released?"),
    Comparison("product", "introduced_in_year", LESS, "Which product was introduced earlier",
               "In which year was the older of the two products, {A} and {B}, introduced?"),
    Comparison("product", "introduced_in_year", MORE, "Which product came onto the market later",
               "In which year was the newer of the two products, {A} and {B}, introduced?"),
    Comparison("landmark", "opened_on", LESS, "Which building was opened earlier",
               "On what date was the older of the two buildings, {A} and {B}, opened?", "date"),
    Comparison("landmark", "opened_on", MORE, "Which building was opened later",
               "On what date was the newer of the two buildings, {A} and {B}, opened?", "date"),
    Comparison("university", "established_in_year", LESS, "Which university is older",
               "In which year was the older of {A} and {B} established?"),
    Comparison("university", "students", MORE, "Which university has more students",
               "How many students does the larger of {A} and {B} have?"),
    Comparison("festival", "first_held_in_year", LESS, "Which festival has the longer history",
               "In which year was the older of {A} and {B} first held?"),
    Comparison("prize", "established_in_year", LESS, "Which prize was established earlier",
               "In which year was the older of {A} and {B} established?"),
)  # fmt: skip
"""Measures of all kinds."""
CHOICE_SHARE, DESCRIBED_SHARE = 0.05, 0.45
"""Shares of comparisons that offer two names, and that describe both. A coin guesses one of two names, so that most
comparisons of named entities ask for the value.
"""


def draw_comparison(graph: Graph, rng: Random) -> Task | None:
    """Draw a comparison of two entities: which of two that are named or described it is, or the value of that one.
    Either is right equally often.
    """
    comparison = rng.choice(COMPARISONS)
    if len(graph.entities_of_kind(comparison.kind)) < 2:
        return None
    pair = rng.sample(graph.entities_of_kind(comparison.kind), 2)
    facts = [fact for entity in pair if (fact := graph.find_fact(entity, comparison.relation))]
    if len(facts) < 2 or comparison_value(facts[0]) == comparison_value(facts[1]) or pair[0].name == pair[1].name:
        return None
    facts.sort(key=comparison_value, reverse=not comparison.wants_larger)  # the right one is read last
    form = rng.random()
    if form < CHOICE_SHARE:
        return _ask_for_choice(comparison, pair, facts)
    if form < CHOICE_SHARE + DESCRIBED_SHARE:
        return _ask_for_described(comparison, pair, facts, graph, rng)
    names = {"A": _brief_name(pair[0]), "B": _brief_name(pair[1])}
    question, answers = comparison.value_question.format(**names), accepted_spellings(facts[-1])
    return build_task("comparison", question, answers, facts, comparison.answer_type)


def _ask_for_choice(comparison: Comparison, pair: Sequence[Entity], facts: Sequence[Fact]) -> Task:
    """Return the task that asks which of two named entities it is."""
    right = facts[-1].subject
    question = f"{comparison.question_start}, {_brief_name(pair[0])} or {_brief_name(pair[1])}?"
    return build_task("comparison", question, (*accepted_names(right), name_in_sentence(right)), facts, "choice")


def _ask_for_described(
    comparison: Comparison, pair: Sequence[Entity], facts: Sequence[Fact], graph: Graph, rng: Random
) -> Task | None:
    """Return the task that asks which of two described entities it is: both must be resolved first."""
    described = [phrase_and_fact for entity in pair if (phrase_and_fact := describe_by_other(graph, rng, entity))]
    if len(described) < 2:
        return None
    question = f"{comparison.question_start}: {described[0][0].text} or {described[1][0].text}?"
    statements = [described[0][1], described[1][1], *facts]
    return build_task("comparison", question, accepted_names(facts[-1].subject), statements, "name")


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
