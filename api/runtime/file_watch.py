"""Notices at once that somebody writes to a file of an open snapshot, which the kernel tells on Linux (inotify(7)).

The files of a snapshot are mapped into memory, so that the next answer would be read from what was written.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

try:
    from inotify_simple import INotify, flags
except ImportError:  # termios, which it needs, is missing on Windows
    INotify = None


class FileWatch:
    """Watches files of snapshots. Where the kernel has no inotify it notices nothing, and the poll of times remains."""

    def __init__(self) -> None:
        self._notifier = None
        self._snapshots_of_watch: dict[int, set[str]] = {}
        if INotify is not None:
            with suppress(OSError, AttributeError):  # no instance is left for this user, or the kernel has none
                self._notifier = INotify(nonblocking=True)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable with a change; -1 if nothing can be watched."""
        return -1 if self._notifier is None else self._notifier.fileno()

    def add(self, snapshot: str, paths: Iterable[Path]) -> None:
        """Watch the files of a snapshot. A file with several names is watched once."""
        if self._notifier is None:
            return
        for path in paths:
            with suppress(OSError):  # it is gone, or this user may watch no more files
                watch = self._notifier.add_watch(path, flags.MODIFY)
                self._snapshots_of_watch.setdefault(watch, set()).add(snapshot)

    def read_changed(self) -> set[str]:
        """Return the snapshots of which a file was written to since the last call."""
        changed = set[str]()
        for event in self._notifier.read(timeout=0) if self._notifier is not None else ():
            if event.mask & flags.IGNORED:  # the file is gone, and so is its watch
                self._snapshots_of_watch.pop(event.wd, None)
            elif event.mask & flags.Q_OVERFLOW:
                changed.update(*self._snapshots_of_watch.values())
            else:
                changed |= self._snapshots_of_watch.get(event.wd, set())
        return changed

    def close(self) -> None:
        """Stop watching."""
        if self._notifier is not None:
            self._notifier.close()
