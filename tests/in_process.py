"""Ingest and snapshots without worker processes, for tests that only need a collection.

A worker process starts with about a second of imports, which is ten times the work on a crawl of a few pages. Tests of
the workers themselves (crashes, pieces, Ctrl-C, lost machines) use `webemu.ingest.run.run` as it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from webemu.index import snapshot
from webemu.index.partitions import split
from webemu.ingest import pool, run
from webemu.ingest.pieces import PIECE_BYTES
from webemu.ingest.worker import Job, WorkerProgress


class CallingExecutor(Executor):
    """Executor that calls each function at once, in the thread that submits it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Take the arguments of ProcessPoolExecutor, of which none matters here."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **options))
        except Exception as error:
            future.set_exception(error)
        return future


def run_jobs_here(
    jobs: Sequence[Job], collection: Path, workers: int, on_progress: Callable[..., None],
    piece_bytes: int = PIECE_BYTES,
) -> Iterator[pool.JobResult]:  # fmt: skip
    """Do what `webemu.ingest.pool.run_jobs` does, one job after another in this process."""
    staging = pool.remove_stale_staging(collection)
    queue = pool._JobQueue(jobs, staging)
    progress = WorkerProgress(-1, 0, 0)

    def remember(latest: WorkerProgress) -> None:
        nonlocal progress
        progress = latest

    try:
        while queue.waiting_jobs:
            job = queue.waiting_jobs.popleft()
            try:
                result = pool._run_job(job, collection, staging, remember, piece_bytes)
            except OSError as error:
                result = pool.JobResult(job, None, str(error))
            if source_result := queue.add_result(result, progress):
                yield source_result
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def in_process() -> Iterator[None]:
    """Keep all ingests and snapshot builds inside this block in this process."""
    with (
        patch.object(run, "run_jobs", run_jobs_here),
        patch.object(snapshot, "ProcessPoolExecutor", CallingExecutor),
        patch.object(split, "ProcessPoolExecutor", CallingExecutor),
    ):
        yield
