"""Requests that waited too long for their turn in the event loop are refused, so that those behind them are not.

What is quick is answered in the event loop, one after another. Where more is asked than can be answered, the wait grows
with every request; one that waited longer than the bound gets 503 and costs a tenth of an answer, and the wait stays
near the bound, whatever comes. The doors stamp a request when its head is in; the first one of a connection may have
waited before, since a busy event loop accepts connections one by one, and the kernel knows how long.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from time import perf_counter

from api.answer import Scope
from emulator.errors import Overloaded

ARRIVED = "webemu.arrived"
"""Key of the stamp in a scope."""
PATIENCE = 2.0
"""Seconds. A trainer's thousand requests at once are answered well within it."""
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


def is_late(since: float) -> bool:
    """Whether a request that came then has waited too long. To be asked before anything else of it is awaited."""
    return perf_counter() - since > PATIENCE


def too_late() -> Overloaded:
    return Overloaded(
        f"more is asked than can be answered: this request waited over {PATIENCE:g} s", action="retry after a second"
    )
