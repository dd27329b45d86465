"""Ingest against its floor: FastWARC and the extraction alone, on the same files, in the same run, one process each.

python -m benchmarks.ingest WARC...

Unit: pages per core-second (user and system time of the whole process tree). The floor reads every record, decodes and
extracts text, title, links and metadata of every page, and keeps nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

from index.http import parse
from ingest.extract import extract


def floor(paths: list[str]) -> int:
    """Read and extract, keep nothing; returns the number of pages."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    pages = 0
    for path in paths:
        for record in ArchiveIterator(path, record_types=WarcRecordType.response, parse_http=False):
            message = parse(record.reader.read())
            if message is not None:
                url = record.headers.get("WARC-Target-URI") or ""
                found, *_ = extract(message.body, "text/html", None, url, "UTF-8", None, date(2024, 12, 1))
                pages += found is not None
    return pages


def run(command: list[str]) -> tuple[float, float, int]:
    """(core-seconds, peak MB of the largest process, exit status) of a command and its children."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3, os.waitstatus_to_exitcode(status)


def main(paths: list[str]) -> None:
    with tempfile.TemporaryDirectory() as root:
        webemu = [sys.executable, "-m", "emulator.cli"]
        place = ["--root", root, "--collection", "bench"]
        floor_s, floor_mb, _ = run([sys.executable, "-m", "benchmarks.ingest", "--floor", *paths])
        ingest_s, ingest_mb, status = run([*webemu, "ingest", *paths, *place, "--workers", "1", "-q", "--no-snapshot"])
        build_s, build_mb, _ = run([*webemu, "snapshots", "build", *place])
        if status:
            raise SystemExit(f"ingest ended with status {status}")
        sql = [*webemu, "sql", "SELECT count(*) FROM pages", *place, "--format", "json"]
        pages = int("".join(filter(str.isdigit, subprocess.check_output(sql, text=True).partition(":")[2])))
        size = sum(file.stat().st_size for file in Path(root).rglob("*") if file.is_file())
    print(f"{pages:,} pages of {len(paths)} files; {size / 1e6:,.0f} MB at rest")
    for name, seconds, memory in (
        ("floor: FastWARC + extraction", floor_s, floor_mb),
        ("ingest into the catalog", ingest_s, ingest_mb),
        ("snapshot", build_s, build_mb),
        ("ingest and snapshot", ingest_s + build_s, max(ingest_mb, build_mb)),
    ):
        share = floor_s / seconds
        print(f"{name:<30} {pages / seconds:7,.0f} pages/core-s   {share:.2f} of the floor   peak {memory:,.0f} MB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--floor"]:
        print(floor(sys.argv[2:]))
    else:
        main(sys.argv[1:])
