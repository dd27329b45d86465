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

from webemu.index.http import parse
from webemu.ingest.extract import extract


def read(paths: list[str]) -> Iterator[tuple[str, bytes]]:
    """Yield URL and block of every response."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    for path in paths:
        for record in ArchiveIterator(path, record_types=WarcRecordType.response, parse_http=False):
            yield record.headers.get("WARC-Target-URI") or "", record.reader.read()


def pages(paths: list[str]) -> Iterator[tuple[str, str]]:
    """Yield title and text of every page."""
    for url, block in read(paths):
        message = parse(block)
        if message is not None:
            found, *_ = extract(message.body, "text/html", None, url, "UTF-8", None, date(2024, 12, 1))
            if found is not None:
                yield found.title, found.text


def index(texts: list[tuple[str, str]]) -> None:
    """Index the texts with Tantivy in a temporary folder."""
    schema = tantivy.SchemaBuilder().add_text_field("all", tokenizer_name="en_stem", index_option="position").build()
    with tempfile.TemporaryDirectory() as folder:
        writer = tantivy.Index(schema, folder).writer(256 << 20, 1)
        for title, text in texts:
            writer.add_document(tantivy.Document(all=[title, text]))
        writer.commit()
        writer.wait_merging_threads()


def floors(paths: list[str]) -> dict[str, float]:
    """Return the CPU seconds of each floor, and the number of pages."""
    marks = [time.process_time()]
    for _ in read(paths):
        pass
    marks.append(time.process_time())
    texts = list(pages(paths))
    marks.append(time.process_time())
    index(texts)
    marks.append(time.process_time())
    reading, extraction, indexing = (later - before for before, later in pairwise(marks))
    return {"reading": reading, "extraction": extraction - reading, "indexing": indexing, "pages": len(texts)}


def run(command: list[str]) -> tuple[float, float, float]:
    """Return (core-seconds, wall seconds, peak MB of the largest process) of a command and its children."""
    started = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - started, usage.ru_maxrss / 1e3


def ingested(paths: list[str], workers: int) -> dict[str, tuple[float, float, float]]:
    """Return the costs of both parts of an ingest as `run_command` returns them; under `disk` the MB at rest."""
    webemu = [sys.executable, "-m", "webemu.emulator.cli"]
    with tempfile.TemporaryDirectory() as root:
        place = ["--root", root, "--collection", "bench", "--workers", str(workers)]
        catalog = run([*webemu, "ingest", *paths, *place, "-q", "--no-snapshot"])
        snapshot = run([*webemu, "snapshots", "build", *place])
        size = sum(file.stat().st_size for file in Path(root).rglob("*") if file.is_file())
    return {"catalog": catalog, "snapshot": snapshot, "disk": (size / 1e6, 0.0, 0.0)}


def main(paths: list[str]) -> None:
    """Measure and print the floors and the ingest."""
    floor = json.loads(subprocess.check_output([sys.executable, "-m", "benchmarks.ingest", "--floors", *paths]))
    count = int(floor.pop("pages"))
    one = ingested(paths, 1)
    cores = len(os.sched_getaffinity(0))
    print(f"{count:,} pages of {len(paths)} files; {one['disk'][0]:,.0f} MB at rest")
    for name, seconds in floor.items():
        print(f"{name + ' alone':<30} {count / seconds:7,.0f} pages/core-s")
    before = floor["reading"] + floor["extraction"]
    total = before + floor["indexing"]
    both = one["catalog"][0] + one["snapshot"][0]
    for name, seconds, least, memory in (
        ("ingest into the catalog", one["catalog"][0], before, one["catalog"][2]),
        ("snapshot", one["snapshot"][0], floor["indexing"], one["snapshot"][2]),
        ("ingest and snapshot", both, total, max(one["catalog"][2], one["snapshot"][2])),
    ):
        share = f"{least / seconds:.2f} of its floors"
        print(f"{name:<30} {count / seconds:7,.0f} pages/core-s   {share}   peak {memory:,.0f} MB")
    if cores > 1:
        many = ingested(paths, cores)
        for name in ("catalog", "snapshot"):
            times = one[name][1] / many[name][1]
            print(f"{name}, {cores} workers instead of 1: {times:.2f} times as fast by the clock")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--floors"]:
        print(json.dumps(floors(sys.argv[2:])))
    else:
        main(sys.argv[1:])
