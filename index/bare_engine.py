"""Measures bare Tantivy as the floor of the search benchmark: top ten of each query, one thread, nothing reranked.

    python -m webemu.index.bare_engine COLLECTION_FOLDER SNAPSHOT PASSES < queries.json

The output is one JSON object: queries per core-second, microseconds at the median and the 99th percentile (of the
median pass), and the bytes of memory that only this process uses. Queries are planned beforehand, as serving does.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
from tantivy import Query

from webemu.emulator.query import parse_query
from webemu.index.engine import RankEngine
from webemu.index.open import open_snapshot

TOP = 10
"""Hits per query."""


def time_pass(engine: RankEngine, queries: Sequence[Query]) -> tuple[float, list[float]]:
    """Return the CPU seconds per query, and the sorted wall seconds of all queries."""
    search, times = engine.reader.searcher.search, []
    started = time.process_time()
    for query in queries:
        query_started = time.perf_counter()
        search(query, TOP, count=False)
        times.append(time.perf_counter() - query_started)
    return (time.process_time() - started) / len(queries), sorted(times)


def main(folder: Path, snapshot: str, passes: int, queries: list[str]) -> None:
    """Run the queries `passes` times and print the figures of the median pass."""
    engine = open_snapshot(folder, snapshot).ranker
    assert isinstance(engine, RankEngine)
    tantivy_queries = [plan.query for plan in map(engine.plan, map(parse_query, queries)) if plan.query is not None]
    cpu, times = sorted(time_pass(engine, tantivy_queries) for _ in range(passes))[passes // 2]
    report = {
        "queries": len(tantivy_queries),
        "per_core_s": 1 / cpu,
        "p50_us": 1e6 * times[len(times) // 2],
        "p99_us": 1e6 * times[int(len(times) * 0.99)],
        "own_bytes": psutil.Process().memory_full_info().uss,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), json.load(sys.stdin))
