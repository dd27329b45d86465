"""History of one worker: how many requests it answered, in slots of ten seconds over the last hour.

Its memory is bounded by the number of slots. The slots are those of the wall clock, so that the histories of all
workers can be added up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from operator import add, sub

SLOT_SECONDS, MAX_SLOTS = 10, 360
"""Seconds of one slot, and slots that are kept."""
Slot = list[int]
"""Start of a slot in seconds since the epoch, requests, failures of the server, then requests by the bounds of the
duration histogram.
"""


class History:
    """Differences of growing totals, slot by slot."""

    def __init__(self) -> None:
        self._slots: deque[Slot] = deque(maxlen=MAX_SLOTS)
        self._last_totals: Sequence[int] = ()

    def record(self, now: float, totals: Sequence[int]) -> None:
        """Add what was counted since the last call to the slot of this moment; `totals` are requests, failures, and
        requests by duration, since the start.
        """
        start = int(now) // SLOT_SECONDS * SLOT_SECONDS
        added = list(map(sub, totals, self._last_totals or [0] * len(totals)))
        self._last_totals = totals
        if not self._slots or self._slots[-1][0] < start:
            self._slots.append([start, *added])
        else:
            slot = self._slots[-1]
            slot[1:] = map(add, slot[1:], added)

    def slots(self) -> list[Slot]:
        """Return the slots, oldest first."""
        return [list(slot) for slot in self._slots]


def merge_histories(histories: Iterable[Iterable[Slot]]) -> list[Slot]:
    """Return the sum of several histories, oldest slot first; at most `MAX_SLOTS`."""
    merged: dict[int, Slot] = {}
    for slots in histories:
        for start, *counts in slots:
            merged[start] = [start, *map(add, merged[start][1:], counts)] if start in merged else [start, *counts]
    return [merged[start] for start in sorted(merged)][-MAX_SLOTS:]
