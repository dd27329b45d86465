"""A pool of worker processes that survives crashes: a record that kills its worker is ingested again without its text.

Each process takes one job at a time over a pipe and keeps its progress in shared memory, so that the parent knows
which record was being read when a process died. Workers exit when their parent does. A job is a source. The worker
that gets a large one first answers with the pieces to read it in (`webemu.ingest.pieces`), and each of them is a job
again.
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
from webemu.index.parent import exit_with_parent, ignore_sigint_in_children
from webemu.ingest.formats.detection import detect_format
from webemu.ingest.formats.format import CopyTarget, Format
from webemu.ingest.formats.members import sum_skips
from webemu.ingest.formats.warc import WARC_GZ_ONE_MEMBER
from webemu.ingest.pieces import PIECE_BYTES, PieceCollector, split_source
from webemu.ingest.readers import RecordCrossesPiece
from webemu.ingest.records import Skip
from webemu.ingest.repack import join_copies, make_seekable
from webemu.ingest.rows import RowRange
from webemu.ingest.worker import UNREADABLE, Job, RecordsShareMember, WorkerProgress, ingest_job

MAX_CRASHES = 20
"""Crashes after which a source is given up."""
_STATE_WIDTH = len(WorkerProgress._fields)


@dataclass(frozen=True, slots=True)
class JobResult:
    """Result of a job: a staging folder, an error, jobs to do instead, or a record that crosses the piece."""

    job: Job
    staging_folder: Path | None
    """Staging folder with the rows; None if there is none."""
    error: str = ""
    """Reason why the source was given up; empty otherwise."""
    crosses_piece: bool = False
    """True if a record reaches over the end of the piece: the source must be read in one go."""
    pieces: tuple[Job, ...] = ()
    """Jobs to do instead of this one, which was too large: ranges of rows to copy, or pieces to read."""
    is_copied: bool = False
    """True for a job that copied a range of rows."""


def _prepare_job(job: Job, collection: Path, staging: Path, container_format: Format | None) -> Job:
    """Make the per-record copy if the format needs one. A source of no known format becomes unreadable."""
    path = Path(job.path)
    copy = Path("warc") / f"{job.source_id}.warc.gz"
    (collection / "warc").mkdir(parents=True, exist_ok=True)
    if job.copied_ranges:
        join_copies([_range_copy(job, number, staging) for number in range(job.copied_ranges)], collection / copy)
        return replace(job, copy=str(copy))
    try:
        read_from, skips = make_seekable(path, container_format, collection / copy)
    except SourceError:
        return replace(job, container_format=UNREADABLE, skipped_ranges=(Skip("unreadable-source", 0, job.bytes),))
    return replace(
        job,
        container_format=container_format.name if container_format else UNREADABLE,
        copy=None if read_from == path else str(copy),
        skipped_ranges=tuple(skips),
    )


def _divide_copying(job: Job, container_format: Format | None, piece_bytes: int) -> list[Job]:
    """Return jobs that copy a large dump range by range; none if it is to be copied in one go."""
    if container_format is None or container_format.range_copier is None or job.bytes < 1.5 * piece_bytes:
        return []
    ranges = container_format.range_copier.divide(Path(job.path), piece_bytes)
    return [
        replace(
            job, container_format=container_format.name, piece_number=number, copied_rows=rows,
            copied_ranges=len(ranges), bytes=job.bytes // len(ranges),
        )
        for number, rows in enumerate(ranges)
    ]  # fmt: skip


def _copy_range(job: Job, rows: RowRange, staging: Path) -> JobResult:
    """Copy a range of rows to a file of its own. Raises OSError if the source changed since it was divided."""
    container_format = detect_format(Path(job.path))
    if container_format is None or container_format.range_copier is None:
        raise OSError(f"{job.path} was replaced while it was read")
    with _range_copy(job, job.piece_number or 0, staging).open("wb") as copy:
        target = CopyTarget(copy, staging, detect_format)
        skips = container_format.range_copier.copy_range(Path(job.path), rows, target)
    return JobResult(replace(job, skipped_ranges=tuple(skips)), None, is_copied=True)


def _range_copy(job: Job, number: int, staging: Path) -> Path:
    """Return the path of the copy of a range of rows. It is in the staging folder, which is removed after a run."""
    return staging / f"{job.source_id}.{number}.warc.gz"


def _serve_jobs(
    pipe: Connection,
    folders: tuple[Path, Path],
    state: SynchronizedArray[int],
    slot: int,
    parent: int,
    piece_bytes: int,
) -> None:
    """Work on the jobs that come through the pipe until the parent closes it. Entry point of a worker process."""
    exit_with_parent(parent)

    def on_progress(progress: WorkerProgress) -> None:
        state[_STATE_WIDTH * slot : _STATE_WIDTH * (slot + 1)] = progress

    while True:
        try:
            job: Job = pipe.recv()
        except EOFError:
            return
        try:
            result = _run_job(job, *folders, on_progress, piece_bytes)
        except OSError as error:
            result = JobResult(job, None, str(error))
        try:
            pipe.send(result)
        except BrokenPipeError:
            return


def _run_job(
    job: Job, collection: Path, staging: Path, on_progress: Callable[[WorkerProgress], None], piece_bytes: int
) -> JobResult:
    """Divide a large source into ranges to copy or pieces to read, copy a range, or ingest a source or piece into a
    staging folder.
    """
    if job.copied_rows is not None:
        return _copy_range(job, job.copied_rows, staging)
    if job.end is None:
        container_format = detect_format(Path(job.path))
        if not job.copied_ranges and (copies := _divide_copying(job, container_format, piece_bytes)):
            return JobResult(job, None, pieces=tuple(copies))
        job = _prepare_job(job, collection, staging, container_format)
        path = collection / job.copy if job.copy else Path(job.path)
        if job.is_readable and len(pieces := split_source(job, path, piece_bytes)) > 1:
            return JobResult(job, None, pieces=tuple(pieces))
    name = str(job.source_id) if job.piece_number is None else f"{job.source_id}.{job.piece_number}"
    # Fill a folder of this process's own, then rename it: a folder under the final name is always complete.
    own_staging = staging / f"{name}.{os.getpid()}"
    try:
        ingest_job(job, collection, own_staging, on_progress)
        return JobResult(job, own_staging.rename(staging / name))
    except RecordsShareMember:
        # Only a copy of the whole source can be read, so a piece cannot go on by itself.
        shutil.rmtree(own_staging, ignore_errors=True)
        if job.piece_number is not None:
            return JobResult(job, None, crosses_piece=True)
        ingest_job(
            job := _prepare_job(replace(job, end=None), collection, staging, WARC_GZ_ONE_MEMBER),
            collection,
            own_staging,
            on_progress,
        )
        return JobResult(job, own_staging.rename(staging / name))
    except RecordCrossesPiece:
        shutil.rmtree(own_staging, ignore_errors=True)
        return JobResult(job, None, crosses_piece=True)
    except OSError:
        shutil.rmtree(own_staging, ignore_errors=True)
        raise


class _WorkerSlot:
    """One worker process and its current job."""

    def __init__(
        self, number: int, folders: tuple[Path, Path], state: SynchronizedArray[int], piece_bytes: int
    ) -> None:
        self._number, self._folders, self._state, self._piece = number, folders, state, piece_bytes
        self.job: Job | None = None
        self.start()

    def start(self) -> None:
        """Start the process, also in place of one that died."""
        context = get_context("spawn")
        self.pipe, child_end = context.Pipe()
        self.process = context.Process(
            target=_serve_jobs,
            args=(child_end, self._folders, self._state, self._number, os.getpid(), self._piece),
            daemon=True,
        )
        with ignore_sigint_in_children():
            self.process.start()
        child_end.close()  # else the parent would not see the end of the pipe when the child dies

    def send_job(self, job: Job) -> None:
        """Send a job to the process and reset its progress."""
        self._state[_STATE_WIDTH * self._number : _STATE_WIDTH * (self._number + 1)] = WorkerProgress(-1, 0, 0)
        self.job = job
        self.pipe.send(job)

    def progress(self) -> WorkerProgress:
        """Return the progress that the process wrote last."""
        return WorkerProgress(*self._state[_STATE_WIDTH * self._number : _STATE_WIDTH * (self._number + 1)])


def run_jobs(
    jobs: Sequence[Job],
    collection: Path,
    workers: int,
    on_progress: Callable[[list[tuple[Job, WorkerProgress]]], None],
    piece_bytes: int = PIECE_BYTES,
) -> Iterator[JobResult]:
    """Work on all jobs and yield the result of each source as it ends.

    `on_progress` is called about twice a second with the progress of all sources that are being read. `piece_bytes` is
    the approximate number of bytes that one worker reads of a large source. The staging folders are removed at the
    end, so import each of them before asking for the next result.
    """
    staging = remove_stale_staging(collection)
    queue = _JobQueue(jobs, staging)
    # Shared memory, not the pipe: it still holds the last progress after a worker has died.
    state: SynchronizedArray[int] = get_context("spawn").Array("q", _STATE_WIDTH * workers)
    # No more processes than there can be pieces.
    process_count = min(workers, sum(1 + job.bytes // piece_bytes for job in jobs))
    slots = [_WorkerSlot(number, (collection, staging), state, piece_bytes) for number in range(process_count)]
    try:
        while queue.waiting_jobs or any(slot.job for slot in slots):
            for slot in slots:
                if slot.job is None and queue.waiting_jobs:
                    slot.send_job(queue.waiting_jobs.popleft())
            busy = [slot for slot in slots if slot.job]
            ready = wait([slot.pipe for slot in busy], timeout=0.5)
            for slot in busy:
                if (
                    slot.pipe in ready
                    and (result := _collect_result(slot))
                    and (source_result := queue.add_result(result, slot.progress()))
                ):
                    yield source_result
            on_progress([*queue.finished_pieces(), *((slot.job, slot.progress()) for slot in slots if slot.job)])
    finally:
        for slot in slots:
            slot.process.terminate()
        for slot in slots:
            slot.process.join()
        shutil.rmtree(staging, ignore_errors=True)


class _JobQueue:
    """Queue of jobs, and the results so far of sources in pieces."""

    def __init__(self, jobs: Sequence[Job], staging: Path) -> None:
        self.waiting_jobs = deque(jobs)
        self._staging = staging
        self._copying: dict[int, tuple[Job, list[Job]]] = {}
        """Sources whose rows are copied range by range: the job of each, and the jobs of the finished ranges."""
        self._collectors: dict[int, PieceCollector] = {}
        self._finished_pieces: dict[int, list[tuple[Job, WorkerProgress]]] = {}

    def finished_pieces(self) -> list[tuple[Job, WorkerProgress]]:
        """Return the finished pieces of sources that are not finished."""
        return [piece for finished in self._finished_pieces.values() for piece in finished]

    def add_result(self, result: JobResult, progress: WorkerProgress) -> JobResult | None:
        """Take the result of a job; return the result of its source if that has ended, else None."""
        source = result.job.source_id
        if result.is_copied or (result.pieces and result.pieces[0].copied_rows) or source in self._copying:
            return self._add_copied(result)
        if result.pieces:
            self._collectors[source] = PieceCollector(result.job, result.pieces)
            self._finished_pieces[source] = []
            # In front of other sources, so that few sources are in pieces at a time.
            self.waiting_jobs.extendleft(reversed(result.pieces))
            return None
        if result.job.piece_number is None:
            return result
        if (collector := self._collectors.get(source)) is None:  # another piece failed, and the source was given up
            if result.staging_folder:
                shutil.rmtree(result.staging_folder)
            return None
        if result.staging_folder is None:
            return self._give_up(result, collector)
        self._finished_pieces[source].append((result.job, progress._replace(offset=result.job.end or 0)))
        if not collector.add_piece(result.job, result.staging_folder):
            return None
        if not collector.join_pieces(joined_folder := self._staging / str(source)):
            return self._give_up(replace(result, crosses_piece=True), collector)
        self._forget_source(source)
        return JobResult(collector.job, joined_folder)

    def _add_copied(self, result: JobResult) -> JobResult | None:
        """Take a result of copying range by range; return it as that of its source if the source was given up."""
        source = result.job.source_id
        if result.pieces:
            self._copying[source] = result.job, []
            self.waiting_jobs.extendleft(reversed(result.pieces))
            return None
        if source not in self._copying:  # another range failed, and the source was given up
            return None
        job, finished = self._copying[source]
        if not result.is_copied:
            del self._copying[source]
            self.waiting_jobs = deque(waiting for waiting in self.waiting_jobs if waiting.source_id != source)
            return replace(result, job=job)
        finished.append(result.job)
        if len(finished) == result.job.copied_ranges:
            del self._copying[source]
            finished.sort(key=lambda copied: copied.piece_number or 0)
            skips = sum_skips(skip for copied in finished for skip in copied.skipped_ranges)
            formatted = replace(job, container_format=result.job.container_format, skipped_ranges=tuple(skips))
            self.waiting_jobs.appendleft(replace(formatted, copied_ranges=len(finished)))
        return None

    def _give_up(self, result: JobResult, collector: PieceCollector) -> JobResult | None:
        """Drop all pieces of a source. Return its failed result, or None if it is queued again to be read in one go."""
        self._forget_source(result.job.source_id)
        collector.remove_pieces()
        self.waiting_jobs = deque(job for job in self.waiting_jobs if job.source_id != result.job.source_id)
        if not result.crosses_piece:
            return replace(result, job=collector.job)
        # An `end` marks the job as divided already, so that it is read in one go.
        self.waiting_jobs.appendleft(replace(collector.job, end=collector.pieces[-1].end))
        return None

    def _forget_source(self, source: int) -> None:
        del self._collectors[source], self._finished_pieces[source]


def remove_stale_staging(collection: Path) -> Path:
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


def _collect_result(slot: _WorkerSlot) -> JobResult | None:
    """Return the result of a slot's job; None after a crash that is retried."""
    job = slot.job
    assert job is not None
    slot.job = None
    try:
        result: JobResult = slot.pipe.recv()
        return result
    except (EOFError, ConnectionResetError):
        slot.process.join()
        code, offset = slot.process.exitcode, slot.progress().offset
        slot.start()
        # A crash without a record, or at one already read without its text, would only repeat itself.
        if offset < 0 or offset in job.without_text_offsets or len(job.without_text_offsets) >= MAX_CRASHES:
            return JobResult(job, None, f"its worker process ended with status {code} at offset {offset}")
        slot.send_job(replace(job, without_text_offsets=job.without_text_offsets | {offset}))
        return None
