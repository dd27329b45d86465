"""Search and fetch in process against the bare engine: same index, same queries, one run.

python -m benchmarks.in_process COLLECTION_FOLDER

Unit: per core-second of this process; medians of passes over the same requests, warm. Over HTTP: `webemu bench`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from webemu.emulator.query import parse_query
from webemu.emulator.types import PageRequest, Query
from webemu.index.engine import RankEngine
from webemu.index.load_samples import sample_queries
from webemu.index.open import open_world

QUERIES = PAGES = 4000
"""Queries, and pages, that are requested."""
PASSES = 5
"""Passes over all requests."""


def time_actions(actions: Iterator[object]) -> tuple[float, float]:
    """Return (core-microseconds each, median microseconds) of the actions of an iterator."""
    times, started = [], time.process_time()
    while True:
        action_started = time.perf_counter()
        if next(actions, None) is None:
            break
        times.append(time.perf_counter() - action_started)
    return 1e6 * (time.process_time() - started) / len(times), 1e6 * sorted(times)[len(times) // 2]


def main(folder: Path) -> None:
    """Measure all actions and print the medians."""
    queries, pages = sample_queries(folder, QUERIES, PAGES, "inside")
    world = open_world(folder)
    flat_world = world.with_engine("plain")
    engine = world.ranker
    assert isinstance(engine, RankEngine)
    plans = [engine.plan(parse_query(query)) for query in queries]
    searcher = engine.reader.searcher

    def search_engine_alone() -> Iterator[object]:
        for plan in plans:
            yield 1 if plan.query is None else searcher.search(plan.query, 10, count=False)

    actions: dict[str, Callable[[], Iterator[object]]] = {
        "engine alone": search_engine_alone,
        "search, all signals": lambda: (world.search(Query(query)) for query in queries),
        "search, flat BM25": lambda: (flat_world.search(Query(query)) for query in queries),
        "text of a page": lambda: (world.fetch(PageRequest(url)) for url, _ in pages),
    }
    # Actions take turns, so that other load on the machine affects all of them.
    passes = [{name: time_actions(action()) for name, action in actions.items()} for _ in range(PASSES)]
    print(f"{len(queries)} queries, {len(pages)} pages, {world.figures()['documents']} documents")
    for name in actions:
        cost, p50 = (
            sorted(column)[PASSES // 2] for column in zip(*(pass_figures[name] for pass_figures in passes), strict=True)
        )
        share = sorted(pass_figures["engine alone"][0] / pass_figures[name][0] for pass_figures in passes)[PASSES // 2]
        comparison = f"{share:.2f} of the engine" if name.startswith("search") else ""
        print(f"{name:20} {1e6 / cost:8,.0f} /core-s   p50 {p50:5.0f} us   {comparison}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
