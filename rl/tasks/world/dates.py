"""Arithmetic with dates: the time between two events, ages, and the year in which someone reached an age."""

from __future__ import annotations

from datetime import date
from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Task
from webemu.rl.tasks.world.graph_tasks import build_task, format_count, parse_day
from webemu.rl.tasks.world.walks import describe_by_other
from webemu.rl.tasks.world.words import capitalize_first, name_in_sentence

EVENT_PHRASES = {
    ("company", "founded_in_year"): "the founding of {}",
    ("product", "introduced_in_year"): "the introduction of {}",
    ("novel", "published_in_year"): "the publication of {}",
    ("film", "released_in_year"): "the release of {}",
    ("prize", "established_in_year"): "the establishment of {}",
    ("university", "established_in_year"): "the establishment of {}",
    ("festival", "first_held_in_year"): "the first edition of {}",
    ("country", "founded_in_year"): "the independence of {}",
}
"""Noun phrases for events whose year is known, by kind and relation."""


def draw_date_arithmetic(graph: Graph, rng: Random) -> Task | None:
    """Draw a task that needs arithmetic with two dates, or with a date and an age."""
    return rng.choice(
        (_draw_years_between, _draw_years_between, _draw_days_between, _draw_age_at, _draw_year_of_age, _draw_older_by)
    )(graph, rng)


def _build_date_task(question: str, answers: tuple[str, ...], statements: tuple[Fact, ...]) -> Task:
    return build_task("date-arithmetic", capitalize_first(question), answers, statements, "number")


def _name_or_describe(graph: Graph, rng: Random, entity: Entity) -> tuple[str, tuple[Fact, ...]]:
    """Return the entity's name, or sometimes a description by another entity with the fact that links them."""
    description = describe_by_other(graph, rng, entity) if rng.random() < 0.4 else None
    return (description[0].text, (description[1],)) if description else (name_in_sentence(entity), ())


def _draw_years_between(graph: Graph, rng: Random) -> Task | None:
    events = []
    for kind, relation in rng.sample(list(EVENT_PHRASES), 2):
        entity = rng.choice(graph.entities_of_kind(kind))
        words, lead_facts = _name_or_describe(graph, rng, entity)
        fact = graph.find_fact(entity, relation)
        assert fact
        events.append((fact, EVENT_PHRASES[kind, relation].format(words), (*lead_facts, fact)))
    first, later = sorted(events, key=lambda event: event[0].number)
    years = round(later[0].number - first[0].number)
    if not years:
        return None
    start, end = (first, later) if rng.random() < 0.5 else (later, first)
    question = rng.choice(
        (f"how many years passed between {start[1]} and {end[1]}?",
         f"how many years before {later[1]} was {first[1]}?",
         f"how many years after {first[1]} came {later[1]}?")
    )  # fmt: skip
    return _build_date_task(question, format_count(years, "year"), (*start[2], *end[2]))


def _draw_days_between(graph: Graph, rng: Random) -> Task | None:
    landmarks = rng.sample(graph.entities_of_kind("landmark"), 2)
    opened = [fact for landmark in landmarks if (fact := graph.find_fact(landmark, "opened_on"))]
    days = abs((parse_day(opened[0]) - parse_day(opened[1])).days)
    question = (
        f"how many days lie between the opening of {name_in_sentence(landmarks[0])} and "
        f"that of {name_in_sentence(landmarks[1])}?"
    )
    return _build_date_task(question, format_count(days, "day"), tuple(opened)) if days else None


def _draw_age_at(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the age of a building's architect, or of anyone else, on the day the building was opened."""
    opening_fact = graph.find_fact(rng.choice(graph.entities_of_kind("landmark")), "opened_on")
    assert opening_fact
    landmark_name = name_in_sentence(opening_fact.subject)
    architect_fact = graph.find_fact(opening_fact.subject, "architect") if rng.random() < 0.5 else None
    person = (
        architect_fact.target
        if architect_fact and architect_fact.target
        else rng.choice(graph.entities_of_kind("person"))
    )
    birth_fact = graph.find_fact(person, "born_on")
    if (
        birth_fact is None
        or graph.find_fact(person, "died_in_year")
        or completed_years(parse_day(birth_fact), parse_day(opening_fact)) < 3
    ):
        return None
    subject_text = (
        f"the architect of {landmark_name} on the day it"
        if architect_fact
        else f"{name_in_sentence(person)} on the day {landmark_name}"
    )
    age = format_count(completed_years(parse_day(birth_fact), parse_day(opening_fact)), "year", is_age=True)
    return _build_date_task(
        f"how old was {subject_text} was opened?",
        age,
        (opening_fact, *((architect_fact,) if architect_fact else ()), birth_fact),
    )


def completed_years(birth_date: date, day: date) -> int:
    """Return the completed years of age on a day."""
    return day.year - birth_date.year - ((day.month, day.day) < (birth_date.month, birth_date.day))


def _draw_year_of_age(graph: Graph, rng: Random) -> Task | None:
    person = rng.choice(graph.entities_of_kind("person"))
    birth_fact = graph.find_fact(person, "born_on")
    assert birth_fact
    age = rng.choice((18, 21, 30, 40, 50))
    words, lead_facts = _name_or_describe(graph, rng, person)
    year = parse_day(birth_fact).year + age
    if graph.find_fact(person, "died_in_year") or year > 2024:
        return None
    return _build_date_task(f"in which year did {words} turn {age}?", (str(year),), (*lead_facts, birth_fact))


def _draw_older_by(graph: Graph, rng: Random) -> Task | None:
    pair = rng.sample(graph.entities_of_kind("person"), 2)
    birth_facts = [fact for person in pair if (fact := graph.find_fact(person, "born_on"))]
    elder, younger = sorted(birth_facts, key=parse_day)
    days = (parse_day(younger) - parse_day(elder)).days
    if not days:
        return None
    question = f"how many days older is {name_in_sentence(elder.subject)} than {name_in_sentence(younger.subject)}?"
    return _build_date_task(question, format_count(days, "day"), (elder, younger))
