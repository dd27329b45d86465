"""A pool of worker processes that survives crashes: a record that kills its worker is ingested again without its text.

Each process takes one job at a time over a pipe and keeps its progress in shared memory, so that the parent knows
which record was being read when a process died. Workers exit when their parent does. A job is a source. The worker
that gets a large one first answers with the pieces to read it in (`webemu.ingest.pieces`), and each of them is a job again.
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

from webemu.emulator.errors import SourceError
from webemu.index.parent import leave_with, without_interrupts
from webemu.ingest.pieces import PIECE_BYTES, Gathered, split
from webemu.ingest.readers import Torn
from webemu.ingest.records import Skip
from webemu.ingest.repack import detect, readable
from webemu.ingest.worker import At, Job, Shared, work

MAX_CRASHES = 20
"""Crashes after which a source is given up."""
_WIDTH = len(At._fields)


@dataclass(frozen=True, slots=True)
class Done:
    """Result of a job: a staging folder, an error, pieces to read instead, or a record that crosses the piece."""

    job: Job
    staging: Path | None
    """Staging folder with the rows; None if there is none."""
    error: str = ""
    """Reason why the source was given up; empty otherwise."""
    is_torn: bool = False
    """True if a record reaches over the end of the piece: the source must be read in one go."""
    pieces: tuple[Job, ...] = ()
    """Jobs to do instead of this one, which was too large."""


def _prepare(job: Job, collection: Path, kind: str = "") -> Job:
    """Make the per-record copy if the file needs one. `container_format` is detected if empty."""
    path = Path(job.path)
    kind = kind or detect(path)
    copy = Path("warc") / f"{job.source_id}.warc.gz"
    (collection / "warc").mkdir(parents=True, exist_ok=True)
    try:
        read_from, skips = readable(path, kind, collection / copy)
    except SourceError as error:
        return replace(job, kind="unreadable", skipped=(Skip("unreadable-source", 0, job.bytes, str(error)),))
    return replace(job, kind=kind, copy=None if read_from == path else str(copy), skipped=tuple(skips))


def _serve(
    pipe: Connection, folders: tuple[Path, Path], state: SynchronizedArray[int], slot: int, parent: int, piece: int
) -> None:
    """Work on the jobs that come through the pipe until the parent closes it. Entry point of a worker process."""
    leave_with(parent)

    def at(now: At) -> None:
        state[_WIDTH * slot : _WIDTH * (slot + 1)] = now

    while True:
        try:
            job: Job = pipe.recv()
        except EOFError:
            return
        try:
            done = _work(job, *folders, at, piece)
        except OSError as error:
            done = Done(job, None, str(error))
        try:
            pipe.send(done)
        except BrokenPipeError:
            return


def _work(job: Job, collection: Path, staging: Path, at: Callable[[At], None], piece: int) -> Done:
    """Divide a large source into pieces, or ingest a source or piece into a staging folder."""
    if job.end is None:
        job = _prepare(job, collection)
        path = collection / job.copy if job.copy else Path(job.path)
        if job.kind != "unreadable" and len(pieces := split(job, path, piece)) > 1:
            return Done(job, None, pieces=tuple(pieces))
    name = str(job.source_id) if job.part is None else f"{job.source_id}.{job.part}"
    # Fill a folder of this process's own, then rename it: a folder under the final name is always complete.
    own = staging / f"{name}.{os.getpid()}"
    try:
        work(job, collection, own, at)
        return Done(job, own.rename(staging / name))
    except Shared:
        # Only a copy of the whole source can be read, so a piece cannot go on by itself.
        shutil.rmtree(own, ignore_errors=True)
        if job.part is not None:
            return Done(job, None, is_torn=True)
        work(job := _prepare(replace(job, end=None), collection, "warc.gz-one-member"), collection, own, at)
        return Done(job, own.rename(staging / name))
    except Torn:
        shutil.rmtree(own, ignore_errors=True)
        return Done(job, None, is_torn=True)
    except OSError:
        shutil.rmtree(own, ignore_errors=True)
        raise


class _Slot:
    """One worker process and its current job."""

    def __init__(self, number: int, folders: tuple[Path, Path], state: SynchronizedArray[int], piece: int) -> None:
        self._number, self._folders, self._state, self._piece = number, folders, state, piece
        self.job: Job | None = None
        self.start()

    def start(self) -> None:
        """Start the process, also in place of one that died."""
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=_serve,
            args=(theirs, self._folders, self._state, self._number, os.getpid(), self._piece),
            daemon=True,
        )
        with without_interrupts():
            self.process.start()
        theirs.close()  # else the parent would not see the end of the pipe when the child dies

    def give(self, job: Job) -> None:
        """Send a job to the process and reset its progress."""
        self._state[_WIDTH * self._number : _WIDTH * (self._number + 1)] = At(-1, 0, 0)
        self.job = job
        self.pipe.send(job)

    def at(self) -> At:
        """Return the progress that the process wrote last."""
        return At(*self._state[_WIDTH * self._number : _WIDTH * (self._number + 1)])


def run_jobs(
    jobs: Sequence[Job], collection: Path, workers: int, tick: Callable[[list[tuple[Job, At]]], None],
    piece: int = PIECE_BYTES,
) -> Iterator[Done]:  # fmt: skip
    """Work on all jobs and yield the result of each source as it ends.

    `on_progress` is called about twice a second with the progress of all sources that are being read. `piece_bytes` is
    the approximate number of bytes that one worker reads of a large source. The staging folders are removed at the
    end, so import each of them before asking for the next result.
    """
    staging = sweep(collection)
    board = _Board(jobs, staging)
    # Shared memory, not the pipe: it still holds the last progress after a worker has died.
    state: SynchronizedArray[int] = get_context("spawn").Array("q", _WIDTH * workers)
    # No more processes than there can be pieces.
    wanted = min(workers, sum(1 + job.bytes // piece for job in jobs))
    slots = [_Slot(number, (collection, staging), state, piece) for number in range(wanted)]
    try:
        while board.waiting or any(slot.job for slot in slots):
            for slot in slots:
                if slot.job is None and board.waiting:
                    slot.give(board.waiting.popleft())
            busy = [slot for slot in slots if slot.job]
            ready = wait([slot.pipe for slot in busy], timeout=0.5)
            for slot in busy:
                if slot.pipe in ready and (done := _collect(slot)) and (ended := board.take(done, slot.at())):
                    yield ended
            tick([*board.parked(), *((slot.job, slot.at()) for slot in slots if slot.job)])
    finally:
        for slot in slots:
            slot.process.terminate()
        for slot in slots:
            slot.process.join()
        shutil.rmtree(staging, ignore_errors=True)


class _Board:
    """Queue of jobs, and the results so far of sources in pieces."""

    def __init__(self, jobs: Sequence[Job], staging: Path) -> None:
        self.waiting = deque(jobs)
        self._staging = staging
        self._gathered: dict[int, Gathered] = {}
        self._ended: dict[int, list[tuple[Job, At]]] = {}

    def parked(self) -> list[tuple[Job, At]]:
        """Return the finished pieces of sources that are not finished."""
        return [one for ended in self._ended.values() for one in ended]

    def take(self, done: Done, at: At) -> Done | None:
        """Take the result of a job; return the result of its source if that has ended, else None."""
        source = done.job.source_id
        if done.pieces:
            self._gathered[source] = Gathered(done.job, done.pieces)
            self._ended[source] = []
            # In front of other sources, so that few sources are in pieces at a time.
            self.waiting.extendleft(reversed(done.pieces))
            return None
        if done.job.part is None:
            return done
        if (gathered := self._gathered.get(source)) is None:  # another piece failed, and the source was given up
            if done.staging:
                shutil.rmtree(done.staging)
            return None
        if done.staging is None:
            return self._given_up(done, gathered)
        self._ended[source].append((done.job, at._replace(offset=done.job.end or 0)))
        if not gathered.take(done.job, done.staging):
            return None
        if not gathered.joined(into := self._staging / str(source)):
            return self._given_up(replace(done, is_torn=True), gathered)
        self._forget(source)
        return Done(gathered.job, into)

    def _given_up(self, done: Done, gathered: Gathered) -> Done | None:
        """Drop all pieces of a source. Return its failed result, or None if it is queued again to be read in one go."""
        self._forget(done.job.source_id)
        gathered.forget()
        self.waiting = deque(job for job in self.waiting if job.source_id != done.job.source_id)
        if not done.is_torn:
            return replace(done, job=gathered.job)
        # An `end` marks the job as divided already, so that it is read in one go.
        self.waiting.appendleft(replace(gathered.job, end=gathered.pieces[-1].end))
        return None

    def _forget(self, source: int) -> None:
        del self._gathered[source], self._ended[source]


def sweep(collection: Path) -> Path:
    """Remove what killed runs left behind and return a new staging folder for this run alone.

    Workers outlive a killed parent by half a second. What they then finish must not mix with this run's files.
    """
    shutil.rmtree(collection / "staging", ignore_errors=True)
    (collection / "staging").mkdir(parents=True, exist_ok=True)
    for scratch in (collection / "warc").glob("tmp*"):
        shutil.rmtree(scratch, ignore_errors=True)
    for part in (collection / "warc").glob(".*.part"):
        part.unlink(missing_ok=True)
    return Path(tempfile.mkdtemp(dir=collection / "staging"))


def _collect(slot: _Slot) -> Done | None:
    """Return the result of a slot's job; None after a crash that is retried."""
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
        # A crash without a record, or at one already read without its text, would only repeat itself.
        if offset < 0 or offset in job.textless or len(job.textless) >= MAX_CRASHES:
            return Done(job, None, f"its worker process ended with status {code} at offset {offset}")
        slot.give(replace(job, textless=job.textless | {offset}))
        return None
