"""Worker processes leave when their parent is gone, however it ended; multiprocessing cares only for good ends."""

from __future__ import annotations

import os
import threading
import time

PERIOD = 0.5
"""Seconds between two looks."""


def leave_with(parent: int) -> None:
    """End this process within `PERIOD` of the end of the process that started it, which names itself: asked here, the
    system would name another if that one were gone already.
    """
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PERIOD)
    os._exit(1)
