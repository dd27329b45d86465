"""Worker processes and their parent: they leave when it is gone, however it ended, and it alone is interrupted."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PERIOD = 0.5
"""Seconds between two looks."""


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Processes started inside never see a Ctrl-C: it is for who started them to end them."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def leave_with(parent: int) -> None:
    """End this process within `PERIOD` of the end of the process that started it, which names itself: asked here, the
    system would name another if that one were gone already.
    """
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PERIOD)
    os._exit(1)
