"""Scores rankings query by query with ir_measures, and summarises any group of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.extras import install
from webemu.index.evaluation.judged import Judged, Judgments
from webemu.index.evaluation.ranker import Ranker
from webemu.index.evaluation.statistics import Difference, Figure, difference, figure

MEASURES = "nDCG@10,AP,RR@10,R@100"
"""Default measures, by their names in ir_measures."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One query with its ranking and scores."""

    query: Judged
    found: tuple[str, ...]
    """URLs, best first."""
    values: Mapping[str, float]
    """Score by name of the measure."""


def measures(names: str) -> list[Any]:
    """Return measures by their ir_measures names, separated by commas. Raises BadRequest for an unknown name."""
    library = _library()
    try:
        by = [library.parse_measure(name.strip()) for name in names.split(",")]
        list(library.iter_calc(by, {"query": {"page": 1}}, {"query": {"page": 1.0}}))
        return by
    except Exception as error:  # the library and its dependencies raise many kinds of errors
        raise BadRequest(
            f"measures {names!r} are invalid: {error}",
            action="use names of ir_measures, such as nDCG@10,AP,RR@10,R@100",
        ) from error


def score(
    queries: Iterable[Judged],
    judgments: Judgments,
    rank: Ranker,
    by: Sequence[Any],
    done: Callable[[], None] = lambda: None,
) -> list[Scored]:
    """Run every query that has a judgment and score its ranking; `on_query` is called after each query.

    Ranks are scored, not the engine's scores: trec_eval would reorder equal ones.
    """
    library, asked = _library(), [query for query in queries if judgments.get(query.id)]
    found: dict[str, list[str]] = {}
    for query in asked:
        found[query.id] = rank(query.text)
        done()
    # Distinct descending scores keep the order of the ranking.
    run = {name: {url: float(-place) for place, url in enumerate(pages)} for name, pages in found.items() if pages}
    wanted = {query.id: dict(judgments[query.id]) for query in asked}
    values: dict[str, dict[str, float]] = {query.id: {} for query in asked}
    for metric in library.iter_calc(by, wanted, run) if wanted else ():
        values[metric.query_id][str(metric.measure)] = metric.value
    names = [str(measure) for measure in by]
    return [Scored(one, tuple(found[one.id]), {name: values[one.id][name] for name in names}) for one in asked]


Group = tuple[str, str]
"""(kind, half); empty strings stand for all."""


def groups(scored: Sequence[Scored]) -> dict[Group, list[int]]:
    """Return the indices of queries per group: all first, then each kind, then each half of each kind."""
    found: dict[Group, list[int]] = {("", ""): list(range(len(scored)))}
    for place, one in enumerate(scored):
        for group in {(one.query.kind, ""), (one.query.kind, one.query.half), ("", one.query.half)} - {("", "")}:
            found.setdefault(group, []).append(place)
    return {group: found[group] for group in sorted(found)}


def figures(scored: Sequence[Scored], places: Sequence[int]) -> dict[str, Figure]:
    """Return the mean of each measure over the queries with these indices."""
    names = scored[places[0]].values
    return {name: figure([scored[place].values[name] for place in places], name) for name in names}


def differences(first: Sequence[Scored], second: Sequence[Scored], places: Sequence[int]) -> dict[str, Difference]:
    """Return how much higher `second` scores than `first`, per measure, on the same queries."""
    return {
        name: difference([first[n].values[name] for n in places], [second[n].values[name] for n in places], name)
        for name in first[places[0]].values
    }


def _library() -> Any:
    """Import ir_measures, which is optional. Raises EmulatorError if it is not installed."""
    try:
        import ir_measures  # optional, with numpy below it
    except ModuleNotFoundError as error:
        raise EmulatorError(
            f"measuring needs the package {error.name!r}, which is not installed",
            action=install(["measure"]),
        ) from error
    return ir_measures
