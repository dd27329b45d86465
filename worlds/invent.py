"""Build the whole graph of an invented world. Numbers of entities grow in proportion to the pages wanted."""

from __future__ import annotations

from dataclasses import replace

from webemu.worlds.graph import PRIZE_YEARS, Graph
from webemu.worlds.names import NameRegistry
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


def invent_graph(seed: int, pages: int) -> Graph:
    """Return the graph for a seed and a size in pages."""
    graph = Graph(seed, pages)

    def scale_count(per_2000: float, minimum: int) -> int:
        return max(minimum, round(per_2000 * pages / 2000))

    registry = NameRegistry()
    invent_places(
        graph, scale_count(120, 24), scale_count(16, 4), scale_count(12, 3), min(scale_count(3, 3), 6), registry
    )
    prizes = ["novel"] * scale_count(3, 1) + ["film"] * scale_count(2, 1)
    literary = prizes.count("novel")
    novels, films = (
        (literary * len(PRIZE_YEARS) + scale_count(50, 4)),
        ((len(prizes) - literary) * len(PRIZE_YEARS) + scale_count(16, 2)),
    )
    companies = scale_count(90, 10)
    cast: Cast = (
        ("mayor", len(graph.towns)), ("founder", companies * 9 // 10), ("author", novels // 2 or 1),
        ("director", films // 3 or 1), ("scholar", scale_count(40, 8)), ("architect", scale_count(10, 3)), ("artist", scale_count(20, 4)),
        ("former mayor", sum(town.former_mayor >= 0 for town in graph.towns)), ("president", len(graph.countries)),
    )  # fmt: skip
    spans = _position_ranges(cast)
    invent_universities(graph, scale_count(8, 2), spans["scholar"].start, len(spans["scholar"]))
    invent_companies(graph, companies, spans["founder"].start, len(spans["founder"]), registry)
    invent_products(graph, scale_count(90, 10), registry)
    graph.novels = invent_works(graph, "novel", novels, range(literary), spans["author"], registry)
    graph.films = invent_works(graph, "film", films, range(literary, len(prizes)), spans["director"], registry)
    invent_prizes(graph, prizes, registry)
    invent_landmarks(graph, scale_count(50, 6), spans["architect"], registry)
    invent_festivals(graph, scale_count(24, 4), registry)
    invent_people(graph, cast, _first_work_years(graph))
    _fill_offices(graph, spans)
    return graph


def _position_ranges(cast: Cast) -> dict[str, range]:
    """Return the range of positions of the people of each role."""
    spans, start = {}, 0
    for role, count in cast:
        spans[role] = range(start, start + count)
        start += count
    return spans


def _first_work_years(graph: Graph) -> dict[int, int]:
    """Return the year of the first thing that each person made, by position of the person."""
    dated_works = [(company.founder, company.founding_year) for company in graph.companies]
    dated_works += [(work.creator, work.year) for work in (*graph.novels, *graph.films)]
    dated_works += [(landmark.architect, int(landmark.opening_date[:4])) for landmark in graph.landmarks]
    first_years: dict[int, int] = {}
    for person, year in dated_works:
        first_years[person] = min(year, first_years.get(person, year))
    return first_years


def _fill_offices(graph: Graph, spans: dict[str, range]) -> None:
    """Put former mayors and presidents in their offices, which were invented before there were people."""
    former_mayors = iter(spans["former mayor"])
    for n, town in enumerate(graph.towns):
        if town.former_mayor >= 0:
            graph.towns[n] = replace(town, former_mayor=next(former_mayors))
    for n, country in enumerate(graph.countries):
        graph.countries[n] = replace(country, president=spans["president"][n])
