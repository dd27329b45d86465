"""Invent the people: family names that recur, a few namesakes, and dates of birth that fit what each person made."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from webemu.worlds.graph import Graph, Person
from webemu.worlds.names import invent_family_name
from webemu.worlds.places import syllable_set_of
from webemu.worlds.seeded_random import seeded_rng

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
    homes = [_draw_home(graph, n, role) for n, role in enumerate(roles)]
    occupations = [_draw_occupation(graph.seed, n, role) for n, role in enumerate(roles)]
    names_and_sexes = _invent_names(graph, homes)
    positions_by_name: dict[str, list[int]] = {}
    for n, (name, _) in enumerate(names_and_sexes):
        positions_by_name.setdefault(name, []).append(n)
    universities_by_country: dict[int, list[int]] = {}
    for n, university in enumerate(graph.universities):
        universities_by_country.setdefault(graph.towns[university.town].country, []).append(n)
    for n, role in enumerate(roles):
        name, is_woman = names_and_sexes[n]
        title = name if len(positions_by_name[name]) == 1 else f"{name} ({occupations[n]})"
        local_universities = universities_by_country.get(graph.towns[homes[n]].country, [])
        naming = (name, title, is_woman)
        graph.people.append(
            _invent_person(graph, n, role, naming, occupations[n], homes[n], local_universities, first_work.get(n, 0))
        )


def _invent_names(graph: Graph, homes: list[int]) -> list[tuple[str, bool]]:
    """Return the name and sex (True for a woman) of each person, by position.

    Every 31st person, past the mayors, shares the name of an earlier one; all other names are unique.
    """
    names: list[tuple[str, bool]] = []
    used_names: set[str] = set()
    mayor_count = len(graph.towns)
    for n, home in enumerate(homes):
        rng = seeded_rng(graph.seed, "person name", n)
        if n > mayor_count and n % 31 == 30:
            names.append(names[n - mayor_count])
            continue
        name, is_woman = _invent_full_name(rng, graph.towns[home].country)
        while name in used_names:
            name, is_woman = _invent_full_name(rng, graph.towns[home].country, has_initial=rng.random() < 0.3)
        used_names.add(name)
        names.append((name, is_woman))
    return names


def _invent_full_name(rng: Random, country: int, has_initial: bool = False) -> tuple[str, bool]:
    syllables, is_woman = syllable_set_of(country), rng.random() < 0.5
    first = rng.choice(syllables.female_names if is_woman else syllables.male_names)
    initial = f" {rng.choice('ABCDEFGHIJKLMNOPRSTVW')}." if has_initial else ""
    return f"{first}{initial} {invent_family_name(rng, syllables)}", is_woman


def _draw_home(graph: Graph, n: int, role: str) -> int:
    rng = seeded_rng(graph.seed, "home", n)
    if role in ("mayor", "former mayor") and rng.random() < 0.5:
        region = graph.towns[n % len(graph.towns)].region
        return rng.choice(range(region, len(graph.towns), len(graph.regions)))
    return rng.randrange(len(graph.towns))


def _draw_occupation(seed: int, n: int, role: str) -> str:
    rng = seeded_rng(seed, "occupation", n)
    if role == "scholar":
        return "engineer" if rng.random() < 0.3 else rng.choice(SCHOLARS)
    return {
        "mayor": "politician", "former mayor": "politician", "president": "politician", "founder": "entrepreneur",
        "author": "novelist", "director": "film director", "architect": "architect",
    }.get(role) or rng.choice(ARTISTS)  # fmt: skip


def _invent_person(
    graph: Graph, n: int, role: str, name_title_sex: tuple[str, str, bool], occupation: str, home: int, local_universities: list[int],
    first_work: int,
) -> Person:  # fmt: skip
    rng = seeded_rng(graph.seed, "person", n)
    # Grown up by the time of their first work.
    birth_year = (first_work - rng.randint(25, 46)) if first_work else rng.randint(1948, 1988)
    birth_date = f"{birth_year}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
    death_year = 0
    if role not in ("mayor", "former mayor", "president", "scholar") and birth_year < 1946:
        death_year = min(birth_year + rng.randint(68, 91), 2023)
    # Most people study in their own country, if it has a university.
    studies_anywhere = rng.random() < 0.15 or not local_universities
    university = rng.randrange(len(graph.universities)) if studies_anywhere else rng.choice(local_universities)
    employer = ""
    if role == "scholar":
        is_engineer = occupation == "engineer"
        choices = len(graph.companies) if is_engineer else len(graph.universities)
        employer = f"{'company' if is_engineer else 'university'}/{rng.randrange(choices)}"
    name, title, is_woman = name_title_sex
    return Person(f"person/{n}", name, title, is_woman, occupation, birth_date, death_year, home, university, employer)
