"""Load shedding: refuse requests that waited too long for the event loop, so that those behind them are served in
time.

Quick requests are answered on the event loop, one after another. Under overload the wait would grow with every
request; a request that waited beyond the limit gets 503, which costs a tenth of an answer, and so the wait stays near
the limit whatever the load. The HTTP protocol stamps a request when its head is complete. The first request of a
connection may have waited in the kernel before, while the loop was busy, and the kernel knows for how long.

The loop accepts and reads connections once in each iteration, and answers there what needs no task. If all requests
that are ready ran in one iteration, everybody else would wait for all of them. So they take turns (`LoopTurns`).

A wait counts only as far as this process worked during it. On a machine that is busy with other programs, or after the
process was stopped, even a short queue takes long, and refusing its requests would help nobody.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from bisect import bisect_right
from collections import deque
from time import perf_counter, process_time
from weakref import WeakKeyDictionary

from webemu.api.http.response import Scope
from webemu.api.runtime.quota import REFUSAL
from webemu.emulator.errors import EmulatorError, Overloaded

ARRIVAL_KEY = "webemu.arrived"
"""Key of the arrival time in an ASGI scope."""
MAX_BUSY_WAIT_SECONDS = 2.0
"""Seconds of this process's own work that a request may wait for. A trainer's thousand simultaneous requests take
less.
"""
MAX_WAIT_SECONDS = 15.0
"""Seconds after which a request is refused however little was worked: most clients have given up by then."""
TURN_SECONDS = 0.01
"""Seconds of one iteration of the event loop in which requests begin without waiting for a turn."""
MAX_MARKS = 120
"""Moments whose processor time is remembered, one for each second."""
_INTERNET_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_LAST_RECEIVED_OFFSET = 52
"""Offset of `tcpi_last_data_recv` (milliseconds) in `struct tcp_info` of linux/tcp.h."""


def arrival_time(scope: Scope) -> float:
    """Return when the request arrived, by `perf_counter`; the current time if it came through another HTTP protocol."""
    return scope.get(ARRIVAL_KEY) or perf_counter()


def socket_queue_seconds(transport: asyncio.BaseTransport, ready_at: float) -> float:
    """Return the seconds since the last bytes of a connection arrived, at most those since `ready_at`.

    Linux alone measures this; elsewhere, and on Unix sockets, the result is 0.
    """
    connection = transport.get_extra_info("socket")
    if connection is None or not hasattr(socket, "TCP_INFO") or connection.family not in _INTERNET_FAMILIES:
        return 0.0
    try:
        tcp_info: bytes = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_RECEIVED_OFFSET + 4)
    except OSError:  # the connection is closed
        return 0.0
    return min(int.from_bytes(tcp_info[_LAST_RECEIVED_OFFSET:], sys.byteorder) / 1000, perf_counter() - ready_at)


class WorkClock:
    """Remembers the processor time of this process over the last two minutes, to tell how much it worked since a
    moment.
    """

    def __init__(self) -> None:
        self._moments: deque[float] = deque(maxlen=MAX_MARKS)
        self._used: deque[float] = deque(maxlen=MAX_MARKS)

    def mark(self) -> None:
        """Remember the processor time used up to now. Call it about once a second."""
        self._moments.append(perf_counter())
        self._used.append(process_time())

    def worked_since(self, moment: float) -> float:
        """Return the seconds of processor time used since a moment of `perf_counter`; all of the time if there is no
        mark.

        Work is assumed to be even between two marks, and before the first one.
        """
        now = perf_counter()
        if not self._moments:
            return now - moment
        index = max(0, bisect_right(self._moments, moment) - 1)
        share = (process_time() - self._used[index]) / max(
            now - self._moments[index], 1e-9
        )  # not 0: two moments may be equal
        return share * (now - moment)


WORK_CLOCK = WorkClock()
"""The clock of this process; the application marks it."""


def is_overdue(arrived_at: float) -> bool:
    """True if a request that arrived at that time has waited too long. Check this before anything of it is awaited."""
    seconds = perf_counter() - arrived_at
    # Most requests are not late by the wall clock; the processor time is looked up for the others only.
    return seconds > MAX_BUSY_WAIT_SECONDS and (
        seconds > MAX_WAIT_SECONDS or WORK_CLOCK.worked_since(arrived_at) > MAX_BUSY_WAIT_SECONDS
    )


def find_refusal(scope: Scope, arrived_at: float) -> EmulatorError | None:
    """Return the error of a request that waited too long, or that is beyond the server's quota; None for any other."""
    refusal: EmulatorError | None = scope.get(REFUSAL)
    return refusal or (overload_error() if is_overdue(arrived_at) else None)


class LoopTurns:
    """The turns of one event loop: once the requests of an iteration have taken `TURN_SECONDS`, those that follow begin
    one by one, each in an iteration of its own, in the order in which they came.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._end = 0.0
        self._is_counting = False

    async def wait(self) -> None:
        """Return when the caller may begin: at once unless this iteration has taken too long or others wait."""
        loop = asyncio.get_running_loop()
        if not self._is_counting:
            self._count_iteration(loop)
        if self._waiting or perf_counter() > self._end:
            turn = loop.create_future()
            self._waiting.append(turn)
            await turn

    def _count_iteration(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_counting, self._end = True, perf_counter() + TURN_SECONDS
        loop.call_soon(self._begin_iteration, loop)

    def _begin_iteration(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the next of those that wait begin."""
        self._is_counting = False
        while self._waiting:
            if not (turn := self._waiting.popleft()).done():  # it is done if its request was cancelled
                turn.set_result(None)
                self._count_iteration(loop)
                break


_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopTurns] = WeakKeyDictionary()
"""The turns of each event loop of this process."""


async def wait_for_turn() -> EmulatorError | None:
    """Wait until a request may begin whose body was read: bodies that arrive together would otherwise all begin
    together. Return the error with which it is refused if its turn came too late, else None.
    """
    loop, began_at = asyncio.get_running_loop(), perf_counter()
    if (turns := _TURNS.get(loop)) is None:
        turns = _TURNS[loop] = LoopTurns()
    await turns.wait()
    return overload_error() if is_overdue(began_at) else None


def overload_error() -> Overloaded:
    """Return the error for a request that waited too long."""
    return Overloaded(
        f"the server is overloaded: this request waited for more than {MAX_BUSY_WAIT_SECONDS:g} s of other work",
        action="retry after a second",
    )
