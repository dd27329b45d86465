"""Comparisons of two entities, and superlatives over all entities that stand in a relation to another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.tasks.world.graph_tasks import names, size, spellings, stated, task
from webemu.rl.tasks.world.groups import MOST_IN_TABLE, MOST_READ, in_table, made_by, on_banks, on_river, towns_of
from webemu.rl.tasks.world.walks import reached, walk
from webemu.rl.tasks.world.words import Phrase, ask, named, way

LESS, MORE = False, True
COMPARED: tuple[tuple[str, str, str, bool], ...] = (
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


def comparison(graph: Graph, rng: Random) -> Task | None:
    """Draw a comparison of two entities, each named or described by another one; either is right equally often."""
    what, relation, start, more = rng.choice(COMPARED)
    if len(graph.of(what)) < 2:
        return None
    pair = rng.sample(graph.of(what), 2)
    facts = [fact for entity in pair if (fact := graph.fact(entity, relation))]
    if len(facts) < 2 or size(facts[0]) == size(facts[1]) or pair[0].name == pair[1].name:
        return None
    right = max(facts, key=size) if more else min(facts, key=size)
    # A named pair is a choice; a described pair must be resolved first, so the answer is a name.
    if rng.random() < 0.6:
        question = f"{start}, {_briefly(pair[0])} or {_briefly(pair[1])}?"
        answers = (*names(right.subject), named(right.subject))
        return task("comparison", question, answers, _right_last(facts, right), "choice")
    led = [found for entity in pair if (found := reached(graph, rng, entity))]
    if len(led) < 2:
        return None
    question = f"{start}: {led[0][0].text} or {led[1][0].text}?"
    read = [led[0][1], led[1][1], *_right_last(facts, right)]
    return task("comparison", question, names(right.subject), read, "name")


def _right_last(facts: list[Fact], right: Fact) -> list[Fact]:
    """Return the facts with the right one last, so that the page that has the answer is read last."""
    return sorted(facts, key=lambda fact: fact is right)


def _briefly(entity: Entity) -> str:
    """Return the entity's name for a question that has already said its kind."""
    return f'"{entity.name}"' if entity.kind in ("novel", "film") else named(entity)


def superlative(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the first or last of a group by a value that no other shares, or for one fact of that
    entity.
    """
    return rng.choice(_GROUPS)(graph, rng)


def _of_region(graph: Graph, rng: Random) -> Task | None:
    """Draw a superlative over the table of towns on a region's page."""
    region = rng.choice(graph.of("region"))
    towns = towns_of(graph, region)
    ordinal, place = rng.choice((("largest", 0), ("second largest", 1), ("third largest", 2), ("smallest", -1)))
    if not 4 <= len(towns) <= MOST_IN_TABLE or len({fact.text for fact in towns}) < len(towns):
        return None
    best = towns[place]
    read = in_table(region, best)
    phrase = Phrase(f"the {ordinal} town by population in {named(region)}")
    return _asked(graph, rng, phrase, best, [read])


def _of_river(graph: Graph, rng: Random) -> Task | None:
    """Draw a superlative over the towns on a river."""
    river = rng.choice(graph.of("river"))
    towns = on_river(graph, river)
    relation, words, more = rng.choice(
        (("first_mentioned", "the town on {R} that was mentioned first", LESS),
         ("area", "the town on {R} that covers the largest area", MORE),
         ("population", "the most populous town on {R}", MORE))
    )  # fmt: skip
    return _extreme(graph, rng, towns, relation, more, words.format(R=named(river)), [on_banks(graph, river)])


def _of_country(graph: Graph, rng: Random) -> Task | None:
    """Draw a superlative over the rivers of a country."""
    country = rng.choice(graph.of("country"))
    rivers = [fact.subject for fact in graph.naming(country) if fact.subject.kind == "river"]
    words, more = rng.choice((("longest", MORE), ("shortest", LESS)))
    return _extreme(graph, rng, rivers, "length", more, f"the {words} river of {named(country)}", [])


def _of_maker(graph: Graph, rng: Random) -> Task | None:
    """Draw a superlative over a person's works or buildings, or a company's products, by their dates."""
    kind, relation, when, first, latest = rng.choice(
        (("novel", "author", "published_in_year", "the first published novel by", "the most recent novel by"),
         ("film", "director", "released_in_year", "the earliest film by", "the most recent film by"),
         ("product", "made_by", "introduced_in_year", "the oldest product of", "the newest product of"),
         ("landmark", "architect", "opened_on", "the first to be opened of the buildings by",
          "the last to be opened of the buildings by"))
    )  # fmt: skip
    maker, made = made_by(graph, rng, kind, relation)
    more = rng.random() < 0.5
    phrase = f"{latest if more else first} {named(maker)}"
    return _extreme(graph, rng, [one.subject for one in made], when, more, phrase, [stated(fact) for fact in made])


def _of_years(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the year in which a festival had most or fewest visitors."""
    festival = rng.choice(graph.of("festival"))
    years = sorted((fact for fact in graph.about(festival) if fact.base == "visitors"), key=size)
    words, best = rng.choice((("the most", years[-1]), ("the fewest", years[0])))
    if [fact.text for fact in years].count(best.text) > 1:
        return None
    question = f"Of the years 2018 to 2024, in which did {named(festival)} have {words} visitors?"
    return task("superlative", question, (best.year,), [best], "number")


_GROUPS: tuple[Callable[[Graph, Random], Task | None], ...] = (
    _of_region, _of_river, _of_country, _of_maker, _of_years,
)  # fmt: skip


def _extreme(
    graph: Graph, rng: Random, group: Iterable[Entity], relation: str, more: bool, words: str, read: list[Evidence]
) -> Task | None:
    """Return the task for the largest or smallest value of a group; None for groups too small or too large, or for
    ties.
    """
    facts = [found for entity in group if (found := graph.fact(entity, relation))]
    if not 2 <= len(facts) <= MOST_READ:
        return None
    best = (max if more else min)(facts, key=size)
    if sum(size(fact) == size(best) for fact in facts) > 1:
        return None
    return _asked(graph, rng, Phrase(words, True), best, [*read, *map(stated, _right_last(facts, best))])


def _asked(graph: Graph, rng: Random, phrase: Phrase, best: Fact, read: list[Evidence]) -> Task | None:
    """Return a task that asks which entity it is, or for one fact of it; None if there is no such fact."""
    if rng.random() < 0.5:
        return task("superlative", f"Which is {phrase.text}?", names(best.subject), read, "name")
    facts = walk(graph, rng, best.subject, 1, frozenset({best.relation}))
    if not facts:
        return None
    found = way(facts[0])
    assert found
    question, answers = ask(rng, phrase, facts[0]), spellings(facts[0])
    return task("superlative", question, answers, [*read, *map(stated, facts)], found.type)
