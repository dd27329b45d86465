"""Questions about sets: the one entity for which two facts hold, how many members a set has, and sums over it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.tasks.world.graph_tasks import accepted_names, build_task, comparison_value, evidence_of, format_count
from webemu.rl.tasks.world.groups import (
    MAX_PAGES_READ,
    MAX_TABLE_ROWS,
    MAX_TOWNS_ON_RIVER_PAGE,
    draw_maker,
    list_populations,
    list_river_towns,
    river_towns_evidence,
    table_row_evidence,
)
from webemu.rl.tasks.world.walks import describe_by_other
from webemu.rl.tasks.world.words import capitalize_first, join_with_and, name_in_sentence

INTERSECTIONS: tuple[tuple[str, str, str, str], ...] = (
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
WINNER_RELATIONS = (("set_in", "is set in"), ("publisher", "was published by"), ("studio", "was produced by"))
"""Relations of a prize winner that tell it from other winners, and the words for them."""


def draw_intersection(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the only entity for which two facts hold that each hold for others too."""
    if rng.random() < 0.25:
        return _draw_winner(graph, rng)
    kind, first, second, words = rng.choice(INTERSECTIONS)
    if not graph.entities_of_kind(kind):
        return None
    entity = rng.choice(graph.entities_of_kind(kind))
    facts = [fact for relation in (first, second) if (fact := graph.find_fact(entity, relation))]
    if len(facts) < 2 or not _hold_only_together(graph, entity, facts):
        return None
    lead = describe_by_other(graph, rng, facts[1].target) if facts[1].target and rng.random() < 0.4 else None
    second_object = lead[0].text if lead else _object_in_sentence(facts[1])
    question = words.format(A=_object_in_sentence(facts[0]), B=second_object, a=facts[0].text.lower())
    return build_task(
        "intersection", question, accepted_names(entity), ((lead[1],) if lead else ()) + tuple(facts), "name"
    )


def _hold_only_together(graph: Graph, entity: Entity, facts: Sequence[Fact]) -> bool:
    """True if each fact holds for others too, and all together for this entity alone."""
    keys_by_fact = [
        {other.key for other in graph.entities_of_kind(entity.kind) if graph.is_true_of(other, fact)} for fact in facts
    ]
    return all(len(keys) > 1 for keys in keys_by_fact) and set.intersection(*keys_by_fact) == {entity.key}


def _object_in_sentence(fact: Fact) -> str:
    """Return the object of a fact as it stands in a sentence."""
    return name_in_sentence(fact.target) if fact.target else fact.text


def _draw_winner(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the winner of a prize about which another fact is known; the year is left open."""
    prize = rng.choice(graph.entities_of_kind("prize"))
    winner_facts = [fact for fact in graph.facts_about(prize) if fact.base_relation == "winner"]
    fact = rng.choice(winner_facts)
    assert fact.target
    relation, words = rng.choice(WINNER_RELATIONS)
    second_fact = graph.find_fact(fact.target, relation)
    if (
        second_fact is None
        or sum(graph.is_true_of(winner_fact.target, second_fact) for winner_fact in winner_facts if winner_fact.target)
        > 1
    ):
        return None
    question = (
        f"Which winner of {name_in_sentence(prize)} in the years {winner_facts[0].year} to "
        f"{winner_facts[-1].year} {words} {_object_in_sentence(second_fact)}?"
    )
    return build_task("intersection", question, accepted_names(fact.target), (fact, second_fact), "title")


MIN_COUNTS = (2, 3, 3)
"""Smallest counts that are asked for, drawn anew for each task. Small groups are so common that without it most counts
would be one or two.
"""


def draw_counting(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the number of members of a set, or for the sum of their figures."""
    # Small counts are guessed more often than sums.
    return rng.choice(_COUNT_DRAWERS if rng.random() < 0.6 else _SUM_DRAWERS)(graph, rng)


def _build_counting_task(question: str, count: int, statements: Iterable[Fact | Evidence]) -> Task:
    return build_task("counting", capitalize_first(question), format_count(count), statements, "number")


def _draw_years_above(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the number of years in which a festival had more visitors than a limit."""
    festival = rng.choice(graph.entities_of_kind("festival"))
    years = [fact for fact in graph.facts_about(festival) if fact.base_relation == "visitors"]
    count = rng.randint(1, len(years) - 1)
    limit = find_round_limit(sorted(map(comparison_value, years), reverse=True), count)
    if limit is None:
        return None
    question = (
        f"in how many of the years 2018 to 2024 did {name_in_sentence(festival)} have more than {limit:,} visitors?"
    )
    return _build_counting_task(question, count, [fact for fact in years if comparison_value(fact) > limit])


def _draw_towns_above(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the number of towns in a region with more inhabitants than a limit."""
    region = rng.choice(graph.entities_of_kind("region"))
    towns = list_populations(graph, region)
    if not 4 <= len(towns) <= MAX_TABLE_ROWS:
        return None
    count = rng.randint(1, len(towns) - 1)
    limit = find_round_limit([comparison_value(fact) for fact in towns], count)
    if limit is None:
        return None
    question = f"how many towns in {name_in_sentence(region)} had more than {limit:,} inhabitants at the 2021 census?"
    return _build_counting_task(question, count, [table_row_evidence(region, fact) for fact in towns[:count]])


def _draw_on_river(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the number of towns on a river: all of them, or those with more inhabitants than a limit."""
    river = rng.choice(graph.entities_of_kind("river"))
    towns = list_river_towns(graph, river)
    if not 1 <= len(towns) <= MAX_TOWNS_ON_RIVER_PAGE:
        return None
    if len(towns) > MAX_PAGES_READ or rng.random() < 0.3:
        return _build_counting_task(
            f"how many towns stand on {name_in_sentence(river)}?", len(towns), [river_towns_evidence(graph, river)]
        )
    facts = sorted(
        (population for town in towns if (population := graph.find_fact(town, "population"))),
        key=comparison_value,
        reverse=True,
    )
    count = rng.randint(1, len(facts))
    limit = find_round_limit([*map(comparison_value, facts), 0], count)
    if limit is None:
        return None
    question = f"how many towns on {name_in_sentence(river)} have more than {limit:,} inhabitants?"
    return _build_counting_task(question, count, [river_towns_evidence(graph, river), *map(evidence_of, facts)])


def _draw_made(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the number of things that a person or a company made."""
    kind, relation, words = rng.choice(
        (("novel", "author", "how many novels by {} are listed in OpenLexicon?"),
         ("film", "director", "how many films by {} are listed in OpenLexicon?"),
         ("product", "made_by", "how many products of {} are listed in OpenLexicon?"),
         ("landmark", "architect", "how many buildings by {} are listed in OpenLexicon?"))
    )  # fmt: skip
    maker, maker_facts = draw_maker(graph, rng, kind, relation)
    if not rng.choice(MIN_COUNTS) <= len(maker_facts) <= MAX_PAGES_READ:
        return None
    return _build_counting_task(words.format(name_in_sentence(maker)), len(maker_facts), maker_facts)


def _draw_winners_of(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the number of winners of some years that came from one publisher or studio."""
    prize = rng.choice(graph.entities_of_kind("prize"))
    winner_facts = [fact for fact in graph.facts_about(prize) if fact.base_relation == "winner"]
    span = rng.randint(3, 5)
    start = rng.randrange(len(winner_facts) - span + 1)
    winners = winner_facts[start : start + span]
    houses = [
        house_fact
        for fact in winners
        if fact.target and (house_fact := graph.find_fact(fact.target, _house_relation(fact.target)))
    ]
    house = rng.choice(houses).text
    count = sum(fact.text == house for fact in houses)
    if count < rng.choice(MIN_COUNTS):
        return None
    verb = "published" if houses[0].relation == "publisher" else "produced"
    years = f"from {winners[0].year} to {winners[-1].year}"
    question = f"how many of the winners of {name_in_sentence(prize)} {years} were {verb} by {house}?"
    return _build_counting_task(question, count, [*winners, *houses])


def _house_relation(work: Entity) -> str:
    """Return the relation that names a work's publisher or studio."""
    return "publisher" if work.kind == "novel" else "studio"


def _draw_visitors_together(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the visitors of a festival in two or three years together."""
    festival = rng.choice(graph.entities_of_kind("festival"))
    years = [fact for fact in graph.facts_about(festival) if fact.base_relation == "visitors"]
    if len(years) < 3:
        return None
    summands = sorted(rng.sample(years, rng.choice((2, 3))), key=lambda fact: fact.year)
    period = join_with_and([fact.year for fact in summands])
    question = f"how many visitors did {name_in_sentence(festival)} have in {period} together?"
    return _build_counting_task(question, _add_up(summands), summands)


def _draw_inhabitants_on_river(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the inhabitants of all towns on a river together."""
    river = rng.choice(graph.entities_of_kind("river"))
    towns = list_river_towns(graph, river)
    facts = [population for town in towns if (population := graph.find_fact(town, "population"))]
    if not 2 <= len(facts) == len(towns) <= MAX_PAGES_READ:
        return None
    question = f"how many people live in the {len(towns)} towns on {name_in_sentence(river)} together?"
    return _build_counting_task(
        question, _add_up(facts), [river_towns_evidence(graph, river), *map(evidence_of, facts)]
    )


def _draw_largest_together(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the inhabitants of the two or three largest towns of a region together."""
    region = rng.choice(graph.entities_of_kind("region"))
    towns, (number, words) = list_populations(graph, region), rng.choice(((2, "two"), (3, "three")))
    if not 4 <= len(towns) <= MAX_TABLE_ROWS or len({fact.text for fact in towns}) < len(towns):
        return None
    question = (
        f"how many inhabitants did the {words} largest towns of {name_in_sentence(region)} have together at the 2021 "
        "census?"
    )
    rows = [replace(table_row_evidence(region, fact), value=fact.text) for fact in towns[:number]]
    return _build_counting_task(question, _add_up(towns[:number]), rows)


def _add_up(facts: Iterable[Fact]) -> int:
    """Return the sum of the facts' numbers."""
    return round(sum(map(comparison_value, facts)))


_SUM_DRAWERS: tuple[Callable[[Graph, Random], Task | None], ...] = (
    _draw_visitors_together, _draw_inhabitants_on_river, _draw_largest_together,
)  # fmt: skip
_COUNT_DRAWERS: tuple[Callable[[Graph, Random], Task | None], ...] = (
    _draw_years_above, _draw_towns_above, _draw_on_river, _draw_made, _draw_winners_of,
)  # fmt: skip


def find_round_limit(descending: Sequence[float], count: int) -> int | None:
    """Return a round number that exactly `count` of the numbers exceed, or None if there is none.

    `descending` holds the numbers, largest first, and has more than `count` entries.
    """
    above, below = descending[count - 1], descending[count]
    for unit in (10_000, 5_000, 1_000, 500, 100):
        limit = int(above - 1) // unit * unit
        if limit >= below and limit > 0:
            return limit
    return None
