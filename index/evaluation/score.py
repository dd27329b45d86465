"""Scores rankings query by query with ir_measures, and summarises any group of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.extras import install_command
from webemu.index.evaluation.judged import JudgedQuery, Judgments
from webemu.index.evaluation.ranker import RankFunction
from webemu.index.evaluation.statistics import Difference, Figure, compare_paired, mean_with_interval

if TYPE_CHECKING:
    from ir_measures import Measure

MEASURES = "nDCG@10,AP,RR@10,R@100"
"""Default measures, by their names in ir_measures."""


@dataclass(frozen=True, slots=True)
class QueryScore:
    """One query with its ranking and scores."""

    query: JudgedQuery
    ranked_urls: tuple[str, ...]
    """URLs, best first."""
    values: Mapping[str, float]
    """Score by name of the measure."""


def parse_measures(names: str) -> list[Measure]:
    """Return measures by their ir_measures names, separated by commas. Raises BadRequest for an unknown name."""
    library = _import_library()
    try:
        parsed_measures = [library.parse_measure(name.strip()) for name in names.split(",")]
        list(library.iter_calc(parsed_measures, {"query": {"page": 1}}, {"query": {"page": 1.0}}))
        return parsed_measures
    except Exception as error:  # the library and its dependencies raise many kinds of errors
        raise BadRequest(
            f"measures {names!r} are invalid: {error}",
            action="use names of ir_measures, such as nDCG@10,AP,RR@10,R@100",
        ) from error


def score_queries(
    queries: Iterable[JudgedQuery],
    judgments: Judgments,
    rank: RankFunction,
    chosen_measures: Sequence[Measure],
    on_query: Callable[[], None] = lambda: None,
) -> list[QueryScore]:
    """Run every query that has a judgment and score its ranking; `on_query` is called after each query.

    Ranks are scored, not the engine's scores: trec_eval would reorder equal ones.
    """
    library, judged_queries = _import_library(), [query for query in queries if judgments.get(query.id)]
    rankings: dict[str, list[str]] = {}
    for query in judged_queries:
        rankings[query.id] = rank(query.text)
        on_query()
    # Distinct descending scores keep the order of the ranking.
    run = {
        name: {url: float(-position) for position, url in enumerate(pages)} for name, pages in rankings.items() if pages
    }
    qrels = {query.id: dict(judgments[query.id]) for query in judged_queries}
    values: dict[str, dict[str, float]] = {query.id: {} for query in judged_queries}
    for metric in library.iter_calc(chosen_measures, qrels, run) if qrels else ():
        values[metric.query_id][str(metric.measure)] = metric.value
    names = [str(measure) for measure in chosen_measures]
    return [
        QueryScore(
            judged_query, tuple(rankings[judged_query.id]), {name: values[judged_query.id][name] for name in names}
        )
        for judged_query in judged_queries
    ]


Group = tuple[str, str]
"""(kind, half); empty strings stand for all."""


def group_queries(scores: Sequence[QueryScore]) -> dict[Group, list[int]]:
    """Return the indices of queries per group: all first, then each kind, then each half of each kind."""
    members: dict[Group, list[int]] = {("", ""): list(range(len(scores)))}
    for index, query_score in enumerate(scores):
        for group in {
            (query_score.query.kind, ""),
            (query_score.query.kind, query_score.query.half),
            ("", query_score.query.half),
        } - {("", "")}:
            members.setdefault(group, []).append(index)
    return {group: members[group] for group in sorted(members)}


def mean_figures(scores: Sequence[QueryScore], indices: Sequence[int]) -> dict[str, Figure]:
    """Return the mean of each measure over the queries with these indices."""
    names = scores[indices[0]].values
    return {name: mean_with_interval([scores[index].values[name] for index in indices], name) for name in names}


def compare_scores(
    first: Sequence[QueryScore], second: Sequence[QueryScore], indices: Sequence[int]
) -> dict[str, Difference]:
    """Return how much higher `second` scores than `first`, per measure, on the same queries."""
    return {
        name: compare_paired([first[n].values[name] for n in indices], [second[n].values[name] for n in indices], name)
        for name in first[indices[0]].values
    }


def _import_library() -> ModuleType:
    """Import ir_measures, which is optional. Raises EmulatorError if it is not installed."""
    try:
        import ir_measures  # optional, with numpy below it
    except ModuleNotFoundError as error:
        raise EmulatorError(
            f"measuring needs the package {error.name!r}, which is not installed",
            action=install_command(["measure"]),
        ) from error
    return ir_measures
