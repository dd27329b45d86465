"""Large dumps are copied range by range: the copies together are the copy of the whole, whatever the rows are."""

from __future__ import annotations

import gzip
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.in_process import in_process
from webemu.index.catalog import Catalog
from webemu.index.schema import TABLES
from webemu.ingest import pool, rows
from webemu.ingest.formats.detection import detect_format
from webemu.ingest.formats.dumps import JSONL, PARQUET
from webemu.ingest.formats.format import CopyTarget, Format
from webemu.ingest.formats.members import sum_skips
from webemu.ingest.pieces import UNDIVIDED
from webemu.ingest.pool import JobResult
from webemu.ingest.records import Skip
from webemu.ingest.rows import RowRange
from webemu.ingest.run import Report, run
from webemu.ingest.sources import Source
from webemu.ingest.worker import Job, WorkerProgress

NO_PROGRESS = WorkerProgress(-1, 0, 0)


def odd_lines(seed: int) -> bytes:
    """Lines of every kind that a dump may have, in random order; those without an id are named by their number."""
    random = Random(seed)
    kinds = [
        lambda number: json.dumps({"url": f"https://a.example/{number}", "title": "T", "text": "word " * number}),
        lambda number: json.dumps({"contents": f'"Title {number}"\nText of a passage of wiki-18.'}),
        lambda number: json.dumps({"id": f"doc {number}", "text": "naïve", "url": "no URL", "date": "no date"}),
        lambda number: json.dumps({"text": ""}),
        lambda number: '{"text": "cut',
        lambda number: "[1, 2]",
        lambda number: "",
        lambda number: "  \t",
        lambda number: "\ufeff" + json.dumps({"text": f"after a mark {number}"}),
        lambda number: "\ufeff",
        lambda number: json.dumps({"text": "long " * 300}),
        lambda number: json.dumps({"text": "end of Windows"}) + "\r",
        lambda number: json.dumps(
            {"url": f"https://a.example/{number}", "text": "linked", "links": [{"target": "/x"}]}
        ),
    ]
    lines = [random.choice(kinds)(number) for number in range(random.randrange(1, 60))]
    return "\n".join(lines).encode() + random.choice([b"", b"\n", b"\n\n \n"])


def copy_whole(path: Path, container_format: Format, folder: Path) -> tuple[bytes, list[Skip]]:
    copy = folder / "whole"
    with copy.open("wb") as file:
        skips = container_format.copy_records(path, CopyTarget(file, folder, detect_format))
    return copy.read_bytes(), skips


def copy_ranges(
    path: Path, container_format: Format, folder: Path, range_bytes: int
) -> tuple[bytes, list[Skip], list[RowRange]]:
    assert container_format.range_copier
    ranges = container_format.range_copier.divide(path, range_bytes)
    copy, skips = folder / "ranges", []
    with copy.open("wb") as file:
        for row_range in ranges:
            skips += container_format.range_copier.copy_range(path, row_range, CopyTarget(file, folder, detect_format))
    return copy.read_bytes(), sum_skips(skips), ranges


@pytest.mark.parametrize("seed", range(40))
def test_ranges_of_odd_lines_are_copied_as_the_whole_is(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MAX_BLOCK", 1000)  # the long line is longer
    path = tmp_path / "rows.jsonl"
    path.write_bytes(odd_lines(seed))
    expected_copy = copy_whole(path, JSONL, tmp_path)
    divided = 0
    for range_bytes in (1, 40, 200, 1000, 3000):
        copy, skips, ranges = copy_ranges(path, JSONL, tmp_path, range_bytes)
        if ranges:
            assert (copy, skips) == expected_copy, range_bytes
            assert [row_range.start for row_range in ranges[1:]] == [row_range.end for row_range in ranges[:-1]]
            divided += 1
    assert divided >= 2 or path.stat().st_size < 1000


def parquet(path: Path, row_count: int = 900, **columns: list[Any]) -> Path:
    table: dict[str, list[Any]] = {"text": [f"passage {number}" for number in range(row_count)], **columns}
    pq.write_table(pa.table(table), path, row_group_size=100, compression="none")
    return path


def test_ranges_of_row_groups_are_copied_as_the_whole_is(tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows.parquet")
    expected_copy = copy_whole(path, PARQUET, tmp_path)
    for range_bytes, count in ((1, 9), (5000, 3), (1 << 20, 0)):
        copy, skips, ranges = copy_ranges(path, PARQUET, tmp_path, range_bytes)
        assert len(ranges) == count
        assert not ranges or (copy, skips) == expected_copy
    assert expected_copy[0]


def test_damage_in_a_row_group_costs_its_rows_in_both(tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows.parquet")
    data = bytearray(path.read_bytes())
    place = data.index(b"passage 450")
    data[place - 900 : place + 900] = b"\xff" * 1800
    path.write_bytes(data)
    copy, skips, ranges = copy_ranges(path, PARQUET, tmp_path, 1)
    assert (copy, skips) == copy_whole(path, PARQUET, tmp_path)
    assert len(ranges) == 9
    (damage,) = skips
    assert (damage.reason, damage.records) == ("damaged-parquet", 300)
    assert b"https://rows.invalid/600\r\nContent-Length: 11\r\n\r\npassage 600\r\n" in gzip.decompress(copy)


def test_rows_that_may_name_their_crawl_are_copied_in_one_go(tmp_path: Path) -> None:
    """The crawl of a row holds for those after it, which another worker might copy."""
    lines = [json.dumps({"text": f"passage {number}"}) for number in range(100)]
    (tmp_path / "rows.jsonl").write_text("\n".join([*lines, json.dumps({"dump": "CC-MAIN-2026-12", "text": "x"})]))
    assert copy_ranges(tmp_path / "rows.jsonl", JSONL, tmp_path, 100)[2] == []
    path = parquet(tmp_path / "rows.parquet", dump=["CC-MAIN-2026-12"] * 900)
    assert copy_ranges(path, PARQUET, tmp_path, 1)[2] == []


def ingested(path: Path, folder: Path, piece_bytes: int) -> tuple[Report, dict[str, list[tuple[Any, ...]]]]:
    with in_process():
        report = run([Source(path, path.name)], folder, 1, quiet=True, piece_bytes=piece_bytes)
    with Catalog(folder, read_only=True) as catalog:
        return report, {name: catalog.db.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall() for name in TABLES}


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_a_collection_is_the_same_whether_its_dump_is_divided(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "rows.jsonl":
        path.write_bytes(b"\n".join(odd_lines(seed) for seed in range(8)))
    else:
        parquet(path, extra=[{"x": "y"}] * 900)
    expected_report, expected_rows = ingested(path, tmp_path / "whole", UNDIVIDED)
    report, divided_rows = ingested(path, tmp_path / "divided", path.stat().st_size // 5)
    assert divided_rows == expected_rows
    assert (report.snapshot, report.drops) == (expected_report.snapshot, expected_report.drops)
    assert report.pages > 100
    assert [file.name for file in (tmp_path / "divided" / "staging").iterdir()] == []


def _write_rows(path: Path) -> Path:
    path.write_text("".join(json.dumps({"text": f"passage {number} " * 20}) + "\n" for number in range(3000)))
    return path


def test_a_source_that_shrinks_while_it_is_copied_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, other = _write_rows(tmp_path / "rows.jsonl"), tmp_path / "other.jsonl"
    other.write_text(json.dumps({"text": "another source"}))
    divide = pool._divide_copying

    def truncate(job: Job, *arguments: Any) -> list[Job]:
        jobs = divide(job, *arguments)
        if jobs:
            os.truncate(path, path.stat().st_size // 2)
        return jobs

    monkeypatch.setattr(pool, "_divide_copying", truncate)
    with in_process():
        report = run(
            [Source(path, path.name), Source(other, other.name)], tmp_path / "c", 1, quiet=True, piece_bytes=90_000
        )
    ((failed, error),) = report.failed
    assert failed == "rows.jsonl"
    assert "the file ends at byte" in error
    assert (report.added, report.pages) == (1, 1)
    assert not list((tmp_path / "c" / "warc").glob(".*"))


def _queue_of_ranges(folder: Path) -> tuple[pool._JobQueue, list[Job]]:
    """Return a queue that was told the ranges of a source, and the jobs that copy them, which workers have taken."""
    queue, job = pool._JobQueue([], folder), Job(7, "rows.jsonl", "rows.jsonl", None, "", 300)
    copies = [
        replace(job, bytes=100, piece_number=number, copied_rows=RowRange(number, number + 1, number), copied_ranges=3)
        for number in range(3)
    ]
    assert queue.add_result(JobResult(job, None, pieces=tuple(copies)), NO_PROGRESS) is None
    assert [queue.waiting_jobs.popleft() for _ in copies] == copies
    return queue, copies


def test_ranges_that_end_in_another_order_are_joined_in_theirs(tmp_path: Path) -> None:
    queue, copies = _queue_of_ranges(tmp_path)
    for number in (2, 0, 1):
        job = replace(copies[number], skipped_ranges=(Skip("bad-json", 10 * number, 5),))
        assert queue.add_result(JobResult(job, None, is_copied=True), NO_PROGRESS) is None
    (joined,) = queue.waiting_jobs
    assert (joined.bytes, joined.copied_rows, joined.piece_number, joined.copied_ranges) == (300, None, None, 3)
    assert joined.skipped_ranges == (Skip("bad-json", 0, 15, records=3),)


def test_a_source_fails_once_if_a_range_fails_before_others_end(tmp_path: Path) -> None:
    queue, copies = _queue_of_ranges(tmp_path)
    failed = queue.add_result(JobResult(copies[1], None, "no space left"), NO_PROGRESS)
    assert failed
    assert (failed.job.bytes, failed.job.copied_rows, failed.error) == (300, None, "no space left")
    assert queue.add_result(JobResult(copies[0], None, is_copied=True), NO_PROGRESS) is None
    assert queue.add_result(JobResult(copies[2], None, "no space left"), NO_PROGRESS) is None
    assert not queue.waiting_jobs


@pytest.mark.slow
def test_worker_processes_copy_ranges_and_a_killed_one_fails_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _write_rows(tmp_path / "rows.jsonl")
    report = run([Source(path, path.name)], tmp_path / "c", 2, quiet=True, piece_bytes=90_000)
    assert (report.failed, report.pages) == ([], 3000)
    send = pool._WorkerSlot.send_job

    def kill(slot: pool._WorkerSlot, job: Job) -> None:
        send(slot, job)
        if job.copied_rows and job.piece_number == 2:
            assert slot.process.pid
            os.kill(slot.process.pid, signal.SIGKILL)

    monkeypatch.setattr(pool._WorkerSlot, "send_job", kill)
    killed = run([Source(path, path.name)], tmp_path / "k", 2, quiet=True, piece_bytes=90_000)
    ((failed, error),) = killed.failed
    assert failed == "rows.jsonl"
    assert "its worker process ended with status -9" in error
