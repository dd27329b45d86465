"""Trace storage: `<collection>/traces/*.parquet`, written by a background thread of each serving process.

Requests never wait for it. Rows that come while too many are waiting are dropped and counted, in `/v1/stats` and in
the metadata of the next file (`lost`). A file appears only when it is complete.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path

from webemu.emulator.logs import event_extra
from webemu.emulator.trace import Trace
from webemu.index.created_folders import folder_maker

log = logging.getLogger("webemu.traces")

MAX_WAITING_ROWS = 50_000
"""Rows that may wait to be written."""
BATCH_ROWS = 10_000
"""Rows of one file at most."""
WRITE_SECONDS = 1.0
"""Seconds between two writes."""


class TraceWriter:
    """The port `webemu.emulator.trace.Traces`; its thread starts with the first row."""

    def __init__(self, folder: Path, max_waiting: int = MAX_WAITING_ROWS) -> None:
        self._folder = folder
        self._make_folder = folder_maker(folder)
        self._max_waiting = max_waiting
        self._rows: list[Trace] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._accepted = self._lost = self._reported_lost = self._file_count = 0

    def put(self, rows: tuple[Trace, ...]) -> None:
        """Queue rows for writing; drop and count them if too many are waiting or the writer is closed."""
        with self._lock:
            if len(self._rows) + len(rows) > self._max_waiting or self._stop.is_set():
                self._lost += len(rows)
                return
            self._rows += rows
            self._accepted += len(rows)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run_thread, name="webemu-traces", daemon=True)
                self._thread.start()

    def figures(self) -> dict[str, int]:
        """Return how many rows were accepted (`taken`) and dropped (`lost`)."""
        with self._lock:
            return {"taken": self._accepted, "lost": self._lost}

    def close(self) -> None:
        """Write the rows that wait, then stop the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run_thread(self) -> None:
        while True:
            is_last = self._stop.wait(WRITE_SECONDS)
            while self._write_batch():
                pass
            if is_last:
                return

    def _write_batch(self) -> bool:
        """Write one file; return False if there is nothing to write."""
        with self._lock:
            rows, self._rows = self._rows[:BATCH_ROWS], self._rows[BATCH_ROWS:]
            lost = self._lost - self._reported_lost
        if not rows:
            return False
        try:
            self._write_file(rows, lost)
            self._reported_lost += lost
            if lost:
                self._log_lost(lost, f"more than {self._max_waiting} were waiting to be written")
        except OSError as error:  # a full disk must not stop serving: the rows are given up
            self._log_lost(len(rows), str(error))
            with self._lock:
                self._lost += len(rows)
                self._accepted -= len(rows)
        return True

    @staticmethod
    def _log_lost(rows: int, why: str) -> None:
        log.warning("%d trace rows are lost: %s", rows, why, extra=event_extra("traces_lost", rows=rows, why=why))

    def _write_file(self, rows: list[Trace], lost: int) -> None:
        from webemu.index.trace_files import write_trace_file  # pyarrow takes 40 MB of memory: only once it is needed

        self._make_folder()
        self._file_count += 1
        name = f"{time.time_ns()}-{os.getpid()}-{self._file_count}.parquet"
        temporary = self._folder / f".{name}"  # hidden until complete: readers skip names that begin with a dot
        write_trace_file(temporary, rows, lost)
        temporary.rename(self._folder / name)
