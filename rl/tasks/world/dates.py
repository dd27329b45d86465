"""Arithmetic with dates: the time between two events, ages, and the year in which someone reached an age."""

from __future__ import annotations

from datetime import date
from random import Random

from webemu.rl.tasks.graph import Entity, Fact, Graph
from webemu.rl.tasks.task import Task
from webemu.rl.tasks.world.graph_tasks import counted, day_of, task
from webemu.rl.tasks.world.walks import reached
from webemu.rl.tasks.world.words import named, sentence

EVENTS = {
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


def date_arithmetic(graph: Graph, rng: Random) -> Task | None:
    """Draw a task that needs arithmetic with two dates, or with a date and an age."""
    return rng.choice((_years_between, _years_between, _days_between, _age_at, _year_of_age, _older_by))(graph, rng)


def _task(question: str, answers: tuple[str, ...], read: tuple[Fact, ...]) -> Task:
    return task("date-arithmetic", sentence(question), answers, read, "number")


def _thing(graph: Graph, rng: Random, entity: Entity) -> tuple[str, tuple[Fact, ...]]:
    """Return the entity's name, or sometimes a description by another entity with the fact that links them."""
    led = reached(graph, rng, entity) if rng.random() < 0.4 else None
    return (led[0].text, (led[1],)) if led else (named(entity), ())


def _years_between(graph: Graph, rng: Random) -> Task | None:
    found = []
    for kind, relation in rng.sample(list(EVENTS), 2):
        entity = rng.choice(graph.of(kind))
        words, read = _thing(graph, rng, entity)
        fact = graph.fact(entity, relation)
        assert fact
        found.append((fact, EVENTS[kind, relation].format(words), (*read, fact)))
    first, later = sorted(found, key=lambda one: one[0].number)
    years = round(later[0].number - first[0].number)
    if not years:
        return None
    start, end = (first, later) if rng.random() < 0.5 else (later, first)
    question = rng.choice(
        (f"how many years passed between {start[1]} and {end[1]}?",
         f"how many years before {later[1]} was {first[1]}?",
         f"how many years after {first[1]} came {later[1]}?")
    )  # fmt: skip
    return _task(question, counted(years, "year"), (*start[2], *end[2]))


def _days_between(graph: Graph, rng: Random) -> Task | None:
    marks = rng.sample(graph.of("landmark"), 2)
    opened = [found for mark in marks if (found := graph.fact(mark, "opened_on"))]
    days = abs((day_of(opened[0]) - day_of(opened[1])).days)
    question = f"how many days lie between the opening of {named(marks[0])} and that of {named(marks[1])}?"
    return _task(question, counted(days, "day"), tuple(opened)) if days else None


def _age_at(graph: Graph, rng: Random) -> Task | None:
    """Draw a question for the age of a building's architect, or of anyone else, on the day the building was opened."""
    opened = graph.fact(rng.choice(graph.of("landmark")), "opened_on")
    assert opened
    mark = named(opened.subject)
    made = graph.fact(opened.subject, "architect") if rng.random() < 0.5 else None
    person = made.target if made and made.target else rng.choice(graph.of("person"))
    born = graph.fact(person, "born_on")
    if born is None or graph.fact(person, "died_in_year") or years_at(day_of(born), day_of(opened)) < 3:
        return None
    asked = f"the architect of {mark} on the day it" if made else f"{named(person)} on the day {mark}"
    age = counted(years_at(day_of(born), day_of(opened)), "year", old=True)
    return _task(f"how old was {asked} was opened?", age, (opened, *((made,) if made else ()), born))


def years_at(born: date, day: date) -> int:
    """Return the completed years of age on a day."""
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def _year_of_age(graph: Graph, rng: Random) -> Task | None:
    person = rng.choice(graph.of("person"))
    born = graph.fact(person, "born_on")
    assert born
    age = rng.choice((18, 21, 30, 40, 50))
    words, read = _thing(graph, rng, person)
    year = day_of(born).year + age
    if graph.fact(person, "died_in_year") or year > 2024:
        return None
    return _task(f"in which year did {words} turn {age}?", (str(year),), (*read, born))


def _older_by(graph: Graph, rng: Random) -> Task | None:
    pair = rng.sample(graph.of("person"), 2)
    born = [found for person in pair if (found := graph.fact(person, "born_on"))]
    elder, younger = sorted(born, key=day_of)
    days = (day_of(younger) - day_of(elder)).days
    if not days:
        return None
    question = f"how many days older is {named(elder.subject)} than {named(younger.subject)}?"
    return _task(question, counted(days, "day"), (elder, younger))
