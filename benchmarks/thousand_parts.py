"""Rehearses an index of very many partitions on one machine, with the processes of a Ray cluster.

    webemu snapshots split 1000 --workers 2
    python -m benchmarks.thousand_parts webemu-data/default --parts 1000 --questions web/tasks.jsonl

Compares the answers with those of one index, measures searches while one replica stalls again and again, with and
without hedged asks, kills the replicas of one process, and counts what the answers say of it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from webemu.api.runtime import ray_partitions
from webemu.api.runtime.ray_partitions import NAMESPACE, REPLICAS, Partitioning, RayPartitions, actor_name
from webemu.emulator.config import Config
from webemu.emulator.errors import Overloaded
from webemu.emulator.missing_parts import collect_missing_parts
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.open import open_world
from webemu.index.partitions.split import partitioned_world, read_partitions

STALL_SECONDS, RUN_SECONDS = 2.0, 2.0
"""Seconds for which a replica stands still, and for which it then runs, in turn."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path, help="folder of the collection")
    parser.add_argument("--parts", type=int, required=True, help="number of partitions that it was split into")
    parser.add_argument("--questions", type=Path, required=True, help="tasks with a question each, as JSONL")
    parser.add_argument("--processes", type=int, default=2, help="processes that share the partitions [default: 2]")
    parser.add_argument("--count", type=int, default=200, help="searches of each measurement [default: 200]")
    options = parser.parse_args()
    lines = options.questions.read_text().splitlines()
    questions = list(dict.fromkeys(json.loads(line)["question"] for line in lines))
    random.Random(1).shuffle(questions)
    rehearse(options.collection.resolve(), options.parts, options.processes, questions, options.count)


def rehearse(collection: Path, parts: int, processes: int, questions: Sequence[str], count: int) -> None:
    """Start the processes, and print what was measured."""
    import ray  # optional dependency

    config = Config(root=collection.parent, collection=collection.name)
    partitioning = Partitioning(parts, processes)
    ray.init(num_cpus=processes * REPLICAS + 1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    started = time.perf_counter()
    actors = ray_partitions.start_partition_actors(config, partitioning, ray)
    pids = ray.get([actor.process_id.remote() for actor in actors])  # type: ignore[attr-defined]
    print(f"start      {time.perf_counter() - started:.1f} s for {parts} parts in {processes} x {REPLICAS} processes")
    memory = [psutil.Process(pid).memory_full_info().uss >> 20 for pid in pids]
    descriptors = [psutil.Process(pid).num_fds() for pid in pids]
    print(f"each       {max(memory)} MB of its own, {max(descriptors)} open files")
    transport = RayPartitions(config, partitioning)
    world = partitioned_world(collection, read_partitions(collection, parts), transport)
    compare(world, open_world(collection), questions[:count])
    print_times("words new", *measure(world, questions[count : 2 * count]))
    print_times("words known", *measure(world, questions[count : 2 * count]))
    hedge_sample = ray_partitions.HEDGE_SAMPLE
    with stalling(pids[0]):
        print_times("stalling", *measure(world, questions[count : 2 * count]))
        ray_partitions.HEDGE_SAMPLE = 1 << 60  # never enough asks to know which are late
        print_times("not hedged", *measure(world, questions[count : 2 * count]))
    ray_partitions.HEDGE_SAMPLE = hedge_sample
    print(f"asks       {transport.figures()}")
    lose_a_process(
        world,
        questions[:20],
        [ray.get_actor(actor_name(config, partitioning, 0, number), NAMESPACE) for number in range(REPLICAS)],
        parts // processes,
    )


def compare(world: World, one_index: World, questions: Sequence[str]) -> None:
    """Print how far the answers are those of one index."""
    same_first, shared = 0, 0.0
    for question in questions:
        with collect_missing_parts():
            urls = [hit.url for hit in world.search(Query(question)).hits]
        index_urls = [hit.url for hit in one_index.search(Query(question)).hits]
        same_first += urls[:1] == index_urls[:1]
        shared += len(set(urls) & set(index_urls)) / max(1, len(index_urls))
    overlap = shared / len(questions)
    print(f"answers    {same_first} of {len(questions)} first results as in one index, overlap@10 {overlap:.3f}")


def measure(world: World, questions: Sequence[str]) -> tuple[list[float], int]:
    """Return the seconds of each search, and the number of those that lacked partitions."""
    seconds, thinner = [], 0
    for question in questions:
        with collect_missing_parts() as missing:
            started = time.perf_counter()
            world.search(Query(question))
            seconds.append(time.perf_counter() - started)
        thinner += bool(missing)
    return sorted(seconds), thinner


def print_times(name: str, seconds: Sequence[float], thinner: int) -> None:
    """Print quantiles in milliseconds."""
    p50, p95, p99 = (1000 * seconds[int(share * (len(seconds) - 1))] for share in (0.5, 0.95, 0.99))
    print(f"{name:<11}p50 {p50:.0f}, p95 {p95:.0f}, p99 {p99:.0f} ms; {thinner} of {len(seconds)} lacked parts")


@contextmanager
def stalling(pid: int) -> Iterator[None]:
    """Let a process stand still again and again."""
    is_over = threading.Event()

    def stall() -> None:
        while not is_over.is_set():
            os.kill(pid, signal.SIGSTOP)
            is_over.wait(STALL_SECONDS)
            os.kill(pid, signal.SIGCONT)
            is_over.wait(RUN_SECONDS)

    thread = threading.Thread(target=stall)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def lose_a_process(world: World, questions: Sequence[str], replicas: Sequence[object], parts: int) -> None:
    """Kill the replicas of one process, and print what the answers say until it is back."""
    import ray

    pids = ray.get([replica.process_id.remote() for replica in replicas])  # type: ignore[attr-defined]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    started, named, refused, complete = time.perf_counter(), 0, 0, 0
    while complete < len(questions):
        with collect_missing_parts() as missing:
            try:
                world.search(Query(questions[complete]))
            except Overloaded:
                refused += 1
                continue
        named += bool(missing)
        complete = 0 if missing else complete + 1
        assert len(missing) in (0, parts), f"{len(missing)} parts are named"
    whole_after = time.perf_counter() - started
    print(f"killed     {named} answers named {parts} parts, {refused} were refused; whole after {whole_after:.1f} s")


if __name__ == "__main__":
    main()
