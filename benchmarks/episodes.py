"""Many episodes at once: the cost of a request for client and server, and the time of a call.

python -m benchmarks.episodes [FOLDER] [--episodes N] [--rounds N] [--json FILE]

A server with two workers over a generated web of 5,000 pages (in FOLDER, if one was made and ingested there before).
All episodes start at once in one process; each round has a fresh server, and the median round is printed. `samples` is
the number of consecutive episodes of one task. Unit: microseconds of CPU per request, of this process and of the
server's, which share the cores. An episode's requests are those of its ledger, plus opening and reading the session.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from benchmarks.run import step
from webemu.agent_client import AsyncClient
from webemu.agent_client.calls import Call
from webemu.rl.environment import AsyncEpisode
from webemu.rl.policies import Attempt, Policy
from webemu.rl.policies.scripted import scripted
from webemu.rl.rewards import SHORT
from webemu.rl.serving import serving
from webemu.rl.state import Observation
from webemu.rl.tasks import Task, load

PAGES, WORKERS = 5000, 2
"""Pages of the generated web, and worker processes of the server."""
SAMPLES = (8, 1)
"""Consecutive episodes of one task, in each run."""
AT_ONCE = (64, 256, 1024)
"""Concurrent requests in runs without episodes."""
REQUESTS = 4096
"""Requests of each kind in runs without episodes."""
CHARACTERS = 6000
"""Characters of a page in runs without episodes."""


@dataclass(frozen=True, slots=True)
class Row:
    """Figures of one run. Written as JSON by field."""

    what: str
    at_once: int
    samples: int
    per_s: float
    """Episodes per second, or requests if there are no episodes."""
    requests_per_s: float
    p50_ms: float
    p99_ms: float
    client_us: float
    """CPU microseconds of the client per request."""
    server_us: float
    """CPU microseconds of the server per request."""
    cores: float
    """Cores used by both together."""
    client_share: float
    """Client's share of the CPU time, 0 to 1."""
    reward: float
    """Mean reward of the episodes; 1 without episodes."""


class Timed(AsyncEpisode):
    """Episode that records how long each tool call took."""

    times: list[float]
    """Seconds of the calls, shared by all episodes."""

    async def call(self, name: object, given: object) -> Observation:
        """Call a tool; searches and opened pages are timed."""
        started = time.perf_counter()
        seen = await super().call(name, given)
        if name in ("search", "open"):
            self.times.append(time.perf_counter() - started)
        return seen


async def fixed(attempt: Attempt) -> None:
    """Play the same honest steps every time: search, open, find for each piece of evidence; then finish."""
    task = attempt.task
    for one in task.evidence:
        await attempt.act("search", query=attempt.question)
        await attempt.act("open", link=one.url)
        await attempt.act("find", pattern=one.value or task.answers[0])
    await attempt.act("finish", answer=task.answers[0], citations=[task.evidence[-1].url])


async def episode(client: AsyncClient, task: Task, seed: int, policy: Policy, times: list[float]) -> tuple[int, float]:
    """Play one episode; return its number of requests and its reward. Raises RuntimeError if it is masked."""
    played = Timed(client)
    played.times = times
    attempt = Attempt(played, task, seed)
    await attempt.begin()
    await policy(attempt)
    record = await attempt.record()
    if record.mask:
        raise RuntimeError(f"an episode was masked: {record.mask}")
    return len(record.requests) + 2, SHORT.score(record).reward or 0.0


async def episodes(url: str, tasks: Sequence[Task], count: int, samples: int, policy: Policy, name: str) -> Row:
    """Play `count` episodes at once, `samples` of each task."""
    times: list[float] = []
    async with AsyncClient(url, retries=0, timeout=90) as client:
        started = spent()
        played = await asyncio.gather(
            *(episode(client, tasks[n // samples % len(tasks)], n, policy, times) for n in range(count))
        )
        reward = sum(one for _, one in played) / count
        return row(name, count, samples, started, count, sum(number for number, _ in played), times, reward)


async def requests(url: str, name: str, asks: list[Callable[[AsyncClient], Awaitable[object]]], at_once: int) -> Row:
    """Send all requests from `at_once` tasks, each one after the other, without sessions."""
    times: list[float] = []
    shared = iter(asks)

    async def work(client: AsyncClient) -> None:
        for ask in shared:
            started = time.perf_counter()
            await ask(client)
            times.append(time.perf_counter() - started)

    async with AsyncClient(url, timeout=90) as client:
        started = spent()
        await asyncio.gather(*(work(client) for _ in range(at_once)))
        return row(name, at_once, 1, started, len(asks), len(asks), times, 1.0)


def spent() -> tuple[float, float, float]:
    """Return CPU seconds of this process, CPU seconds of its children, and the time."""
    times = [process.cpu_times() for process in psutil.Process().children(recursive=True)]
    return time.process_time(), sum(one.user + one.system for one in times), time.perf_counter()


def row(
    what: str, at_once: int, samples: int, started: tuple[float, ...], count: int, asked: int, times: list[float],
    reward: float,
) -> Row:  # fmt: skip
    """Return the figures of a run that began when `started` was taken with `read_cpu_times`."""
    client, server, wall = (now - then for now, then in zip(spent(), started, strict=True))
    times.sort()
    p50, p99 = (1e3 * times[int(len(times) * share)] for share in (0.5, 0.99))
    costs = (1e6 * client / asked, 1e6 * server / asked, (client + server) / wall, client / (client + server))
    return Row(what, at_once, samples, count / wall, asked / wall, p50, p99, *costs, reward)


def all_runs(root: Path, tasks: Sequence[Task], count: int, rounds: int) -> Iterator[Row]:
    """Yield the median round of every run."""
    queries = list(itertools.islice(itertools.cycle([task.question for task in tasks]), REQUESTS))
    urls = list(itertools.islice(itertools.cycle([task.evidence[0].url for task in tasks]), REQUESTS))
    searches = [lambda client, query=query: client.search(query) for query in queries]
    pages = [lambda client, url=url: client.open(url, "html", length=CHARACTERS) for url in urls]
    for (name, asks), at_once in itertools.product({"search": searches, "page": pages}.items(), AT_ONCE):
        yield middle([asyncio.run(requests(url, name, asks, at_once)) for url in servers(root, rounds)])
    for (name, policy), samples in itertools.product({"fixed": fixed, "scripted": scripted}.items(), SAMPLES):
        yield middle([asyncio.run(episodes(url, tasks, count, samples, policy, name)) for url in servers(root, rounds)])


def servers(root: Path, rounds: int) -> Iterator[str]:
    """Yield the URL of a fresh, warm server for each round."""
    for _ in range(rounds):
        with serving(root=root, collection="episodes", workers=WORKERS) as url:
            asyncio.run(warm(url))
            yield url


async def warm(url: str) -> None:
    """Wait until every worker answers: the cost of its start is not a request's."""
    stats = Call("/v1/stats", lambda response: int(response.json()["process"]["pid"]))
    pids: set[int] = set()
    while len(pids) < WORKERS:
        async with AsyncClient(url, timeout=90) as client:
            pids |= set(await asyncio.gather(*(client.perform(stats) for _ in range(32))))


def middle(rows: list[Row]) -> Row:
    """Return the round with the median cost of client and server together."""
    return sorted(rows, key=lambda one: one.client_us + one.server_us)[len(rows) // 2]


def told(one: Row) -> str:
    """Return a row of the table as text."""
    kind = f"{one.what:<9} {one.at_once:>5} {one.samples:>7}  {one.per_s:>7,.0f} {one.requests_per_s:>10,.0f}"
    times = f"{one.p50_ms:>7.1f} {one.p99_ms:>7.1f}"
    return (
        f"{kind}  {times}  {one.client_us:>9.0f} {one.server_us:>9.0f}  {one.cores:>5.2f} {one.client_share:>6.0%}"
        f"  {one.reward:>6.2f}"
    )


def main() -> None:
    """Parse the command line, measure, and print the table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", nargs="?", type=Path, help="folder of the web and its collection; made if missing")
    asked.add_argument("--episodes", type=int, default=1024, help="episodes of a run (default: 1024)")
    asked.add_argument("--rounds", type=int, default=3, help="rounds of each run (default: 3)")
    asked.add_argument("--json", type=Path, help="file for the rows as JSON")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as made:
        root = given.folder or Path(made)
        if not (root / "episodes").is_dir():
            step("webemu.emulator.cli", "generate", f"{root}/web", "--pages", str(PAGES), "-q")
            step("webemu.emulator.cli", "ingest", f"{root}/web", "--root", str(root), "--collection", "episodes", "-q")
        tasks = load(root / "web" / "tasks.jsonl")
        print(f"{len(tasks)} tasks, {WORKERS} workers; medians of {given.rounds} rounds")
        print("what    at once samples       /s requests/s   p50 ms  p99 ms  client us server us  cores client  reward")
        rows = []
        for one in all_runs(root, tasks, given.episodes, given.rounds):
            rows.append(asdict(one))
            print(told(one), flush=True)
        if given.json:
            given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
