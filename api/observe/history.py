"""History of one worker: how many requests it answered over the last hour, in slots of ten seconds, and of one minute
for each route.

Its memory is bounded by the number of slots. The slots are those of the wall clock, so that the histories of all
workers can be added up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from operator import add, sub

SLOT_SECONDS, MAX_SLOTS = 10, 360
"""Seconds of one slot, and slots that are kept."""
ROUTE_SLOT_SECONDS, MAX_ROUTE_SLOTS, MAX_ROUTES = 60, 60, 24
"""Seconds of one slot of a route, slots of each that are kept, and busiest routes that a worker publishes."""
Slot = list[int]
"""Start of a slot in seconds since the epoch, requests, failures of the server, then requests by the bounds of the
duration histogram.
"""


class History:
    """Differences of growing totals, slot by slot."""

    def __init__(self, slot_seconds: int = SLOT_SECONDS, max_slots: int = MAX_SLOTS) -> None:
        self._slot_seconds = slot_seconds
        self._slots: deque[Slot] = deque(maxlen=max_slots)
        self._last_totals: Sequence[int] = ()

    def record(self, now: float, totals: Sequence[int]) -> None:
        """Add what was counted since the last call to the slot of this moment; `totals` are requests, failures, and
        requests by duration, since the start.
        """
        start = int(now) // self._slot_seconds * self._slot_seconds
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


class RouteHistories:
    """History of each route; minutes in which a route was not asked have no slot."""

    def __init__(self) -> None:
        self._histories: dict[str, History] = {}
        self._request_counts: dict[str, int] = {}
        """Requests so far, by route."""

    def record(self, now: float, route: str, totals: Sequence[int]) -> None:
        """Add what a route counted since the last call; `totals` are those of `History.record`."""
        if self._request_counts.get(route) == totals[0]:
            return
        self._request_counts[route] = totals[0]
        self._histories.setdefault(route, History(ROUTE_SLOT_SECONDS, MAX_ROUTE_SLOTS)).record(now, totals)

    def slots(self, now: float) -> dict[str, list[Slot]]:
        """Return the slots of the last hour, oldest first, of the busiest routes in it."""
        first = now - ROUTE_SLOT_SECONDS * MAX_ROUTE_SLOTS
        recent = {
            route: [slot for slot in history.slots() if slot[0] > first] for route, history in self._histories.items()
        }
        busiest = sorted(recent, key=lambda route: -sum(slot[1] for slot in recent[route]))[:MAX_ROUTES]
        return {route: recent[route] for route in busiest if recent[route]}


def merge_histories(histories: Iterable[Iterable[Slot]]) -> list[Slot]:
    """Return the sum of several histories, oldest slot first; at most `MAX_SLOTS`."""
    merged: dict[int, Slot] = {}
    for slots in histories:
        for start, *counts in slots:
            merged[start] = [start, *map(add, merged[start][1:], counts)] if start in merged else [start, *counts]
    return [merged[start] for start in sorted(merged)][-MAX_SLOTS:]
