"""Rankings scored query by query with ir_measures, and the figures of any group of queries."""

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


@dataclass(frozen=True, slots=True)
class Scored:
    """One query, asked."""

    query: Judged
    found: tuple[str, ...]
    """URLs, the best first."""
    values: Mapping[str, float]
    """By the name of the measure."""


def measures(names: str) -> list[Any]:
    """Measures by the names of ir_measures, with commas between. Raises BadRequest for one that is unknown."""
    library = _library()
    try:
        by = [library.parse_measure(name.strip()) for name in names.split(",")]
        list(library.iter_calc(by, {"query": {"page": 1}}, {"query": {"page": 1.0}}))
        return by
    except Exception as error:  # the library and what it calls have a kind for each
        raise BadRequest(
            f"measures {names!r}: {error}", action="names are those of ir_measures, such as nDCG@10,AP,RR@10,R@100"
        ) from error


def score(
    queries: Iterable[Judged],
    judgments: Judgments,
    rank: Ranker,
    by: Sequence[Any],
    done: Callable[[], None] = lambda: None,
) -> list[Scored]:
    """Ask every query that has a judgment, and score what is found; `done` is called after each that was asked.

    The order is what is scored: trec_eval would put equal scores into an order of its own.
    """
    library, asked = _library(), [query for query in queries if judgments.get(query.id)]
    found: dict[str, list[str]] = {}
    for query in asked:
        found[query.id] = rank(query.text)
        done()
    run = {name: {url: float(-place) for place, url in enumerate(pages)} for name, pages in found.items() if pages}
    wanted = {query.id: dict(judgments[query.id]) for query in asked}
    values: dict[str, dict[str, float]] = {query.id: {} for query in asked}
    for metric in library.iter_calc(by, wanted, run) if wanted else ():
        values[metric.query_id][str(metric.measure)] = metric.value
    names = [str(measure) for measure in by]
    return [Scored(one, tuple(found[one.id]), {name: values[one.id][name] for name in names}) for one in asked]


Group = tuple[str, str]
"""Kind and half; empty for all."""


def groups(scored: Sequence[Scored]) -> dict[Group, list[int]]:
    """Which queries, by place, are in which group: all first, then each kind, then each half of each kind."""
    found: dict[Group, list[int]] = {("", ""): list(range(len(scored)))}
    for place, one in enumerate(scored):
        for group in {(one.query.kind, ""), (one.query.kind, one.query.half), ("", one.query.half)} - {("", "")}:
            found.setdefault(group, []).append(place)
    return {group: found[group] for group in sorted(found)}


def figures(scored: Sequence[Scored], places: Sequence[int]) -> dict[str, Figure]:
    """The mean of each measure over some of the queries."""
    names = scored[places[0]].values
    return {name: figure([scored[place].values[name] for place in places], name) for name in names}


def differences(first: Sequence[Scored], second: Sequence[Scored], places: Sequence[int]) -> dict[str, Difference]:
    """How much more `second` has than `first`, both scored on the same queries."""
    return {
        name: difference([first[n].values[name] for n in places], [second[n].values[name] for n in places], name)
        for name in first[places[0]].values
    }


def _library() -> Any:
    try:
        import ir_measures  # optional, with numpy below it
    except ModuleNotFoundError as error:
        raise EmulatorError(
            f"measuring needs the package {error.name!r}, which is not installed",
            action=install(["measure"]),
        ) from error
    return ir_measures
