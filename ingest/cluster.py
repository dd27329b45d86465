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
from typing import Any

from webemu.emulator.cluster import joined
from webemu.ingest import pool
from webemu.ingest.pool import Done
from webemu.ingest.worker import At, Job

LOST = 5
"""Retries of a source whose machine is lost, before it is given up."""
AHEAD = 2
"""Tasks submitted per processor of the cluster."""
PERIOD = 0.5
"""Seconds between two looks for finished tasks."""
PATIENCE = 2.0
"""Seconds that the progress bar waits for the progress actor."""

Files = dict[str, bytes]
"""Files that a task made, by path relative to a collection folder.

They are those of the staging folder, and the copy of a source if there is one.
"""


class Progress:
    """Ray actor that collects the progress of each source."""

    def __init__(self) -> None:
        self._at: dict[int, At] = {}

    def tell(self, source: int, at: At) -> None:
        """Set the progress of a source."""
        self._at[source] = at

    def read(self) -> dict[int, At]:
        """Return the progress of all sources that are being read."""
        return self._at

    def forget(self, source: int) -> None:
        """Remove a source that has ended."""
        self._at.pop(source, None)


def work(job: Job, tell: Callable[[At], None]) -> tuple[Done, Files]:
    """Ingest one source in a temporary folder of this machine and return its result and files."""
    with tempfile.TemporaryDirectory(prefix="webemu-") as name:
        folder = Path(name)

        def tick(busy: list[tuple[Job, At]]) -> None:
            if busy:  # a large source is read in several pieces, and reported as one
                offsets, pages, drops = zip(*(at for _, at in busy), strict=True)
                tell(At(max(offsets), sum(pages), sum(drops)))

        for done in pool.run_jobs([job], folder, 1, tick):
            if done.staging is None:
                return Done(done.job, None, f"{done.error} (on {socket.gethostname()})"), {}
            copies = (folder / "warc").glob("*.warc.gz")
            found = {f"warc/{copy.name}": copy.read_bytes() for copy in copies}
            found |= {f"staging/{job.source_id}/{one.name}": one.read_bytes() for one in done.staging.iterdir()}
            return Done(done.job, Path("staging") / str(job.source_id)), found
    raise RuntimeError(f"the worker pool returned no result for {job.name}")


def run_jobs(
    jobs: Sequence[Job], collection: Path, address: str, tick: Callable[[list[tuple[Job, At]]], None]
) -> Iterator[Done]:
    """Work on all jobs with the cluster at `address` and yield each result as it ends, as `webemu.ingest.pool.run_jobs` does.

    Raises EmulatorError if there is no such cluster.
    """
    with joined(address) as ray:
        yield from _Cluster(ray, collection).run(jobs, tick)


class _Cluster:
    """Runner of jobs on a cluster that is already connected."""

    def __init__(self, ray: Any, collection: Path) -> None:
        self._ray = ray
        self._collection = collection
        self._progress = ray.remote(num_cpus=0, max_restarts=-1)(Progress).remote()
        self._task = ray.remote(num_cpus=1, max_retries=LOST, scheduling_strategy="SPREAD")(_task)
        self._busy: dict[Any, Job] = {}

    def run(self, jobs: Sequence[Job], tick: Callable[[list[tuple[Job, At]]], None]) -> Iterator[Done]:
        """Submit the jobs, a bounded number at a time, and yield each result as it ends."""
        waiting = deque(jobs)
        staging = pool.sweep(self._collection)
        try:
            while waiting or self._busy:
                while waiting and len(self._busy) < self._room():
                    job = waiting.popleft()
                    self._busy[self._task.remote(job, self._progress)] = job
                ready, _ = self._ray.wait(list(self._busy), timeout=PERIOD)
                for one in ready:
                    yield self._collect(one, staging)
                at = self._at()
                tick([(job, at[job.source_id]) for job in self._busy.values() if job.source_id in at])
        finally:
            for one in self._busy:
                self._ray.cancel(one, force=True)
            shutil.rmtree(staging, ignore_errors=True)

    def _room(self) -> int:
        """Return the number of tasks to submit: more than can run at once, so that an autoscaler sees demand."""
        return max(AHEAD, AHEAD * int(self._ray.cluster_resources().get("CPU", 1)))

    def _at(self) -> dict[int, At]:
        """Return the progress by source; empty while the machine of the progress actor is lost."""
        try:
            told: dict[int, At] = self._ray.get(self._progress.read.remote(), timeout=PATIENCE)
            return told
        except self._ray.exceptions.RayError:
            return {}

    def _collect(self, one: Any, staging: Path) -> Done:
        """Write the files of a finished task. A failed task, or one whose machines were lost, gives its source up."""
        job = self._busy.pop(one)
        self._progress.forget.remote(job.source_id)
        try:
            done, made = self._ray.get(one)
        except self._ray.exceptions.RayError as error:
            return Done(job, None, str(error).strip().splitlines()[-1])
        if done.staging is None:
            return Done(job, None, done.error)
        for name, content in made.items():
            kind, _, rest = name.partition("/")
            _write((staging if kind == "staging" else self._collection / kind) / rest, content)
        return Done(job, staging / str(job.source_id))


def _task(job: Job, progress: Any) -> tuple[Done, Files]:
    """Ingest one source. Entry point on a machine of the cluster."""
    return work(job, lambda at: progress.tell.remote(job.source_id, at))


def _write(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    part.replace(path)
