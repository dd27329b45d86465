"""Cost of querying a snapshot, in a process that opens it anew.

python -m benchmarks.scale_queries FOLDER warm|cold SEED < asked.json

Reads queries and URLs, prints a JSON object. `warm`: core-microseconds and times of searches and of text pages, each
requested once before. `cold`: the collection's files are dropped from the page cache first, and the first requests of
the new process are timed, with the bytes read from disk for them. Files are dropped with posix_fadvise(2) and counted
with mincore(2).
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.memory import own
from webemu.emulator.types import PageRequest, Query
from webemu.emulator.world import World
from webemu.index.open import open_world

FIRST = 40
"""Requests of each kind in a cold process."""
WARM = 2000
"""Requests of each kind in a warm process."""


def files_of(folder: Path) -> list[Path]:
    """Return the files that serving reads: all but the catalog, and the archives, wherever they are."""
    own = [path for name in ("snapshots", "shards", "warc") for path in (folder / name).rglob("*")]
    manifest = next((folder / "snapshots").glob("*/manifest.json"))
    archives = [folder / name for name in json.loads(manifest.read_text())["files"]]
    return [path for path in (*own, *archives) if path.is_file() and path.stat().st_size]


def resident(path: Path) -> int:
    """Return the bytes of a file in the page cache."""
    size = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE) as mapped:
        pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
        there = (ctypes.c_ubyte * pages)()
        start = ctypes.c_char.from_buffer(mapped)
        failed = ctypes.CDLL(None, use_errno=True).mincore(
            ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), there
        )
        del start
        if failed:
            raise OSError(ctypes.get_errno(), f"mincore of {path}")
        return sum(one & 1 for one in bytes(there)) * mmap.PAGESIZE


def drop(path: Path) -> None:
    """Drop a file from the page cache; pages that a process has mapped may stay."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


def read_bytes() -> int:
    """Return the bytes that this process has caused to be read from disk."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("read_bytes")).partition(":")[2])


def times(asks: Sequence[Callable[[], object]]) -> dict[str, float]:
    """Make the requests; return the core-microseconds, median and p99 milliseconds, and bytes read of one."""
    taken, before, cpu = [], read_bytes(), time.process_time()
    for ask in asks:
        started = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - started)
    cpu = time.process_time() - cpu
    taken.sort()
    return {
        "asked": len(taken),
        "core_us": 1e6 * cpu / len(taken),
        "p50_ms": 1e3 * taken[len(taken) // 2],
        "p99_ms": 1e3 * taken[int(len(taken) * 0.99)],
        "read_bytes": (read_bytes() - before) / len(taken),
    }


def asked(world: World, queries: Sequence[str], urls: Sequence[str]) -> dict[str, list[Callable[[], object]]]:
    """Return the requests of each kind as functions."""

    def search(query: str) -> Callable[[], object]:
        return lambda: world.search(Query(query))

    def fetch(url: str) -> Callable[[], object]:
        return lambda: world.fetch(PageRequest(url))

    return {"search": [search(query) for query in queries], "fetch": [fetch(url) for url in urls]}


def main(folder: Path, how: str, seed: int) -> None:
    """Open the collection, measure, and print the figures as JSON."""
    queries, urls = json.load(sys.stdin)
    chosen = Random(seed)
    told: dict[str, Any] = {}
    if how == "cold":
        queries, urls = chosen.sample(queries, min(FIRST, len(queries))), chosen.sample(urls, FIRST)
        files = files_of(folder)
        for path in files:
            drop(path)
        told["bytes"], told["resident"] = sum(path.stat().st_size for path in files), sum(map(resident, files))
    before, started = read_bytes(), time.perf_counter()
    world = open_world(folder)
    told["open_s"], told["open_bytes"] = time.perf_counter() - started, read_bytes() - before
    for name, asks in asked(world, queries[:WARM], urls[:WARM]).items():
        for ask in asks if how == "warm" else ():
            ask()
        told[name] = times(asks)
    told["own"] = own("self")
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
