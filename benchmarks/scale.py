"""Curves of time, memory, disk and query cost by number of pages; and a model of larger ones.

python -m benchmarks.scale --pages 100000 --json 100k.json [--work FOLDER] [--texts COLLECTION_FOLDER]
python -m benchmarks.scale --pages 10000000 --json 10m.json --keep FOLDER [--ingest-only] [--texts COLLECTION_FOLDER]
python -m benchmarks.scale --report 10k.json 100k.json 1m.json

For each size a web is generated, or with `--texts` a dump of documents with the words of a collection
(`benchmarks.many_documents`). It is ingested, indexed and queried, each in processes of its own, and its folder
removed. With `--keep` the folder stays, and the same command goes on after the last step that was finished.
Memory is the anonymous memory of every process of the tree, sampled ten times a second. Core-seconds are user and
system time of the whole tree. The report fits y = a * pages ** b through all sizes and extrapolates.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

import psutil

from benchmarks.many_documents import DOCUMENTS_PER_FILE
from benchmarks.memory import read_anonymous_bytes
from benchmarks.scale_model import CommandFigures, QueryFigures, Size, build_report
from webemu.index.catalog import Catalog
from webemu.index.load_samples import sample_queries

Figures = TypeVar("Figures")

QUERY_COUNT = 4000
"""Queries, and URLs, that are drawn."""

SEED = "7"
"""Seed of the generated web."""
SAMPLE_SECONDS = 0.1
"""Seconds between two samples of the memory."""
COLD_ROUNDS = 5
"""Cold processes whose figures are taken."""
PART_PATTERNS = {
    "copies of dumps": ("warc/*",),
    "catalog": ("catalog.duckdb",),
    "text index": ("shards/*/text/*",),
    "result records": ("shards/*/records.*",),
    "page views": ("shards/*/views.*",),
    "lookup": ("snapshots/*/pages.lmdb",),
    "columns": ("snapshots/*/columns/*",),
    "others": ("snapshots/*/duplicates/*", "shards/*/titles/*", "shards/*/word_counts.txt", "snapshots/*/words.txt"),
}
"""Patterns of the files of each part of a collection."""


class MemorySampler(threading.Thread):
    """Thread that samples the memory of a process tree."""

    def __init__(self, root: psutil.Process) -> None:
        super().__init__(daemon=True)
        self._root, self._stop_event = root, threading.Event()
        self.peak_bytes = {"parent_own": 0, "child_own": 0, "tree_own": 0, "rss": 0}
        """Greatest bytes so far: of the parent, the largest child and the tree (anonymous); and the largest resident
        set.
        """

    def run(self) -> None:
        """Sample until stopped."""
        while not self._stop_event.wait(SAMPLE_SECONDS):
            with suppress(psutil.Error):
                self._sample()

    def _sample(self) -> None:
        root, children = (
            self._measure_process(self._root),
            [self._measure_process(child) for child in self._root.children(recursive=True)],
        )
        processes = [root, *children]
        sample = {
            "parent_own": root[0],
            "child_own": max((own_bytes for own_bytes, _ in children), default=0),
            "tree_own": sum(own_bytes for own_bytes, _ in processes),
            "rss": max(rss for _, rss in processes),
        }
        self.peak_bytes = {name: max(value, sample[name]) for name, value in self.peak_bytes.items()}

    @staticmethod
    def _measure_process(process: psutil.Process) -> tuple[int, int]:
        """Return anonymous and resident bytes of a process; zeros if it has ended."""
        try:
            return read_anonymous_bytes(process.pid), process.memory_info().rss
        except (psutil.Error, OSError, StopIteration):  # it ended
            return 0, 0

    def stop(self) -> None:
        """Stop sampling and wait for the thread."""
        self._stop_event.set()
        self.join()


def measure_command(*arguments: str, module: str = "webemu.emulator.cli") -> CommandFigures:
    """Run a command of a module; return its seconds and its memory in bytes. Raises CalledProcessError if it fails."""
    command = [sys.executable, "-m", module, *arguments]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    memory = MemorySampler(psutil.Process(process.pid))
    memory.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        if process.returncode is None:  # SIGTERM came, see the end of this module
            process.terminate()
            process.wait()
        memory.stop()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    peak_bytes = memory.peak_bytes
    return {
        "wall_s": time.perf_counter() - started,
        "core_s": usage.ru_utime + usage.ru_stime,
        "parent_own": peak_bytes["parent_own"],
        "child_own": peak_bytes["child_own"],
        "tree_own": peak_bytes["tree_own"],
        "rss": peak_bytes["rss"],
    }


def measure_disk(folder: Path) -> dict[str, int]:
    """Return the bytes of each part of a collection; a file under two names counts once."""
    return {
        name: sum(path.stat().st_size for pattern in patterns for path in folder.glob(pattern) if path.is_file())
        for name, patterns in PART_PATTERNS.items()
    }


def measure_queries(folder: Path, samples_json: str, mode: str, seed: int) -> QueryFigures:
    """Measure queries in a new process; `mode` is warm or cold, `samples_json` the queries and URLs as JSON."""
    command = [sys.executable, "-m", "benchmarks.scale_queries", str(folder), mode, str(seed)]
    figures: QueryFigures = json.loads(
        subprocess.run(command, input=samples_json, check=True, capture_output=True, text=True).stdout
    )
    return figures


class KeptFigures:
    """Figures of the steps of a measurement, kept in its folder: a step that is finished is not measured again.

    `subject` is what is measured. Raises ValueError if the folder has figures of something else.
    """

    def __init__(self, folder: Path, subject: str) -> None:
        self._file = folder / "figures.json"
        self._figures: dict[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}
        if (earlier := self._figures.setdefault("subject", subject)) != subject:
            raise ValueError(f"{folder} has figures of {earlier}, not of {subject}; name another folder")
        self._begun_steps: list[str] = self._figures.setdefault("begun", [])

    @property
    def resumed(self) -> list[str]:
        """Steps that were begun more than once: their figures are of the last time only."""
        return [name for name, count in Counter(self._begun_steps).items() if count > 1]

    def measure(self, name: str, step: Callable[[], Figures]) -> Figures:
        """Return the figures of a step, which is run if it was not finished before."""
        if name not in self._figures:
            print_step(name)
            self._begun_steps.append(name)
            self._write()
            self._figures[name] = step()
            self._write()
        figures: Figures = self._figures[name]
        return figures

    def _write(self) -> None:
        unfinished_file = self._file.with_suffix(".part")
        unfinished_file.write_text(json.dumps(self._figures))
        unfinished_file.replace(self._file)


def make_sources(web: Path, pages: int, texts: Path | None) -> CommandFigures:
    """Generate a web, or documents with the texts of a collection; return what that cost."""
    if texts:
        making = (str(web), "--documents", str(pages), "--texts", str(texts), "--seed", SEED)
        return measure_command(*making, module="benchmarks.many_documents")
    return measure_command("generate", str(web), "--pages", str(pages), "--seed", SEED, "-q")


def add_up(commands: Sequence[CommandFigures]) -> CommandFigures:
    """Return the seconds of commands that ran one after another, and the greatest memory of them."""
    return {
        "wall_s": sum(figures["wall_s"] for figures in commands),
        "core_s": sum(figures["core_s"] for figures in commands),
        "parent_own": max(figures["parent_own"] for figures in commands),
        "child_own": max(figures["child_own"] for figures in commands),
        "tree_own": max(figures["tree_own"] for figures in commands),
        "rss": max(figures["rss"] for figures in commands),
    }


def measure_sources(web: Path) -> int:
    """Return the bytes of the files that are ingested."""
    return sum(path.stat().st_size for path in (*web.rglob("*.warc.gz"), *web.rglob("*.jsonl")))


def measure_size(
    pages: int, work: Path, workers: int, texts: Path | None = None, ingest_only: bool = False
) -> Size | None:
    """Return all figures of one size: of a generated web, or of documents with the texts of a collection.

    Returns None after the ingest if there is nothing else to do.
    """
    web, folder = work / "web", work / "c"
    options = ["--root", str(work), "--collection", "c", "--workers", str(workers)]
    record = KeptFigures(work, f"{pages} pages, texts of {texts}")
    generation = record.measure("generate", partial(make_sources, web, pages, texts))
    source_bytes = record.measure("size of sources", partial(measure_sources, web))
    ingest = partial(measure_command, "ingest", *options, "--no-snapshot", "-q")
    if texts:  # ten files at a time, so that a run that is ended loses no more than these
        patterns = [f"documents-{group:04}?.jsonl" for group in range(ceil(pages / DOCUMENTS_PER_FILE / 10))]
        ingestion = add_up(
            [record.measure(f"ingest {pattern}", partial(ingest, str(web / pattern))) for pattern in patterns]
        )
        shutil.rmtree(web, ignore_errors=True)  # the collection has a copy
    else:
        ingestion = record.measure("ingest", partial(ingest, str(web)))
    if ingest_only:
        return None
    build = record.measure("build", partial(measure_command, "snapshots", "build", *options))
    with Catalog(folder, read_only=True) as catalog:
        page_count, captures, links, hosts = catalog.db.execute(
            "SELECT (SELECT count(*) FROM pages), count(*), (SELECT count(*) FROM links), count(DISTINCT url_host_name)"
            " FROM captures"
        ).fetchall()[0]
    print_step("asking")
    queries, urls = sample_queries(folder, QUERY_COUNT, QUERY_COUNT, "scale")
    samples_json = json.dumps([queries, [url for url, _ in urls]])
    return {
        "asked_for": pages,
        "texts": str(texts or ""),
        "workers": workers,
        "generate": generation,
        "resumed": record.resumed,
        "source_bytes": source_bytes,
        "ingest": ingestion,
        "build": build,
        "pages": page_count,
        "captures": captures,
        "links": links,
        "hosts": hosts,
        "snapshot": (folder / "CURRENT").read_text().strip(),
        "disk": measure_disk(folder),
        "warm": measure_queries(folder, samples_json, "warm", 0),
        "cold": [measure_queries(folder, samples_json, "cold", seed) for seed in range(COLD_ROUNDS)],
    }


def print_step(name: str) -> None:
    """Print the time and the step that begins."""
    print(f"{time.strftime('%H:%M:%S')} {name}", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> None:
    """Parse the command line; measure a size, or print the report."""
    parser = argparse.ArgumentParser(
        "benchmarks.scale", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, help="Approximate number of pages to generate.")
    parser.add_argument("--texts", type=Path, help="Folder of a collection: measure documents with its words.")
    parser.add_argument("--json", type=Path, help="File for the figures of the size.")
    parser.add_argument("--work", type=Path, help="Folder for temporary files. [default: the system's]")
    parser.add_argument("--keep", type=Path, help="Folder that stays, in which a run that was ended goes on.")
    parser.add_argument("--ingest-only", action="store_true", help="End after the ingest; needs --keep.")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="Worker processes. [default: one per core]"
    )
    parser.add_argument("--report", type=Path, nargs="+", help="Files of figures to fit.")
    options = parser.parse_args(arguments)
    if options.report:
        print(build_report([json.loads(path.read_text()) for path in options.report]))
    if options.ingest_only and not options.keep:
        parser.error("--ingest-only needs --keep")
    if options.pages:
        with ExitStack() as stack:
            if options.keep:
                work = options.keep
                work.mkdir(parents=True, exist_ok=True)
            else:
                work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scale-", dir=options.work)))
            figures = measure_size(options.pages, work, options.workers, options.texts, options.ingest_only)
        if figures:
            figures_json = json.dumps(figures, indent=1)
            print(figures_json)
            if options.json:
                options.json.write_text(figures_json + "\n")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exit normally, so that folders are removed
    main(sys.argv[1:])
