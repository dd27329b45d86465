"""Lifetime of worker processes: they exit when their parent is gone, and only the parent sees Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

CHECK_SECONDS = 0.5
"""Seconds between two checks that the parent is alive."""


@contextmanager
def ignore_sigint_in_children() -> Iterator[None]:
    """Block SIGINT inside, so that processes started here never see Ctrl-C: their parent has to end them."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def exit_with_parent(parent: int) -> None:
    """Exit this process within `CHECK_SECONDS` after the process `parent` ends.

    The parent passes its own id: asking the system here would name another process if the parent were gone already.
    """
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """Exit at once when the parent process is another one than given."""
    while os.getppid() == parent:
        time.sleep(CHECK_SECONDS)
    os._exit(1)  # at once: sys.exit would only end this thread
