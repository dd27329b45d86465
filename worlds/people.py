"""Invent the people: family names that recur, a few namesakes, and dates of birth that fit what each person made."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from webemu.worlds.graph import Graph, Person
from webemu.worlds.names import family
from webemu.worlds.places import tongue_of
from webemu.worlds.seeded_random import dice

SCHOLARS = ("chemist", "botanist", "physicist", "geologist", "historian", "linguist", "marine biologist", "astronomer")
"""Occupations at universities."""
ARTISTS = ("cellist", "painter", "cyclist", "singer", "poet", "photographer", "chess player", "ceramicist", "pianist")
"""Occupations of people without a role that decides it."""

Cast = tuple[tuple[str, int], ...]
"""Pairs of a role and the number of people who have it, in the order of positions."""


def invent_people(graph: Graph, cast: Cast, first_work: Mapping[int, int]) -> None:
    """Fill `graph.people`.

    `first_work` holds, by position of a person, the year of their first work, by which they must be grown up.
    """
    roles = [role for role, count in cast for _ in range(count)]
    homes = [_home(graph, n, role) for n, role in enumerate(roles)]
    trades = [_occupation(graph.seed, n, role) for n, role in enumerate(roles)]
    drawn = _names(graph, homes)
    bearers: dict[str, list[int]] = {}
    for n, (name, _) in enumerate(drawn):
        bearers.setdefault(name, []).append(n)
    schools: dict[int, list[int]] = {}
    for n, school in enumerate(graph.universities):
        schools.setdefault(graph.towns[school.town].country, []).append(n)
    for n, role in enumerate(roles):
        name, woman = drawn[n]
        title = name if len(bearers[name]) == 1 else f"{name} ({trades[n]})"
        near = schools.get(graph.towns[homes[n]].country, [])
        naming = (name, title, woman)
        graph.people.append(_person(graph, n, role, naming, trades[n], homes[n], near, first_work.get(n, 0)))


def _names(graph: Graph, homes: list[int]) -> list[tuple[str, bool]]:
    """Return the name and sex (True for a woman) of each person, by position.

    Every 31st person, past the mayors, shares the name of an earlier one; all other names are unique.
    """
    drawn: list[tuple[str, bool]] = []
    taken: set[str] = set()
    scholars = len(graph.towns)
    for n, home in enumerate(homes):
        rng = dice(graph.seed, "person name", n)
        if n > scholars and n % 31 == 30:
            drawn.append(drawn[n - scholars])
            continue
        name, woman = _full_name(rng, graph.towns[home].country)
        while name in taken:
            name, woman = _full_name(rng, graph.towns[home].country, middle=rng.random() < 0.3)
        taken.add(name)
        drawn.append((name, woman))
    return drawn


def _full_name(rng: Random, country: int, middle: bool = False) -> tuple[str, bool]:
    tongue, woman = tongue_of(country), rng.random() < 0.5
    first = rng.choice(tongue.women if woman else tongue.men)
    initial = f" {rng.choice('ABCDEFGHIJKLMNOPRSTVW')}." if middle else ""
    return f"{first}{initial} {family(rng, tongue)}", woman


def _home(graph: Graph, n: int, role: str) -> int:
    rng = dice(graph.seed, "home", n)
    if role in ("mayor", "former mayor") and rng.random() < 0.5:
        region = graph.towns[n % len(graph.towns)].region
        return rng.choice(range(region, len(graph.towns), len(graph.regions)))
    return rng.randrange(len(graph.towns))


def _occupation(seed: int, n: int, role: str) -> str:
    rng = dice(seed, "occupation", n)
    if role == "scholar":
        return "engineer" if rng.random() < 0.3 else rng.choice(SCHOLARS)
    return {
        "mayor": "politician", "former mayor": "politician", "president": "politician", "founder": "entrepreneur",
        "author": "novelist", "director": "film director", "architect": "architect",
    }.get(role) or rng.choice(ARTISTS)  # fmt: skip


def _person(
    graph: Graph, n: int, role: str, naming: tuple[str, str, bool], trade: str, home: int, schools: list[int],
    first_work: int,
) -> Person:  # fmt: skip
    rng = dice(graph.seed, "person", n)
    # Grown up by the time of their first work.
    year = (first_work - rng.randint(25, 46)) if first_work else rng.randint(1948, 1988)
    born = f"{year}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
    died = 0
    if role not in ("mayor", "former mayor", "president", "scholar") and year < 1946:
        died = min(year + rng.randint(68, 91), 2023)
    # Most people study in their own country, if it has a university.
    anywhere = rng.random() < 0.15 or not schools
    university = rng.randrange(len(graph.universities)) if anywhere else rng.choice(schools)
    employer = ""
    if role == "scholar":
        firm = trade == "engineer"
        choices = len(graph.companies) if firm else len(graph.universities)
        employer = f"{'company' if firm else 'university'}/{rng.randrange(choices)}"
    name, title, woman = naming
    return Person(f"person/{n}", name, title, woman, trade, born, died, home, university, employer)
