"""Measures what a search loses by reading the postings of the rare words alone, and what that saves.

WEBEMU_SHARED=DIR python -m benchmarks.shortcut --judged cranfield vaswani    (DIR/data/ir/NAME)
python -m benchmarks.shortcut --collection FOLDER [--queries 600] [--always]

Each query is searched twice, by all postings and with the shortcut (`webemu.index.rank_plan.Shortcut`). Judged sets are
small, so there the shortcut is taken however few postings it saves. Of a collection, title queries are searched as an
agent does; `--always` takes the shortcut there too wherever it is possible. Blocks of queries are timed in turn.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import mean
from typing import Any
from unittest.mock import patch

from webemu.emulator.ports import ScoredDoc
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.evaluation import beir
from webemu.index.evaluation.ranker import RankerConfig, open_ranker
from webemu.index.evaluation.score import compare_scores, parse_measures, score_queries
from webemu.index.load_samples import sample_queries
from webemu.index.manifest import current_id
from webemu.index.open import open_world
from webemu.index.rank_plan import RankPlan

JUDGED_SETS = ("cranfield", "vaswani", "xquad_en", "xquad_de")
"""Judged sets that are scored if none is named."""
DEPTH = 10
"""Results of a query."""
BLOCK = 100
"""Queries that are timed together."""


@contextmanager
def all_postings() -> Iterator[None]:
    """Search without a shortcut."""
    with patch("webemu.index.rank_plan.MAX_SHORTCUT_HITS", 0):
        yield


@contextmanager
def shortcuts(*, always: bool) -> Iterator[list[bool]]:
    """Search with shortcuts, and yield a list that gets whether each one that was tried succeeded.

    `always` tries one however few postings it saves.
    """
    outcomes: list[bool] = []
    take = RankPlan._take_shortcut

    def take_and_note(plan: RankPlan, *arguments: Any) -> list[ScoredDoc]:
        hits = take(plan, *arguments)
        outcomes.append(bool(hits))
        return hits

    with ExitStack() as patches:
        patches.enter_context(patch.object(RankPlan, "_take_shortcut", take_and_note))
        if always:
            patches.enter_context(patch("webemu.index.engine.MIN_SAVED_POSTINGS", 1))
        yield outcomes


def mean_overlap(expected: Sequence[Sequence[str]], rankings: Sequence[Sequence[str]]) -> float:
    """Return the mean share of the expected results that each ranking has."""
    pairs = [(set(first), set(second)) for first, second in zip(expected, rankings, strict=True) if first]
    return mean(len(first & second) / len(first) for first, second in pairs)


def measure_judged(name: str, shared: Path) -> str:
    """Return a line with nDCG@10 and the overlap of one judged set."""
    folder, measures = shared / "data" / "ir" / name, parse_measures("nDCG@10")
    with tempfile.TemporaryDirectory() as work:
        collection = beir.ingest_corpus(folder, Path(work))
        config = RankerConfig(collection, current_id(collection) or "", DEPTH)
        with all_postings():
            expected = score_queries(*beir.read_judged(folder), open_ranker(config), measures)
        with shortcuts(always=True) as outcomes:
            scores = score_queries(*beir.read_judged(folder), open_ranker(config), measures)
    difference = compare_scores(expected, scores, range(len(scores)))["nDCG@10"]
    overlap = mean_overlap([score.ranked_urls for score in expected], [score.ranked_urls for score in scores])
    return (
        f"{name:<10} {len(scores)} queries, {sum(outcomes)} by the shortcut of {len(outcomes)} tried; nDCG@10"
        f" {difference.first:.4f} -> {difference.second:.4f} (p {difference.p:.2f}), overlap@10 {overlap:.4f}"
    )


def search_all(world: World, queries: Sequence[str]) -> tuple[list[list[str]], float]:
    """Return the URLs that each query finds, and the core-seconds that all took."""
    start = time.process_time()
    rankings = [[hit.url for hit in world.search(Query(query, size=DEPTH)).hits] for query in queries]
    return rankings, time.process_time() - start


def measure_collection(folder: Path, count: int, *, always: bool) -> str:
    """Return lines with the overlap and the times of title queries."""
    world, queries = open_world(folder), sample_queries(folder, count, 1, "shortcut")[0]
    expected: list[list[str]] = []
    rankings: list[list[str]] = []
    times: list[tuple[float, float]] = []
    with shortcuts(always=always) as outcomes:
        search_all(world, queries)  # words and pages are read once before
        outcomes.clear()
        for start in range(0, len(queries), BLOCK):
            block = queries[start : start + BLOCK]
            with all_postings():
                results, before = search_all(world, block)
            expected += results
            results, after = search_all(world, block)
            rankings += results
            times.append((before, after))
    pairs = list(zip(expected, rankings, strict=True))
    before, after = (sum(part) / len(queries) * 1e6 for part in zip(*times, strict=True))
    return (
        f"{len(queries)} queries, {sum(outcomes)} by the shortcut of {len(outcomes)} tried; overlap@10"
        f" {mean_overlap(expected, rankings):.4f}, equal lists {mean(first == second for first, second in pairs):.3f}\n"
        f"a search: {before:,.0f} -> {after:,.0f} core-us"
    )


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shortcut")
    parser.add_argument("--judged", nargs="*", metavar="NAME", help="Judged sets. [default: all four]")
    parser.add_argument("--collection", type=Path, help="Folder of a collection.")
    parser.add_argument("--queries", type=int, default=600, help="Title queries. [default: %(default)s]")
    parser.add_argument("--always", action="store_true", help="Take the shortcut however few postings it saves.")
    options = parser.parse_args()
    if options.judged is not None:
        if not (shared := os.environ.get("WEBEMU_SHARED")):
            raise SystemExit("WEBEMU_SHARED is not set; set it to the folder that holds data/ir")
        for name in options.judged or JUDGED_SETS:
            print(measure_judged(name, Path(shared)), flush=True)
    if options.collection:
        print(measure_collection(options.collection, options.queries, always=options.always))


if __name__ == "__main__":
    main()
