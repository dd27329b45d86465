"""Ingest on the machines of a Ray cluster: the same work as in `webemu.ingest.pool`, one task per source.

A task runs the pool with a single process on any machine with room, so that a record that kills its worker is handled
there. Its result, the files of a staging folder, travels back through Ray's object store and is written here. A task
whose machine is lost runs again on another one. Every machine must see the source under the same path; only this
process needs to see the collection.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Protocol

from webemu.emulator.cluster import connect_to_ray
from webemu.ingest import pool
from webemu.ingest.pool import JobResult
from webemu.ingest.worker import Job, WorkerProgress

MAX_LOST_MACHINES = 5
"""Retries of a source whose machine is lost, before it is given up."""
TASKS_PER_CPU = 2
"""Tasks submitted per processor of the cluster."""
POLL_SECONDS = 0.5
"""Seconds between two looks for finished tasks."""
PROGRESS_TIMEOUT_SECONDS = 2.0
"""Seconds that the progress bar waits for the progress actor."""

Files = dict[str, bytes]
"""Files that a task made, by path relative to a collection folder.

They are those of the staging folder, and the copy of a source if there is one.
"""


class ProgressActor:
    """Ray actor that collects the progress of each source."""

    def __init__(self) -> None:
        self._progress_by_source: dict[int, WorkerProgress] = {}

    def report(self, source: int, progress: WorkerProgress) -> None:
        """Set the progress of a source."""
        self._progress_by_source[source] = progress

    def read(self) -> dict[int, WorkerProgress]:
        """Return the progress of all sources that are being read."""
        return self._progress_by_source

    def forget(self, source: int) -> None:
        """Remove a source that has ended."""
        self._progress_by_source.pop(source, None)


class RemoteMethod(Protocol):
    """Method of an actor, as Ray's handle has it."""

    def remote(self, *arguments: object) -> object:
        """Start the call and return a reference to its result."""


class ProgressHandle(Protocol):
    """Ray's handle of a `ProgressActor`."""

    @property
    def report(self) -> RemoteMethod:
        """Call `ProgressActor.report`."""


def ingest_job(job: Job, on_progress: Callable[[WorkerProgress], None]) -> tuple[JobResult, Files]:
    """Ingest one source in a temporary folder of this machine and return its result and files."""
    with tempfile.TemporaryDirectory(prefix="webemu-") as name:
        folder = Path(name)

        def tick(busy: list[tuple[Job, WorkerProgress]]) -> None:
            if busy:  # a large source is read in several pieces, and reported as one
                offsets, pages, drops = zip(*(progress for _, progress in busy), strict=True)
                on_progress(WorkerProgress(max(offsets), sum(pages), sum(drops)))

        for result in pool.run_jobs([job], folder, 1, tick):
            if result.staging_folder is None:
                return JobResult(result.job, None, f"{result.error} (on {socket.gethostname()})"), {}
            copies = (folder / "warc").glob("*.warc.gz")
            files = {f"warc/{copy.name}": copy.read_bytes() for copy in copies}
            files |= {
                f"staging/{job.source_id}/{path.name}": path.read_bytes() for path in result.staging_folder.iterdir()
            }
            return JobResult(result.job, Path("staging") / str(job.source_id)), files
    raise RuntimeError(f"the worker pool returned no result for {job.name}")


def run_jobs(
    jobs: Sequence[Job], collection: Path, address: str, on_progress: Callable[[list[tuple[Job, WorkerProgress]]], None]
) -> Iterator[JobResult]:
    """Work on all jobs with the cluster at `address` and yield each result as it ends, as
    `webemu.ingest.pool.run_jobs` does.

    Raises EmulatorError if there is no such cluster.
    """
    with connect_to_ray(address) as ray:
        yield from _RayJobRunner(ray, collection).run(jobs, on_progress)


class _RayJobRunner:
    """Runner of jobs on a cluster that is already connected."""

    def __init__(self, ray: ModuleType, collection: Path) -> None:
        self._ray = ray
        self._collection = collection
        self._progress = ray.remote(num_cpus=0, max_restarts=-1)(ProgressActor).remote()
        self._task = ray.remote(num_cpus=1, max_retries=MAX_LOST_MACHINES, scheduling_strategy="SPREAD")(_run_task)
        self._running_tasks: dict[object, Job] = {}

    def run(
        self, jobs: Sequence[Job], on_progress: Callable[[list[tuple[Job, WorkerProgress]]], None]
    ) -> Iterator[JobResult]:
        """Submit the jobs, a bounded number at a time, and yield each result as it ends."""
        waiting_jobs = deque(jobs)
        staging = pool.remove_stale_staging(self._collection)
        try:
            while waiting_jobs or self._running_tasks:
                while waiting_jobs and len(self._running_tasks) < self._count_submittable_tasks():
                    job = waiting_jobs.popleft()
                    self._running_tasks[self._task.remote(job, self._progress)] = job
                finished_tasks, _ = self._ray.wait(list(self._running_tasks), timeout=POLL_SECONDS)
                for task in finished_tasks:
                    yield self._collect(task, staging)
                progress = self._read_progress()
                on_progress(
                    [
                        (job, progress[job.source_id])
                        for job in self._running_tasks.values()
                        if job.source_id in progress
                    ]
                )
        finally:
            for task in self._running_tasks:
                self._ray.cancel(task, force=True)
            shutil.rmtree(staging, ignore_errors=True)

    def _count_submittable_tasks(self) -> int:
        """Return the number of tasks to submit: more than can run at once, so that an autoscaler sees demand."""
        return max(TASKS_PER_CPU, TASKS_PER_CPU * int(self._ray.cluster_resources().get("CPU", 1)))

    def _read_progress(self) -> dict[int, WorkerProgress]:
        """Return the progress by source; empty while the machine of the progress actor is lost."""
        try:
            progress: dict[int, WorkerProgress] = self._ray.get(
                self._progress.read.remote(), timeout=PROGRESS_TIMEOUT_SECONDS
            )
            return progress
        except self._ray.exceptions.RayError:
            return {}

    def _collect(self, task: object, staging: Path) -> JobResult:
        """Write the files of a finished task. A failed task, or one whose machines were lost, gives its source up."""
        job = self._running_tasks.pop(task)
        self._progress.forget.remote(job.source_id)
        try:
            result, files = self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            return JobResult(job, None, str(error).strip().splitlines()[-1])
        if result.staging_folder is None:
            return JobResult(job, None, result.error)
        for name, content in files.items():
            folder_name, _, relative_path = name.partition("/")
            _write_file(
                (staging if folder_name == "staging" else self._collection / folder_name) / relative_path, content
            )
        return JobResult(job, staging / str(job.source_id))


def _run_task(job: Job, progress: ProgressHandle) -> tuple[JobResult, Files]:
    """Ingest one source. Entry point on a machine of the cluster."""

    def report(worker_progress: WorkerProgress) -> None:
        progress.report.remote(job.source_id, worker_progress)

    return ingest_job(job, report)


def _write_file(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    part.replace(path)
