"""Damages the files of a snapshot under a live server and at rest, and counts wrong answers that carry no mark.

python -m benchmarks.damage [--places 1000] [--root FOLDER]

A real `webemu serve` has a generated web. First, right answers are recorded for searches, pages in several views,
suggestions, and lists of captures. Then one bit after another is flipped, spread over all files of the snapshot, its
shards and its archives: (1) under the running server, which is asked at once; (2) while no server runs; (3) likewise,
with the file's time set back, as a failing disk leaves it. The bit is restored, and the next one follows. Last, the
server's processor time with and without the check is compared in one run.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple
from urllib.parse import quote

import psutil

from webemu.index.load_samples import sample_queries
from webemu.index.manifest import current_id

PAGES = 400
"""Pages of the generated web."""
SAMPLES = 150
"""Queries, and pages, of which right answers are recorded."""
REQUESTS = 12
"""Requests that are sent for each flipped bit."""
RESTARTS = 48
"""Flipped bits for which the server is started anew, of each kind."""
ROUNDS = 7
"""Comparisons of the server's processor time with and without the check."""
PATIENCE = 60.0
"""Seconds in which a server must answer again after its files were restored."""

_PORT = re.compile(rb"(?<=127\.0\.0\.1:)\d+")
"""Port in links to the server, which every start has another of."""


class Answer(NamedTuple):
    """Answer to a request."""

    status: int
    mark: str
    """Mark of a failure of the infrastructure; empty if there is none."""
    body: bytes


class Server:
    """A running server and a connection to it."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = psutil.Process(process.pid)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def ask(self, target: str) -> Answer:
        """Send a GET request and return its answer."""
        self._connection.request("GET", target)
        response = self._connection.getresponse()
        return Answer(response.status, response.headers.get("X-Webemu-Failure", ""), _PORT.sub(b"", response.read()))

    def wait_until_sound(self, target: str, right: Answer) -> None:
        """Ask until the answer is right. Raises TimeoutError."""
        deadline = time.monotonic() + PATIENCE
        while self.ask(target) != right:
            if time.monotonic() > deadline:
                raise TimeoutError("the server does not answer though the file was restored")
            time.sleep(0.01)


@contextmanager
def run_server(root: Path, check_hours: int = 24) -> Iterator[Server]:
    """Run a server on a free port."""
    command = [sys.executable, "-m", "webemu.emulator.cli", "serve", "--port", "0", "--root", str(root)]
    process = subprocess.Popen(
        [*command, "--collection", "damage"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "WEBEMU_CHECK_HOURS": str(check_hours)},
    )
    assert process.stdout is not None
    try:
        match = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
        if match is None:
            raise RuntimeError("the server did not start")
        yield Server(process, int(match[1]))
    finally:
        process.terminate()
        process.wait(60)


def build_collection(root: Path) -> None:
    """Make the collection, unless it is there."""
    if (root / "damage").exists():
        return
    command, web = [sys.executable, "-m", "webemu.emulator.cli"], str(root / "web")
    subprocess.run([*command, "generate", web, "--pages", str(PAGES), "--seed", "5", "-q"], check=True)
    subprocess.run([*command, "ingest", web, "--root", str(root), "--collection", "damage", "-q"], check=True)


def list_targets(collection: Path) -> list[str]:
    """Return requests of many kinds, all different."""
    queries, pages = sample_queries(collection, SAMPLES, SAMPLES, "damage")
    urls = [quote(url, safe="") for url, _ in pages]
    return [
        *(f"/v1/search?q={quote(query)}&size=10" for query in queries),
        *(f"/v1/fetch?url={url}&format={view}" for url in urls for view in ("text", "markdown", "raw")),
        *(f"/suggest?q={quote(query[:5])}" for query in queries[:40]),
        *(f"/cdx/search/cdx?url={url}&output=json" for url in urls[:40]),
    ]


def list_served_files(collection: Path) -> list[Path]:
    """Return the files of the snapshot, its shards, and archives that are not empty; those with several names once."""
    snapshot = collection / "snapshots" / str(current_id(collection))
    archives = collection.parent / "web" / "crawl-data"
    paths = [*snapshot.rglob("*"), *(collection / "shards").rglob("*"), *archives.rglob("*.warc.gz")]
    files = {path.stat().st_ino: path for path in sorted(paths) if path.is_file() and path.stat().st_size}
    return list(files.values())


@contextmanager
def flipped(path: Path, random: Random, is_silent: bool = False) -> Iterator[None]:
    """Flip a bit of a file, in place, and restore it at the end; if `is_silent`, the file's time says nothing."""
    status, at, bit = path.stat(), random.randrange(path.stat().st_size), 1 << random.randrange(8)

    def flip() -> None:
        with path.open("r+b", buffering=0) as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ bit]))
        if is_silent:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    flip()
    try:
        yield
    finally:
        flip()


def judge(server: Server, right_answers: dict[str, Answer], targets: list[str]) -> Counter[str]:
    """Ask and count the answers: marked, right, or wrong without a mark."""
    counts: Counter[str] = Counter()
    for target in targets:
        answer = server.ask(target)
        is_right = answer == right_answers[target]
        counts["right" if is_right else "marked" if answer.mark and answer.status >= 500 else "WRONG"] += 1
    return counts


def damage_live(root: Path, right_answers: dict[str, Answer], places: int, random: Random) -> Counter[str]:
    """Flip bits under a running server, and count its answers."""
    collection, targets, counts = root / "damage", list(right_answers), Counter[str]()
    files = list_served_files(collection)
    with run_server(root) as server:
        for number in range(places):
            with flipped(files[number % len(files)], random):
                counts += judge(server, right_answers, random.sample(targets, REQUESTS))
            server.wait_until_sound(targets[0], right_answers[targets[0]])
    return counts


def damage_at_rest(root: Path, right_answers: dict[str, Answer], is_silent: bool, random: Random) -> Counter[str]:
    """Flip bits while no server runs, start one, and count its answers until it has noticed or a second is over."""
    collection, targets, counts = root / "damage", list(right_answers), Counter[str]()
    files = list_served_files(collection)
    for number in range(RESTARTS):
        for result in (collection / "checks").glob("*.json"):
            result.unlink()  # as if the last check were long ago
        time.sleep(0.02)  # else the file may get the time of the last one, which may be the manifest
        with flipped(files[number % len(files)], random, is_silent):
            try:
                with run_server(root) as server:
                    started, answers = time.monotonic(), Counter[str]()
                    while not answers["marked"] and time.monotonic() - started < 1:
                        answers += judge(server, right_answers, random.sample(targets, REQUESTS))
                    counts += answers
                    counts["noticed"] += bool(answers["marked"])
            except RuntimeError:
                counts["refused to start"] += 1
    return counts


def measure_cost(root: Path, targets: list[str]) -> list[float]:
    """Return the server's processor time with the check over that without it, for the same requests by turns."""
    ratios = []
    for _ in range(ROUNDS):
        spent = []
        for check_hours in (24, 0):
            with run_server(root, check_hours) as server:
                for target in targets:
                    server.ask(target)
                before = server.process.cpu_times()
                for _ in range(3):
                    for target in targets:
                        server.ask(target)
                after = server.process.cpu_times()
                spent.append(after.user + after.system - before.user - before.system)
        ratios.append(spent[0] / spent[1])
    return ratios


def main() -> int:
    """Run all parts and print their counts."""
    parser = argparse.ArgumentParser("benchmarks.damage", description=__doc__)
    parser.add_argument("--places", type=int, default=1000, help="Bits to flip under the running server.")
    parser.add_argument("--root", type=Path, help="Folder for the collection; a temporary one by default.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="damage-") as folder:
        root, random = options.root or Path(folder), Random(0)
        build_collection(root)
        targets = list_targets(root / "damage")
        with run_server(root) as server:
            right_answers = {target: server.ask(target) for target in targets}
        print(f"{len(targets)} requests, {len(list_served_files(root / 'damage'))} files", flush=True)
        print(f"statuses of right answers: {Counter(answer.status for answer in right_answers.values())}", flush=True)
        print(f"live, {options.places} places: {damage_live(root, right_answers, options.places, random)}", flush=True)
        for name, is_silent in (("at rest", False), ("at rest, silent", True)):
            counts = damage_at_rest(root, right_answers, is_silent, random)
            print(f"{name}, {RESTARTS} places: {counts}", flush=True)
        ratios = measure_cost(root, targets)
        ratio_text = " ".join(f"{ratio:.3f}" for ratio in sorted(ratios))
        print(f"processor time with the check over without: median {statistics.median(ratios):.3f} of {ratio_text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
