"""Ingest against its floors: reading, extraction and indexing alone, on the same files, in one run and one process.

python -m benchmarks.ingest WARC...

Unit: pages per core-second (user and system time of the whole process tree). Reading is FastWARC over every record;
extraction decodes every page and finds text, title, links and metadata; indexing is Tantivy with one thread over
titles and texts, with positions and without stored texts, with its own English stemmer. Their results are discarded.
Then the whole ingest is run with one worker and with one per core, and the wall times are compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path

import tantivy

from webemu.index.http import parse_response
from webemu.ingest.extract import extract


def read_blocks(paths: list[str]) -> Iterator[tuple[str, bytes]]:
    """Yield URL and block of every response."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    for path in paths:
        for record in ArchiveIterator(path, record_types=WarcRecordType.response, parse_http=False):
            yield record.headers.get("WARC-Target-URI") or "", record.reader.read()


def extract_pages(paths: list[str]) -> Iterator[tuple[str, str]]:
    """Yield title and text of every page."""
    for url, block in read_blocks(paths):
        message = parse_response(block)
        if message is not None:
            document, *_ = extract(message.body, "text/html", None, url, "UTF-8", None, date(2024, 12, 1))
            if document is not None:
                yield document.title, document.text


def index_texts(texts: list[tuple[str, str]]) -> None:
    """Index the texts with Tantivy in a temporary folder."""
    schema = tantivy.SchemaBuilder().add_text_field("all", tokenizer_name="en_stem", index_option="position").build()
    with tempfile.TemporaryDirectory() as folder:
        writer = tantivy.Index(schema, folder).writer(256 << 20, 1)
        for title, text in texts:
            writer.add_document(tantivy.Document(all=[title, text]))
        writer.commit()
        writer.wait_merging_threads()


def measure_floors(paths: list[str]) -> dict[str, float]:
    """Return the CPU seconds of each floor, and the number of pages."""
    marks = [time.process_time()]
    for _ in read_blocks(paths):
        pass
    marks.append(time.process_time())
    texts = list(extract_pages(paths))
    marks.append(time.process_time())
    index_texts(texts)
    marks.append(time.process_time())
    reading, extraction, indexing = (later - before for before, later in pairwise(marks))
    return {"reading": reading, "extraction": extraction - reading, "indexing": indexing, "pages": len(texts)}


def run_command(command: list[str]) -> tuple[float, float, float]:
    """Return (core-seconds, wall seconds, peak MB of the largest process) of a command and its children."""
    started = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - started, usage.ru_maxrss / 1e3


def measure_ingest(paths: list[str], workers: int) -> dict[str, tuple[float, float, float]]:
    """Return the costs of both parts of an ingest as `run_command` returns them; under `disk` the MB at rest."""
    webemu = [sys.executable, "-m", "webemu.emulator.cli"]
    with tempfile.TemporaryDirectory() as root:
        options = ["--root", root, "--collection", "bench", "--workers", str(workers)]
        catalog = run_command([*webemu, "ingest", *paths, *options, "-q", "--no-snapshot"])
        snapshot = run_command([*webemu, "snapshots", "build", *options])
        size = sum(file.stat().st_size for file in Path(root).rglob("*") if file.is_file())
    return {"catalog": catalog, "snapshot": snapshot, "disk": (size / 1e6, 0.0, 0.0)}


def main(paths: list[str]) -> None:
    """Measure and print the floors and the ingest."""
    floor = json.loads(subprocess.check_output([sys.executable, "-m", "benchmarks.ingest", "--floors", *paths]))
    count = int(floor.pop("pages"))
    single_worker = measure_ingest(paths, 1)
    cores = len(os.sched_getaffinity(0))
    print(f"{count:,} pages of {len(paths)} files; {single_worker['disk'][0]:,.0f} MB at rest")
    for name, seconds in floor.items():
        print(f"{name + ' alone':<30} {count / seconds:7,.0f} pages/core-s")
    before = floor["reading"] + floor["extraction"]
    total = before + floor["indexing"]
    total_seconds = single_worker["catalog"][0] + single_worker["snapshot"][0]
    for name, seconds, floor_seconds, memory in (
        ("ingest into the catalog", single_worker["catalog"][0], before, single_worker["catalog"][2]),
        ("snapshot", single_worker["snapshot"][0], floor["indexing"], single_worker["snapshot"][2]),
        ("ingest and snapshot", total_seconds, total, max(single_worker["catalog"][2], single_worker["snapshot"][2])),
    ):
        share = f"{floor_seconds / seconds:.2f} of its floors"
        print(f"{name:<30} {count / seconds:7,.0f} pages/core-s   {share}   peak {memory:,.0f} MB")
    if cores > 1:
        many_workers = measure_ingest(paths, cores)
        for name in ("catalog", "snapshot"):
            times = single_worker[name][1] / many_workers[name][1]
            print(f"{name}, {cores} workers instead of 1: {times:.2f} times as fast by the clock")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--floors"]:
        print(json.dumps(measure_floors(sys.argv[2:])))
    else:
        main(sys.argv[1:])
