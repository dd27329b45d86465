"""Tells from Linux whether a process works, waits for a disk, sleeps or is stopped.

A process that does not answer may be busy, and must then live, or be stopped or deadlocked, and can then only be
replaced. On other systems nothing is known, and no process counts as asleep.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

BUSY_TICKS = 2
"""Clock ticks of processor time between two looks, of 10 ms each, from which on a process counts as busy. Threads that
wake up once a second use less.
"""
_ASLEEP, _STOPPED = frozenset("SIT"), frozenset("T")
"""States of proc_pid_stat(5): waits for an event, is an idle kernel thread, or is stopped by a signal. The state D, a
wait for a disk, is not among them.
"""


class Activity(NamedTuple):
    """Activity of a process, added up over its threads."""

    states: frozenset[str]
    """States of the threads, letters of proc_pid_stat(5); empty if they are unknown."""
    ticks: int
    """Processor time that the threads used up to now, in clock ticks."""

    @property
    def is_stopped(self) -> bool:
        """True if all threads are stopped by a signal, such as SIGSTOP."""
        return bool(self.states) and self.states <= _STOPPED

    def is_asleep_since(self, before: Activity) -> bool:
        """True if no thread runs or waits for a disk, and hardly any processor time was used since `before`."""
        return bool(self.states) and self.states <= _ASLEEP and abs(self.ticks - before.ticks) < BUSY_TICKS


UNKNOWN = Activity(frozenset(), 0)
"""Activity of a process that is gone, or on a system without /proc."""


def read_activity(pid: int, without: Collection[int] = ()) -> Activity:
    """Return the activity of a process, without some of its threads, which are named by their native ids."""
    states, ticks = set(), 0
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if int(thread.name) in without:
                continue
            with suppress(OSError):  # a thread that has ended meanwhile
                fields = (thread / "stat").read_text().rpartition(")")[2].split()
                states.add(fields[0])
                ticks += int(fields[11]) + int(fields[12])
    return Activity(frozenset(states), ticks)
