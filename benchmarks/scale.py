"""Curves of time, memory, disk and query cost by number of pages, of generated webs; and a model of larger ones.

python -m benchmarks.scale --pages 100000 --json 100k.json [--work FOLDER]
python -m benchmarks.scale --report 10k.json 100k.json 1m.json

For each size a web is generated, ingested, indexed and queried, each in processes of its own, and its folder removed.
Memory is the anonymous memory of every process of the tree, sampled ten times a second. Core-seconds are user and
system time of the whole tree. The report fits y = a * pages ** b through all sizes and extrapolates.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.memory import own
from benchmarks.scale_model import report
from webemu.index.catalog import Catalog
from webemu.index.load_samples import generated

ASKED = 4000
"""Queries, and URLs, that are drawn."""

SEED = "7"
"""Seed of the generated web."""
LOOKS = 0.1
"""Seconds between two samples of the memory."""
ROUNDS = 5
"""Cold processes whose figures are taken."""
PARTS = {
    "catalog": ("catalog.duckdb",),
    "text index": ("shards/*/text/*",),
    "result records": ("shards/*/records.*",),
    "page views": ("shards/*/views.*",),
    "lookup": ("snapshots/*/pages.lmdb",),
    "columns": ("snapshots/*/columns/*",),
    "others": ("snapshots/*/duplicates/*", "snapshots/*/titles/*", "snapshots/*/words.txt"),
}
"""Patterns of the files of each part of a collection."""


class Memory(threading.Thread):
    """Thread that samples the memory of a process tree."""

    def __init__(self, root: psutil.Process) -> None:
        super().__init__(daemon=True)
        self._root, self._ended = root, threading.Event()
        self.most = {"parent_own": 0, "child_own": 0, "tree_own": 0, "rss": 0}
        """Greatest bytes so far: of the parent, the largest child and the tree (anonymous); and the largest resident
        set.
        """

    def run(self) -> None:
        """Sample until stopped."""
        while not self._ended.wait(LOOKS):
            with suppress(psutil.Error):
                self._look()

    def _look(self) -> None:
        root, children = self._weighed(self._root), [self._weighed(one) for one in self._root.children(recursive=True)]
        all_of = [root, *children]
        seen = {
            "parent_own": root[0],
            "child_own": max((taken for taken, _ in children), default=0),
            "tree_own": sum(taken for taken, _ in all_of),
            "rss": max(rss for _, rss in all_of),
        }
        self.most = {name: max(value, seen[name]) for name, value in self.most.items()}

    @staticmethod
    def _weighed(process: psutil.Process) -> tuple[int, int]:
        """Return anonymous and resident bytes of a process; zeros if it has ended."""
        try:
            return own(process.pid), process.memory_info().rss
        except (psutil.Error, OSError, StopIteration):  # it ended
            return 0, 0

    def stop(self) -> None:
        """Stop sampling and wait for the thread."""
        self._ended.set()
        self.join()


def measured(*arguments: str) -> dict[str, float]:
    """Run a `webemu` command; return its seconds and its memory in bytes. Raises CalledProcessError if it fails."""
    command = [sys.executable, "-m", "webemu.emulator.cli", *arguments]
    started = time.perf_counter()
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    memory = Memory(psutil.Process(running.pid))
    memory.start()
    try:
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    finally:
        if running.returncode is None:  # SIGTERM came, see the end of this module
            running.terminate()
            running.wait()
        memory.stop()
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    return {"wall_s": time.perf_counter() - started, "core_s": used.ru_utime + used.ru_stime, **memory.most}


def disk(folder: Path) -> dict[str, int]:
    """Return the bytes of each part of a collection; a file under two names counts once."""
    return {
        name: sum(path.stat().st_size for pattern in patterns for path in folder.glob(pattern) if path.is_file())
        for name, patterns in PARTS.items()
    }


def asked(folder: Path, drawn: str, how: str, seed: int) -> dict[str, Any]:
    """Measure queries in a new process; `mode` is warm or cold, `samples_json` the queries and URLs as JSON."""
    command = [sys.executable, "-m", "benchmarks.scale_queries", str(folder), how, str(seed)]
    told: dict[str, Any] = json.loads(
        subprocess.run(command, input=drawn, check=True, capture_output=True, text=True).stdout
    )
    return told


def size(pages: int, work: Path, workers: int) -> dict[str, Any]:
    """Return all figures of one size."""
    web, folder = work / "web", work / "c"
    place = ["--root", str(work), "--collection", "c"]
    found: dict[str, Any] = {"asked_for": pages, "workers": workers}
    step("generate")
    found["generate"] = measured("generate", str(web), "--pages", str(pages), "--seed", SEED, "-q")
    found["warc_bytes"] = sum(path.stat().st_size for path in web.rglob("*.warc.gz"))
    step("ingest")
    found["ingest"] = measured("ingest", str(web), *place, "--workers", str(workers), "--no-snapshot", "-q")
    step("build")
    found["build"] = measured("snapshots", "build", *place, "--workers", str(workers))
    with Catalog(folder, read_only=True) as catalog:
        found["pages"], found["captures"], found["links"], found["hosts"] = catalog.db.execute(
            "SELECT (SELECT count(*) FROM pages), count(*), (SELECT count(*) FROM links), count(DISTINCT url_host_name)"
            " FROM captures"
        ).fetchall()[0]
    found["snapshot"] = (folder / "CURRENT").read_text().strip()
    found["disk"] = disk(folder)
    step("asking")
    queries, urls = generated(folder, ASKED, ASKED, "scale")
    drawn = json.dumps([queries, [url for url, _ in urls]])
    found["warm"] = asked(folder, drawn, "warm", 0)
    found["cold"] = [asked(folder, drawn, "cold", seed) for seed in range(ROUNDS)]
    return found


def step(name: str) -> None:
    """Print the time and the step that begins."""
    print(f"{time.strftime('%H:%M:%S')} {name}", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> None:
    """Parse the command line; measure a size, or print the report."""
    parser = argparse.ArgumentParser(
        "benchmarks.scale", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, help="Approximate number of pages to generate.")
    parser.add_argument("--json", type=Path, help="File for the figures of the size.")
    parser.add_argument("--work", type=Path, help="Folder for temporary files. [default: the system's]")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="Worker processes. [default: one per core]"
    )
    parser.add_argument("--report", type=Path, nargs="+", help="Files of figures to fit.")
    told = parser.parse_args(arguments)
    if told.report:
        print(report([json.loads(path.read_text()) for path in told.report]))
    if told.pages:
        with tempfile.TemporaryDirectory(prefix="scale-", dir=told.work) as work:
            found = json.dumps(size(told.pages, Path(work), told.workers), indent=1)
        print(found)
        if told.json:
            told.json.write_text(found + "\n")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exit normally, so that folders are removed
    main(sys.argv[1:])
