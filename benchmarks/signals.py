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

from webemu.emulator.ports import Finder
from webemu.emulator.query import parse
from webemu.emulator.ranking import WINDOW
from webemu.emulator.world import World
from webemu.index.engine import Engine
from webemu.index.evaluation.judged import ids, read_judgments, read_queries
from webemu.index.evaluation.known_items import KINDS
from webemu.index.evaluation.ranker import ranked
from webemu.index.evaluation.score import figures, groups, measures, score
from webemu.index.load_samples import generated
from webemu.index.manifest import current_id, switch
from webemu.index.open import open_snapshot
from webemu.index.rank import PLAIN, Weights
from webemu.index.snapshot import build

NOW = Weights()
"""Weights of the ranking today."""
SETTINGS = {
    "flat BM25": PLAIN,
    "all signals": NOW,
    "without title in the field": replace(NOW, title=1),
    "without anchor texts": replace(NOW, anchors=0),
    "without the second stage": replace(NOW, named=0, together=0, ordered=0, fresh=0),
    "without title agreement": replace(NOW, named=0),
    "without passage": replace(NOW, together=0),
    "without order of words": replace(NOW, ordered=0),
    "with host 0.5": replace(NOW, host=0.5),
    "with address 0.5": replace(NOW, address=0.5),
    "with quality 0.5": replace(NOW, quality=0.5),
}
"""Weights that are compared, by the name in the table."""
COLUMNS = (("", "fit"), ("", "report"), *((kind, "report") for kind in KINDS))
"""Groups of queries in the table: (kind, half of the sites)."""
DEPTH = 100
"""Results per query that are scored."""
PASSES = 7
"""Passes over the queries for the times."""


def world_of(collection: Path, weights: Weights) -> World:
    """Return the world ranked by these weights, over a snapshot whose index was built with them."""
    inside = replace(NOW, title=weights.title, anchors=weights.anchors)
    world = open_snapshot(collection, build(collection, workers=2, weights=inside, hold_out=True))
    assert isinstance(world.finder, Engine)
    return World(world.snapshot, world.finder.variant(weights), world.shelf, world.figures())


def microseconds(finders: Sequence[Finder], queries: Sequence[str]) -> list[float]:
    """Return the CPU microseconds per query of each ranker: the least of `PASSES` passes, as disturbances add."""
    least = [inf] * len(finders)
    # The rankers take turns, so that a disturbance does not fall on one of them alone.
    for _ in range(PASSES):
        for place, finder in enumerate(finders):
            started = time.process_time()
            for text in queries:
                finder.top(finder.plan(parse(text)), WINDOW)
            least[place] = min(least[place], 1e6 * (time.process_time() - started) / len(queries))
    return least


def main(collection: Path, known: Path) -> None:
    """Build the snapshots, score each setting and print the table. The served snapshot stays the same."""
    served = current_id(collection)
    queries, judgments = read_queries(known / "queries.jsonl"), read_judgments(known / "qrels.tsv", ids(None))
    try:
        worlds = [world_of(collection, weights) for weights in SETTINGS.values()]
    finally:
        if served:
            switch(collection, served)
    texts, _ = generated(collection, 4000, 0, "signals")
    times = microseconds([world.finder for world in worlds], texts)
    print(f"{'':<28}{'us':>6}  " + "".join(f"{' '.join(column).strip():>15}" for column in COLUMNS))
    for name, world, spent in zip(SETTINGS, worlds, times, strict=True):
        scored = score(queries, judgments, partial(ranked, world, depth=DEPTH), measures("RR@10"))
        of = groups(scored)
        means = [figures(scored, of[column])["RR@10"].mean if column in of else nan for column in COLUMNS]
        print(f"{name:<28}{spent:6.0f}  " + "".join(f"{mean:15.3f}" for mean in means), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
