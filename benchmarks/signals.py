"""Gain and cost of each ranking signal: the snapshot's weights with one of them changed.

python -m benchmarks.signals COLLECTION_FOLDER KNOWN_ITEMS_FOLDER

KNOWN_ITEMS_FOLDER was written by `webemu known-items`. Snapshots without held-out links are built next to the existing
ones (the two signals inside the index need four). Prints RR@10 on both halves of the sites, on the `report` half also
by kind; and microseconds of CPU per query for the first fifty results, over queries made of titles.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf, nan
from pathlib import Path

from webemu.emulator.ports import Ranker
from webemu.emulator.query import parse_query
from webemu.emulator.ranking import WINDOW_DEPTH
from webemu.emulator.world import World
from webemu.index.engine import RankEngine
from webemu.index.evaluation.judged import id_resolver, read_judgments, read_queries
from webemu.index.evaluation.known_items import KINDS
from webemu.index.evaluation.ranker import rank_live_pages
from webemu.index.evaluation.score import group_queries, mean_figures, parse_measures, score_queries
from webemu.index.load_samples import sample_queries
from webemu.index.manifest import current_id, set_current
from webemu.index.open import open_snapshot
from webemu.index.rank import FLAT_BM25, Weights
from webemu.index.snapshot import build_snapshot

CURRENT_WEIGHTS = Weights()
"""Weights of the ranking today."""
SETTINGS = {
    "flat BM25": FLAT_BM25,
    "all signals": CURRENT_WEIGHTS,
    "without title in the field": replace(CURRENT_WEIGHTS, title=1),
    "without anchor texts": replace(CURRENT_WEIGHTS, anchors=0),
    "without the second stage": replace(CURRENT_WEIGHTS, named=0, together=0, ordered=0, fresh=0, long=0),
    "without title agreement": replace(CURRENT_WEIGHTS, named=0),
    "without passage": replace(CURRENT_WEIGHTS, together=0),
    "without order of words": replace(CURRENT_WEIGHTS, ordered=0),
    "without length": replace(CURRENT_WEIGHTS, long=0),
    "with host 0.5": replace(CURRENT_WEIGHTS, host=0.5),
    "with address 0.5": replace(CURRENT_WEIGHTS, address=0.5),
    "with quality 0.5": replace(CURRENT_WEIGHTS, quality=0.5),
}
"""Weights that are compared, by the name in the table."""
COLUMNS = (("", "fit"), ("", "report"), *((kind, "report") for kind in KINDS))
"""Groups of queries in the table: (kind, half of the sites)."""
DEPTH = 100
"""Results per query that are scored."""
PASSES = 7
"""Passes over the queries for the times."""


def build_world(collection: Path, weights: Weights) -> World:
    """Return the world ranked by these weights, over a snapshot whose index was built with them."""
    index_weights = replace(CURRENT_WEIGHTS, title=weights.title, anchors=weights.anchors)
    world = open_snapshot(collection, build_snapshot(collection, workers=2, weights=index_weights, hold_out=True))
    assert isinstance(world.ranker, RankEngine)
    return World(world.snapshot, world.ranker.with_weights(weights), world.page_store, world.figures())


def measure_microseconds(rankers: Sequence[Ranker], queries: Sequence[str]) -> list[float]:
    """Return the CPU microseconds per query of each ranker: the least of `ENGINE_PASSES` passes."""
    least_times = [inf] * len(rankers)
    # The rankers take turns, so that a disturbance does not fall on one of them alone.
    for _ in range(PASSES):
        for position, ranker in enumerate(rankers):
            started = time.process_time()
            for text in queries:
                ranker.plan(parse_query(text)).top(WINDOW_DEPTH)
            least_times[position] = min(least_times[position], 1e6 * (time.process_time() - started) / len(queries))
    return least_times


def main(collection: Path, known_items: Path) -> None:
    """Build the snapshots, score each setting and print the table. The served snapshot stays the same."""
    served_id = current_id(collection)
    queries, judgments = (
        read_queries(known_items / "queries.jsonl"),
        read_judgments(known_items / "qrels.tsv", id_resolver(None)),
    )
    try:
        worlds = [build_world(collection, weights) for weights in SETTINGS.values()]
    finally:
        if served_id:
            set_current(collection, served_id)
    texts, _ = sample_queries(collection, 4000, 0, "signals")
    times = measure_microseconds([world.ranker for world in worlds], texts)
    print(f"{'':<28}{'us':>6}  " + "".join(f"{' '.join(column).strip():>15}" for column in COLUMNS))
    for name, world, query_us in zip(SETTINGS, worlds, times, strict=True):
        scores = score_queries(
            queries, judgments, partial(rank_live_pages, world, depth=DEPTH), parse_measures("RR@10")
        )
        scores_by_group = group_queries(scores)
        means = [
            mean_figures(scores, scores_by_group[column])["RR@10"].mean if column in scores_by_group else nan
            for column in COLUMNS
        ]
        print(f"{name:<28}{query_us:6.0f}  " + "".join(f"{mean:15.3f}" for mean in means), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
