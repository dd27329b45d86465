"""Requests that waited too long for their turn in the event loop are refused, so that those behind them are not.

What is quick is answered in the event loop, one after another. Where more is asked than can be answered, the wait grows
with every request; one that waited longer than the bound gets 503 and costs a tenth of an answer, and the wait stays
near the bound, whatever comes. The doors stamp a request when its head is in; the first one of a connection may have
waited before, in the kernel, while the loop was busy with a turn, and the kernel knows how long.

A wait counts only as far as this process worked in it: on a machine that is busy with other programs, or after the
process was stopped, a short queue takes long too, and refusing it would help nobody.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from bisect import bisect_right
from collections import deque
from time import perf_counter, process_time

from webemu.api.http.response import Scope
from webemu.emulator.errors import Overloaded

ARRIVED = "webemu.arrived"
"""Key of the stamp in a scope."""
PATIENCE = 2.0
"""Seconds of this process's work that a request may wait for. A trainer's thousand requests at once take less."""
LONGEST = 15.0
"""Seconds after which a request is refused however little was worked: most clients have left by then."""
MARKS = 120
"""Moments of which the processor time is remembered, one for each second."""
_INTERNET = (socket.AF_INET, socket.AF_INET6)
_LAST_RECEIVED = 52
"""Place of `tcpi_last_data_recv` (milliseconds) in `struct tcp_info` of linux/tcp.h."""


def arrived(scope: Scope) -> float:
    """When the request was in, by `perf_counter`; now, if no door has seen it."""
    return scope.get(ARRIVED) or perf_counter()


def waited(transport: asyncio.BaseTransport, began: float) -> float:
    """Seconds since the last bytes of a connection came in, as Linux tells (0 elsewhere), at most since `began`."""
    connection = transport.get_extra_info("socket")
    if connection is None or not hasattr(socket, "TCP_INFO") or connection.family not in _INTERNET:
        return 0.0
    try:
        told: bytes = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_RECEIVED + 4)
    except OSError:  # it is over
        return 0.0
    return min(int.from_bytes(told[_LAST_RECEIVED:], sys.byteorder) / 1000, perf_counter() - began)


class WorkClock:
    """Remembers the processor time of this process at moments of the last minutes, to tell how much it worked since."""

    def __init__(self) -> None:
        self._moments: deque[float] = deque(maxlen=MARKS)
        self._used: deque[float] = deque(maxlen=MARKS)

    def mark(self) -> None:
        """Remember the processor time that is used up to now. To be called about once a second."""
        self._moments.append(perf_counter())
        self._used.append(process_time())

    def worked_since(self, moment: float) -> float:
        """Return the seconds of processor time since a moment of `perf_counter`; all of the time if there is no mark.

        Between two marks, and before the first one, the work is taken to be even.
        """
        now = perf_counter()
        if not self._moments:
            return now - moment
        place = max(0, bisect_right(self._moments, moment) - 1)
        share = (process_time() - self._used[place]) / max(now - self._moments[place], 1e-9)
        return share * (now - moment)


CLOCK = WorkClock()
"""The clock of this process; the application marks it."""


def is_late(since: float) -> bool:
    """True if a request that came then has waited too long. To be asked before anything else of it is awaited."""
    seconds = perf_counter() - since
    return seconds > PATIENCE and (seconds > LONGEST or CLOCK.worked_since(since) > PATIENCE)


def too_late() -> Overloaded:
    return Overloaded(
        f"more is asked than can be answered: this request waited for over {PATIENCE:g} s of other work",
        action="retry after a second",
    )
