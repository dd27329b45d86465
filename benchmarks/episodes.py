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

from benchmarks.run import run_module
from webemu.agent_client import AsyncClient
from webemu.agent_client.calls import ApiCall
from webemu.rl.environment import AsyncEpisode
from webemu.rl.policies import AgentPolicy, Attempt
from webemu.rl.policies.scripted import play_by_script
from webemu.rl.rewards import SHORT
from webemu.rl.serving import run_server
from webemu.rl.state import Observation
from webemu.rl.tasks import Task, load

PAGES, WORKERS = 5000, 2
"""Pages of the generated web, and worker processes of the server."""
SAMPLE_COUNTS = (8, 1)
"""Consecutive episodes of one task, in each run."""
CONCURRENCIES = (64, 256, 1024)
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


class TimedEpisode(AsyncEpisode):
    """Episode that records how long each tool call took."""

    times: list[float]
    """Seconds of the calls, shared by all episodes."""

    async def call(self, name: object, arguments: object) -> Observation:
        """Call a tool; searches and opened pages are timed."""
        started = time.perf_counter()
        observation = await super().call(name, arguments)
        if name in ("search", "open"):
            self.times.append(time.perf_counter() - started)
        return observation


async def play_fixed_steps(attempt: Attempt) -> None:
    """Play the same honest steps every time: search, open, find for each piece of evidence; then finish."""
    task = attempt.task
    for evidence in task.evidence:
        await attempt.act("search", query=attempt.question)
        await attempt.act("open", link=evidence.url)
        await attempt.act("find", pattern=evidence.value or task.answers[0])
    await attempt.act("finish", answer=task.answers[0], citations=[task.evidence[-1].url])


async def play_episode(
    client: AsyncClient, task: Task, seed: int, policy: AgentPolicy, times: list[float]
) -> tuple[int, float]:
    """Play one episode; return its number of requests and its reward. Raises RuntimeError if it is masked."""
    timed_episode = TimedEpisode(client)
    timed_episode.times = times
    attempt = Attempt(timed_episode, task, seed)
    await attempt.begin()
    await policy(attempt)
    record = await attempt.record()
    if record.mask:
        raise RuntimeError(f"an episode was masked: {record.mask}")
    return len(record.requests) + 2, SHORT.score(record).reward or 0.0


async def measure_episodes(
    url: str, tasks: Sequence[Task], count: int, samples: int, policy: AgentPolicy, name: str
) -> Row:
    """Play `count` episodes at once, `samples` of each task."""
    times: list[float] = []
    async with AsyncClient(url, retries=0, timeout=90) as client:
        started = read_cpu_times()
        outcomes = await asyncio.gather(
            *(play_episode(client, tasks[n // samples % len(tasks)], n, policy, times) for n in range(count))
        )
        reward = sum(reward_of_one for _, reward_of_one in outcomes) / count
        return build_row(name, count, samples, started, count, sum(number for number, _ in outcomes), times, reward)


async def measure_requests(
    url: str, name: str, calls: list[Callable[[AsyncClient], Awaitable[object]]], at_once: int
) -> Row:
    """Send all requests from `at_once` tasks, each one after the other, without sessions."""
    times: list[float] = []
    shared = iter(calls)

    async def work(client: AsyncClient) -> None:
        for ask in shared:
            started = time.perf_counter()
            await ask(client)
            times.append(time.perf_counter() - started)

    async with AsyncClient(url, timeout=90) as client:
        started = read_cpu_times()
        await asyncio.gather(*(work(client) for _ in range(at_once)))
        return build_row(name, at_once, 1, started, len(calls), len(calls), times, 1.0)


def read_cpu_times() -> tuple[float, float, float]:
    """Return CPU seconds of this process, CPU seconds of its children, and the time."""
    times = [process.cpu_times() for process in psutil.Process().children(recursive=True)]
    return time.process_time(), sum(cpu_times.user + cpu_times.system for cpu_times in times), time.perf_counter()


def build_row(
    what: str,
    at_once: int,
    samples: int,
    started: tuple[float, ...],
    count: int,
    request_count: int,
    times: list[float],
    reward: float,
) -> Row:
    """Return the figures of a run that began when `started` was taken with `read_cpu_times`."""
    client, server, wall = (now - then for now, then in zip(read_cpu_times(), started, strict=True))
    times.sort()
    p50, p99 = (1e3 * times[int(len(times) * share)] for share in (0.5, 0.99))
    costs = (
        1e6 * client / request_count,
        1e6 * server / request_count,
        (client + server) / wall,
        client / (client + server),
    )
    return Row(what, at_once, samples, count / wall, request_count / wall, p50, p99, *costs, reward)


def measure_all_runs(root: Path, tasks: Sequence[Task], count: int, rounds: int) -> Iterator[Row]:
    """Yield the median round of every run."""
    queries = list(itertools.islice(itertools.cycle([task.question for task in tasks]), REQUESTS))
    urls = list(itertools.islice(itertools.cycle([task.evidence[0].url for task in tasks]), REQUESTS))
    searches = [lambda client, query=query: client.search(query) for query in queries]
    pages = [lambda client, url=url: client.open(url, "html", length=CHARACTERS) for url in urls]
    for (name, calls), at_once in itertools.product({"search": searches, "page": pages}.items(), CONCURRENCIES):
        yield median_row(
            [asyncio.run(measure_requests(url, name, calls, at_once)) for url in start_servers(root, rounds)]
        )
    for (name, policy), samples in itertools.product(
        {"fixed": play_fixed_steps, "scripted": play_by_script}.items(), SAMPLE_COUNTS
    ):
        yield median_row(
            [
                asyncio.run(measure_episodes(url, tasks, count, samples, policy, name))
                for url in start_servers(root, rounds)
            ]
        )


def start_servers(root: Path, rounds: int) -> Iterator[str]:
    """Yield the URL of a fresh, warm server for each round."""
    for _ in range(rounds):
        with run_server(root=root, collection="episodes", workers=WORKERS) as url:
            asyncio.run(wait_until_warm(url))
            yield url


async def wait_until_warm(url: str) -> None:
    """Wait until every worker answers: the cost of its start is not a request's."""
    stats = ApiCall("/v1/stats", lambda response: int(response.json()["process"]["pid"]))
    pids: set[int] = set()
    while len(pids) < WORKERS:
        async with AsyncClient(url, timeout=90) as client:
            pids |= set(await asyncio.gather(*(client.request(stats) for _ in range(32))))


def median_row(rows: list[Row]) -> Row:
    """Return the round with the median cost of client and server together."""
    return sorted(rows, key=lambda round_row: round_row.client_us + round_row.server_us)[len(rows) // 2]


def format_row(table_row: Row) -> str:
    """Return a row of the table as text."""
    kind = (
        f"{table_row.what:<9} {table_row.at_once:>5} {table_row.samples:>7}  "
        f"{table_row.per_s:>7,.0f} {table_row.requests_per_s:>10,.0f}"
    )
    times = f"{table_row.p50_ms:>7.1f} {table_row.p99_ms:>7.1f}"
    return (
        f"{kind}  {times}  {table_row.client_us:>9.0f} {table_row.server_us:>9.0f}  "
        f"{table_row.cores:>5.2f} {table_row.client_share:>6.0%}"
        f"  {table_row.reward:>6.2f}"
    )


def main() -> None:
    """Parse the command line, measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="folder of the web and its collection; made if missing")
    parser.add_argument("--episodes", type=int, default=1024, help="episodes of a run (default: 1024)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each run (default: 3)")
    parser.add_argument("--json", type=Path, help="file for the rows as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary_folder:
        root = options.folder or Path(temporary_folder)
        if not (root / "episodes").is_dir():
            run_module("webemu.emulator.cli", "generate", f"{root}/web", "--pages", str(PAGES), "-q")
            run_module(
                "webemu.emulator.cli", "ingest", f"{root}/web", "--root", str(root), "--collection", "episodes", "-q"
            )
        tasks = load(root / "web" / "tasks.jsonl")
        print(f"{len(tasks)} tasks, {WORKERS} workers; medians of {options.rounds} rounds")
        print("what    at once samples       /s requests/s   p50 ms  p99 ms  client us server us  cores client  reward")
        rows = []
        for table_row in measure_all_runs(root, tasks, options.episodes, options.rounds):
            rows.append(asdict(table_row))
            print(format_row(table_row), flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
