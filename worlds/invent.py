"""Build the whole graph of an invented world. Numbers of entities grow in proportion to the pages wanted."""

from __future__ import annotations

from dataclasses import replace

from webemu.worlds.graph import PRIZE_YEARS, Graph
from webemu.worlds.names import Register
from webemu.worlds.people import Cast, invent_people
from webemu.worlds.places import invent_places
from webemu.worlds.works_and_products import (
    invent_companies,
    invent_festivals,
    invent_landmarks,
    invent_prizes,
    invent_products,
    invent_universities,
    invent_works,
)


def invent(seed: int, pages: int) -> Graph:
    """Return the graph for a seed and a size in pages."""
    graph = Graph(seed, pages)

    def count(per_2000: float, least: int) -> int:
        return max(least, round(per_2000 * pages / 2000))

    register = Register()
    invent_places(graph, count(120, 24), count(16, 4), count(12, 3), min(count(3, 3), 6), register)
    prizes = ["novel"] * count(3, 1) + ["film"] * count(2, 1)
    literary = prizes.count("novel")
    novels, films = (
        (literary * len(PRIZE_YEARS) + count(50, 4)),
        ((len(prizes) - literary) * len(PRIZE_YEARS) + count(16, 2)),
    )
    companies = count(90, 10)
    cast: Cast = (
        ("mayor", len(graph.towns)), ("founder", companies * 9 // 10), ("author", novels // 2 or 1),
        ("director", films // 3 or 1), ("scholar", count(40, 8)), ("architect", count(10, 3)), ("artist", count(20, 4)),
        ("former mayor", sum(town.former_mayor >= 0 for town in graph.towns)), ("president", len(graph.countries)),
    )  # fmt: skip
    spans = _spans(cast)
    invent_universities(graph, count(8, 2), spans["scholar"].start, len(spans["scholar"]))
    invent_companies(graph, companies, spans["founder"].start, len(spans["founder"]), register)
    invent_products(graph, count(90, 10), register)
    graph.novels = invent_works(graph, "novel", novels, range(literary), spans["author"], register)
    graph.films = invent_works(graph, "film", films, range(literary, len(prizes)), spans["director"], register)
    invent_prizes(graph, prizes, register)
    invent_landmarks(graph, count(50, 6), spans["architect"], register)
    invent_festivals(graph, count(24, 4), register)
    invent_people(graph, cast, _first_works(graph))
    _seat(graph, spans)
    return graph


def _spans(cast: Cast) -> dict[str, range]:
    """Return the range of positions of the people of each role."""
    spans, at = {}, 0
    for role, count in cast:
        spans[role] = range(at, at + count)
        at += count
    return spans


def _first_works(graph: Graph) -> dict[int, int]:
    """Return the year of the first thing that each person made, by position of the person."""
    made = [(company.founder, company.founded) for company in graph.companies]
    made += [(work.maker, work.year) for work in (*graph.novels, *graph.films)]
    made += [(mark.architect, int(mark.opened[:4])) for mark in graph.landmarks]
    first: dict[int, int] = {}
    for person, year in made:
        first[person] = min(year, first.get(person, year))
    return first


def _seat(graph: Graph, spans: dict[str, range]) -> None:
    """Put former mayors and presidents in their offices, which were invented before there were people."""
    former = iter(spans["former mayor"])
    for n, town in enumerate(graph.towns):
        if town.former_mayor >= 0:
            graph.towns[n] = replace(town, former_mayor=next(former))
    for n, country in enumerate(graph.countries):
        graph.countries[n] = replace(country, president=spans["president"][n])
