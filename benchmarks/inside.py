"""Search and fetch in process against the bare engine: same index, same queries, same run.

python -m benchmarks.inside COLLECTION_FOLDER

Unit: per core-second of this process; the median of three passes over the same requests, warm. Over HTTP:
`webemu bench`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from emulator.query import parse
from emulator.types import PageRequest, Query
from index.asked import generated
from index.open import open_world

QUERIES = PAGES = 4000


def rate(count: int, actions: Callable[[], Iterator[object]]) -> tuple[float, float]:
    """(per core-second, microseconds at the median) of the actions of an iterator, in the median of three passes."""
    passes = []
    for _ in range(3):
        times, action, started = [], actions(), time.process_time()
        while True:
            one = time.perf_counter()
            if next(action, None) is None:
                break
            times.append(time.perf_counter() - one)
        passes.append((count / (time.process_time() - started), 1e6 * sorted(times)[len(times) // 2]))
    return sorted(passes)[1]


def main(folder: Path) -> None:
    queries, pages = generated(folder, QUERIES, PAGES, "inside")
    world = open_world(folder)
    engine = world._finder
    plans = [engine.plan(parse(query)) for query in queries]
    searcher = engine._searcher  # type: ignore[attr-defined]

    def bare() -> Iterator[object]:
        for plan in plans:
            yield 1 if plan.query is None else searcher.search(plan.query, 10, count=False)

    floor, floor_us = rate(len(queries), bare)
    inside, inside_us = rate(len(queries), lambda: (world.search(Query(query)) for query in queries))
    text, text_us = rate(len(pages), lambda: (world.fetch(PageRequest(url)) for url, _ in pages))
    print(f"{len(queries)} queries, {len(pages)} pages, {world.figures()['documents']} documents")
    print(f"bare engine            {floor:8,.0f} /core-s   p50 {floor_us:7.0f} us")
    share = f"{inside / floor:.2f} of the engine"
    print(f"World.search           {inside:8,.0f} /core-s   p50 {inside_us:7.0f} us   {share}")
    print(f"World.fetch text       {text:8,.0f} /core-s   p50 {text_us:7.0f} us")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
