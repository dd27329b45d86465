"""One whole ingest: choice of new sources, workers, catalog, snapshot, and progress bars.

Takes single files (`webemu.ingest.sources` resolves what the user named) and returns a report. The command line is in
`webemu.ingest.command`.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from webemu.emulator import urls
from webemu.emulator.errors import CatalogError, SourceError
from webemu.index.catalog import Catalog
from webemu.index.digests import hash_file
from webemu.index.lock import exclusive_lock
from webemu.index.removal.rules import read_rules
from webemu.index.removal.sweep import sweep
from webemu.index.signals.hosts import import_ranks, read_ranks_columns
from webemu.index.space import describe_shortage, no_space_error, raising_space_errors
from webemu.ingest.cluster import run_jobs as run_on_cluster
from webemu.ingest.pieces import PIECE_BYTES
from webemu.ingest.pool import JobResult, run_jobs
from webemu.ingest.snapshot_progress import build_with_progress
from webemu.ingest.sources import Source
from webemu.ingest.worker import Job, WorkerProgress

ProgressCallback = Callable[[list[tuple[Job, WorkerProgress]]], None]
"""Callback that receives the progress of all sources being read."""
JobRunner = Callable[[list[Job], Path, ProgressCallback], Iterator[JobResult]]
"""Function that works on jobs for a collection and reports progress."""

MAX_HOST_FAILURES = 3
"""Consecutive failed files of one host after which its other files are not tried."""


@dataclass(slots=True)
class Report:
    """Result of an ingest."""

    added: int = 0
    """Sources that were ingested by this run."""
    already_ingested: int = 0
    """Sources that were in the catalog before, or twice in the list."""
    kept_out: int = 0
    """Named sources that were removed from the collection, and so were not read."""
    bytes: int = 0
    """Size of the added sources."""
    captures: int = 0
    """Captures in the added sources."""
    pages: int = 0
    """Pages in the added sources."""
    drops: dict[str, int] = field(default_factory=dict)
    """Dropped records of the added sources by reason, the most frequent first."""
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Sources that failed, as (name, reason). The next run tries them again."""
    sources: set[int] = field(default_factory=set)
    """Ids of the named sources that could be opened."""
    without_records: list[tuple[str, str]] = field(default_factory=list)
    """Named sources that gave no record, as (name, reasons): no archives, or damaged from their beginning."""
    hosts_with_ranks: int | None = None
    """Hosts of the crawl that occur in the given host ranks; None if no ranks were given."""
    seconds: float = 0.0
    """Wall time of the run."""
    snapshot: str = ""
    """Name of the new snapshot; empty if none was wanted or the collection holds no capture."""

    @property
    def has_no_records(self) -> bool:
        """True if there are sources and none of them gave a record."""
        return 0 < len(self.sources) == len(self.without_records)


def run(
    sources: Sequence[Source],
    folder: Path,
    workers: int,
    *,
    snapshot: bool = True,
    quiet: bool = False,
    host_ranks: Path | None = None,
    piece_bytes: int = PIECE_BYTES,
    cluster: str | None = None,
    reread: bool = False,
) -> Report:
    """Ingest the sources into the collection at `folder`, build its snapshot and return a report.

    `host_ranks` is a file of Common Crawl's host ranks; those of the crawl's hosts are kept. `piece_bytes` is the
    approximate number of bytes that one worker reads of a large source. `cluster` is the address of a Ray cluster
    whose machines read the sources, instead of `workers` processes on this one. `reread` reads sources that are in the
    catalog again.

    Interrupted at any moment, the same call continues: a source is in the catalog completely or not at all.

    Raises CatalogError if another ingest is writing to the collection, or if the disk is full.

        report = run(expand_sources(["crawl.warc.gz"]).sources, Path("webemu-data/mine"), workers=8)
        report.pages
    """
    started = time.monotonic()
    report = Report()
    if host_ranks:
        read_ranks_columns(host_ranks)  # fails on a wrong file now, not after hours of work
    lock_error = CatalogError(
        f"another ingest is writing to {folder}", action="wait until it ends, or ingest into another --collection"
    )
    with raising_space_errors(folder), exclusive_lock(folder / "ingest.lock", lock_error):
        with Catalog(folder) as catalog:
            rules = read_rules(folder)
            jobs = list(_find_new_jobs(sources, folder, catalog, report, quiet, rules.sources, reread))
            _run_workers(jobs, folder, _choose_runner(workers, piece_bytes, cluster), catalog, report, quiet)
            if rules.rules:
                sweep(catalog.db, rules)
            if host_ranks:
                report.hosts_with_ranks = import_ranks(catalog.db, host_ranks)
            report.without_records = _without_records(catalog, report.sources)
            has_captures = catalog.db.execute("SELECT 1 FROM captures LIMIT 1").fetchone() is not None
        if snapshot and has_captures:
            report.snapshot = build_with_progress(folder, workers, quiet)
    report.seconds = time.monotonic() - started
    return report


_NO_RECORDS = """
SELECT s.source_id, s.name, coalesce(string_agg(d.reason, ', ' ORDER BY d.reason), 'no record')
FROM sources s LEFT JOIN drops d USING (source_id) WHERE s.records = 0 GROUP BY ALL ORDER BY s.name
"""


def _without_records(catalog: Catalog, sources: set[int]) -> list[tuple[str, str]]:
    """Return (name, reasons) of those of these sources that gave no record."""
    rows = catalog.db.execute(_NO_RECORDS).fetchall()
    return [(name, reasons) for source, name, reasons in rows if source in sources]


def _find_new_jobs(
    sources: Sequence[Source], folder: Path, catalog: Catalog, report: Report, quiet: bool, removed: frozenset[int],
    reread: bool,
) -> Iterator[Job]:  # fmt: skip
    """Yield a job for each source that is neither in the catalog nor removed, downloading it first if needed.

    With `reread`, those in the catalog are read again. Failures go to the report.
    """
    known_ids = set() if reread else catalog.source_ids()
    failures_by_host: Counter[str] = Counter()
    for source in tqdm(sources, desc="checking", unit="file", disable=quiet or len(sources) < 3, leave=False):
        host = urls.host_of(source.url) if source.url else ""
        if failures_by_host[host] >= MAX_HOST_FAILURES:
            report.failed.append((source.name, f"not tried: {MAX_HOST_FAILURES} files of {host} in a row failed"))
            continue
        try:
            path = _fetch_source(source, folder)
            source_id = hash_file(path)
        except (SourceError, OSError) as error:
            if shortage_text := describe_shortage(str(error)):
                raise no_space_error(folder, shortage_text) from error  # every other source would fail, too
            report.failed.append((source.name, str(error)))
            failures_by_host[host] += bool(host)  # local files have no host, and are always tried
            continue
        failures_by_host[host] = 0
        if source_id in removed:
            report.kept_out += 1
            continue
        report.sources.add(source_id)
        if source_id in known_ids:
            report.already_ingested += 1
            catalog.update_path(source_id, path.resolve())
            continue
        known_ids.add(source_id)
        yield Job(source_id, source.name, str(path.resolve()), None, "", path.stat().st_size)


def _fetch_source(source: Source, folder: Path) -> Path:
    """Return the source as a local file, downloaded if needed."""
    if source.url is None:
        try:
            str(source.path.resolve()).encode()
        except UnicodeEncodeError:
            raise SourceError("the path is not UTF-8, which the catalog requires; rename the file") from None
        return source.path
    from webemu.ingest.download import fetch  # a client of HTTP takes half a second to import

    target = folder / "downloads" / source.name.lstrip("/")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        fetch(source.url, target, None)
    return target


_COUNTS = "SELECT captures, pages FROM sources WHERE source_id = ?"
_DROPS = "SELECT reason, records FROM drops WHERE source_id = ?"


def _run_workers(
    jobs: list[Job], folder: Path, runner: JobRunner, catalog: Catalog, report: Report, quiet: bool
) -> None:
    """Work on the jobs, add each result to the catalog, and show the progress."""
    total = sum(job.bytes for job in jobs)
    drops: Counter[str] = Counter()
    with tqdm(total=total, unit="B", unit_scale=True, desc="ingesting", disable=quiet, file=sys.stderr) as bar:
        started = time.monotonic()

        def tick(running: list[tuple[Job, WorkerProgress]]) -> None:
            bytes_done = report.bytes + sum(_count_bytes_read(job, progress) for job, progress in running)
            pages = report.pages + sum(progress.pages for _, progress in running)
            dropped = drops.total() + sum(progress.drops for _, progress in running)
            rate = pages / (time.monotonic() - started + 1e-9)
            bar.set_postfix_str(f"{pages:,} pages, {rate:,.0f}/s, {dropped:,} dropped", refresh=False)
            bar.update(max(0, bytes_done - bar.n))

        for result in runner(jobs, folder, tick):
            if result.staging_folder is None and (shortage_text := describe_shortage(result.error)):
                raise no_space_error(folder, shortage_text)
            if result.staging_folder is None:
                report.failed.append((result.job.name, result.error))
                continue
            catalog.import_staging(result.staging_folder, replace=True)
            source = [result.job.source_id]
            for captures, pages in catalog.db.execute(_COUNTS, source).fetchall():
                report.captures += captures
                report.pages += pages
            drops.update(dict(catalog.db.execute(_DROPS, source).fetchall()))
            report.added += 1
            report.bytes += result.job.bytes
    report.drops = dict(sorted(drops.items(), key=lambda item: (-item[1], item[0])))


def _count_bytes_read(job: Job, progress: WorkerProgress) -> int:
    """Return the bytes of its source that a worker has read."""
    done = max(progress.offset - job.start, 0)
    return min(done, job.bytes) if job.end is None else job.bytes * done // (job.end - job.start)


def _choose_runner(workers: int, piece_bytes: int, cluster: str | None) -> JobRunner:
    """Return the function that runs jobs: in local processes, or on the cluster at an address."""
    if cluster is None:
        return lambda jobs, folder, on_progress: run_jobs(jobs, folder, workers, on_progress, piece_bytes)
    return lambda jobs, folder, on_progress: run_on_cluster(jobs, folder, cluster, on_progress) if jobs else iter(())


def count_default_workers() -> int:
    """Return the number of processors that this process may use, where the system tells it, else of all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
