"""Worker processes that outlive crashes: a record that kills its worker is ingested again without its text.

Each process takes one job at a time over a pipe and keeps what it is at in shared memory, so that the parent knows
which record was in hand when a process died. Workers leave when their parent does.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.sharedctypes import SynchronizedArray
from pathlib import Path

from emulator.errors import SourceError
from index.parent import leave_with, without_interrupts
from ingest.records import Skip
from ingest.repack import detect, readable
from ingest.worker import At, Job, work

MAX_CRASHES = 20
"""A source that kills so many workers is given up."""
_WIDTH = len(At._fields)


@dataclass(frozen=True, slots=True)
class Done:
    """A source that was worked on."""

    job: Job
    staging: Path | None
    """None: given up, and `error` says why."""
    error: str = ""


def _prepare(job: Job, collection: Path) -> Job:
    """Make the per-record copy if the file needs one."""
    path = Path(job.path)
    kind = detect(path)
    copy = Path("warc") / f"{job.source_id}.warc.gz"
    (collection / "warc").mkdir(parents=True, exist_ok=True)
    try:
        read_from, skips = readable(path, kind, collection / copy)
    except SourceError as error:
        return replace(job, kind="unreadable", skipped=(Skip("unreadable-source", 0, job.bytes, error.message),))
    return replace(job, kind=kind, copy=None if read_from == path else str(copy), skipped=tuple(skips))


def _serve(
    pipe: Connection, collection: Path, staging: Path, state: SynchronizedArray[int], slot: int, parent: int
) -> None:
    leave_with(parent)

    def at(now: At) -> None:
        state[_WIDTH * slot : _WIDTH * (slot + 1)] = now

    while True:
        try:
            job: Job = pipe.recv()
        except EOFError:
            return
        try:
            done = _work(job, collection, staging, at)
        except OSError as error:
            done = Done(job, None, str(error))
        try:
            pipe.send(done)
        except BrokenPipeError:
            return


def _work(job: Job, collection: Path, staging: Path, at: Callable[[At], None]) -> Done:
    own = staging / f"{job.source_id}.{os.getpid()}"
    try:
        work(_prepare(job, collection), collection, own, at)
        return Done(job, own.rename(staging / str(job.source_id)))
    except OSError:
        shutil.rmtree(own, ignore_errors=True)
        raise


class _Slot:
    """One worker process and the job it has."""

    def __init__(self, number: int, collection: Path, staging: Path, state: SynchronizedArray[int]) -> None:
        self._start = (number, collection, staging, state)
        self.job: Job | None = None
        self.start()

    def start(self) -> None:
        number, collection, staging, state = self._start
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(theirs, collection, staging, state, number, os.getpid()), daemon=True
        )
        with without_interrupts():
            self.process.start()
        theirs.close()

    def give(self, job: Job) -> None:
        number, *_, state = self._start
        state[_WIDTH * number : _WIDTH * (number + 1)] = At(-1, 0, 0)
        self.job = job
        self.pipe.send(job)

    def at(self) -> At:
        number, *_, state = self._start
        return At(*state[_WIDTH * number : _WIDTH * (number + 1)])


def run_jobs(
    jobs: Sequence[Job], collection: Path, workers: int, tick: Callable[[list[tuple[Job, At]]], None]
) -> Iterator[Done]:
    """Work on all jobs; yields each as it ends. `tick` is told how far all in hand are, twice a second."""
    staging = sweep(collection)
    waiting = deque(jobs)
    state: SynchronizedArray[int] = get_context("spawn").Array("q", _WIDTH * workers)
    slots = [_Slot(number, collection, staging, state) for number in range(min(workers, len(jobs)))]
    try:
        while waiting or any(slot.job for slot in slots):
            for slot in slots:
                if slot.job is None and waiting:
                    slot.give(waiting.popleft())
            busy = [slot for slot in slots if slot.job]
            ready = wait([slot.pipe for slot in busy], timeout=0.5)
            for slot in busy:
                if slot.pipe in ready and (done := _collect(slot)):
                    yield done
            tick([(slot.job, slot.at()) for slot in slots if slot.job])
    finally:
        for slot in slots:
            slot.process.terminate()
        for slot in slots:
            slot.process.join()
        shutil.rmtree(staging, ignore_errors=True)


def sweep(collection: Path) -> Path:
    """Remove what killed runs left half done. Returns a staging folder of this run alone: workers outlive a killed
    parent by half a second, and what they then finish must not meet ours.
    """
    shutil.rmtree(collection / "staging", ignore_errors=True)
    (collection / "staging").mkdir(parents=True, exist_ok=True)
    for scratch in (collection / "warc").glob("tmp*"):
        shutil.rmtree(scratch, ignore_errors=True)
    for part in (collection / "warc").glob(".*.part"):
        part.unlink(missing_ok=True)
    return Path(tempfile.mkdtemp(dir=collection / "staging"))


def _collect(slot: _Slot) -> Done | None:
    """The finished job of a slot; None after a crash that is tried again."""
    job = slot.job
    assert job is not None
    slot.job = None
    try:
        done: Done = slot.pipe.recv()
        return done
    except (EOFError, ConnectionResetError):
        slot.process.join()
        code, offset = slot.process.exitcode, slot.at().offset
        slot.start()
        if offset < 0 or offset in job.textless or len(job.textless) >= MAX_CRASHES:
            return Done(job, None, f"a worker ended with status {code} at offset {offset}")
        slot.give(replace(job, textless=job.textless | {offset}))
        return None
