"""Cost of querying a snapshot, in a process that opens it anew.

python -m benchmarks.scale_queries FOLDER warm|cold SEED < asked.json

Reads queries and URLs, prints a JSON object. `warm`: core-microseconds and times of searches, batches of queries,
completions and text pages, each requested once before, and of the engine's part of a search alone: the ten best pages
that have any word of the query (`plain OR`). `cold`: the collection's files are dropped from the page cache first, and
the first requests of the new process are timed, with the bytes read from disk for them. Files are dropped with
posix_fadvise(2) and counted with mincore(2).
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

import psutil

from benchmarks.memory import read_anonymous_bytes
from benchmarks.scale_model import QueryFigures, RequestFigures
from webemu.emulator.query import parse_query
from webemu.emulator.types import PageRequest, Query
from webemu.emulator.world import World
from webemu.index.engine import RankEngine
from webemu.index.open import open_world

COLD_REQUESTS = 40
"""Requests of each kind in a cold process."""
WARM_REQUESTS = 2000
"""Requests of each kind in a warm process."""
BATCH_QUERIES = 64
"""Queries of a batch."""
PREFIX_CHARACTERS = 6
"""Characters that are completed."""


def list_files(folder: Path) -> list[Path]:
    """Return the files that serving reads: all but the catalog, and the archives, wherever they are."""
    collection_files = [path for name in ("snapshots", "shards", "warc") for path in (folder / name).rglob("*")]
    manifest = next((folder / "snapshots").glob("*/manifest.json"))
    archives = [folder / name for name in json.loads(manifest.read_text())["files"]]
    return [path for path in (*collection_files, *archives) if path.is_file() and path.stat().st_size]


def count_resident_bytes(path: Path) -> int:
    """Return the bytes of a file in the page cache."""
    size = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE) as mapped:
        pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
        page_flags = (ctypes.c_ubyte * pages)()
        start = ctypes.c_char.from_buffer(mapped)
        failed = ctypes.CDLL(None, use_errno=True).mincore(
            ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), page_flags
        )
        del start
        if failed:
            raise OSError(ctypes.get_errno(), f"mincore of {path}")
        return sum(flag & 1 for flag in bytes(page_flags)) * mmap.PAGESIZE


def drop_from_cache(path: Path) -> None:
    """Drop a file from the page cache; pages that a process has mapped may stay."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


def count_read_bytes() -> int:
    """Return the bytes that this process has caused to be read from disk."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("read_bytes")).partition(":")[2])


def measure_calls(calls: Sequence[Callable[[], object]]) -> RequestFigures:
    """Make the requests; return the core-microseconds, median and p99 milliseconds, and bytes read of one."""
    durations, before, cpu_seconds = [], count_read_bytes(), time.process_time()
    for call in calls:
        started = time.perf_counter()
        call()
        durations.append(time.perf_counter() - started)
    cpu_seconds = time.process_time() - cpu_seconds
    durations.sort()
    return {
        "asked": len(durations),
        "core_us": 1e6 * cpu_seconds / len(durations),
        "p50_ms": 1e3 * durations[len(durations) // 2],
        "p99_ms": 1e3 * durations[int(len(durations) * 0.99)],
        "read_bytes": (count_read_bytes() - before) / len(durations),
    }


def build_calls(world: World, queries: Sequence[str], urls: Sequence[str]) -> dict[str, list[Callable[[], object]]]:
    """Return the requests of each kind as functions."""

    engine = world.ranker
    assert isinstance(engine, RankEngine)
    plans = [plan.query for query in queries if (plan := engine.plan(parse_query(query))).query is not None]
    batches = [
        [Query(query) for query in queries[start : start + BATCH_QUERIES]]
        for start in range(0, len(queries), BATCH_QUERIES)
    ]
    return {
        "search": [partial(world.search, Query(query)) for query in queries],
        "fetch": [partial(world.fetch, PageRequest(url)) for url in urls],
        "suggest": [partial(world.suggest, query[:PREFIX_CHARACTERS], 10) for query in queries],
        "batch": [partial(world.batch_search_passages, batch) for batch in batches],
        "engine": [partial(engine.reader.searcher.search, plan, 10, count=False) for plan in plans],
    }


def main(folder: Path, mode: str, seed: int) -> None:
    """Open the collection, measure, and print the figures as JSON."""
    queries, urls = json.load(sys.stdin)
    rng = Random(seed)
    sizes: dict[str, int] = {}
    if mode == "cold":
        queries, urls = rng.sample(queries, min(COLD_REQUESTS, len(queries))), rng.sample(urls, COLD_REQUESTS)
        files = list_files(folder)
        for path in files:
            drop_from_cache(path)
        sizes = {
            "bytes": sum(path.stat().st_size for path in files),
            "resident": sum(map(count_resident_bytes, files)),
        }
    before, started = count_read_bytes(), time.perf_counter()
    world = open_world(folder)
    open_seconds, open_bytes = time.perf_counter() - started, count_read_bytes() - before
    costs: dict[str, RequestFigures] = {}
    for name, calls in build_calls(world, queries[:WARM_REQUESTS], urls[:WARM_REQUESTS]).items():
        for call in calls if mode == "warm" else ():
            call()
        costs[name] = measure_calls(calls)
    figures: QueryFigures = {
        "open_s": open_seconds,
        "open_bytes": open_bytes,
        "search": costs["search"],
        "fetch": costs["fetch"],
        "suggest": costs["suggest"],
        "batch": costs["batch"],
        "engine": costs["engine"],
        "own": read_anonymous_bytes("self"),
        "rss": psutil.Process().memory_info().rss,
    }
    print(json.dumps({**sizes, **figures}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
