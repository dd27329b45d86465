"""An exclusive file lock between processes. The operating system releases it when its process ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from webemu.emulator.errors import EmulatorError


@contextmanager
def exclusive_lock(file: Path, busy_error: EmulatorError) -> Iterator[None]:
    """Hold the exclusive lock of a file, which is created. Raises `busy_error` if another process holds it."""
    import fcntl  # Windows has none, and reads collections without it

    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise busy_error from None
        yield
