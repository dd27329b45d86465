"""Log requests that this server failed, and slow ones. Every other request costs two comparisons."""

from __future__ import annotations

import logging
import re
import time
from collections import deque
from collections.abc import Sequence
from math import inf
from typing import TypedDict

from webemu.api.http.errors import INFRASTRUCTURE
from webemu.api.http.response import Header
from webemu.emulator.logs import LogRateLimiter, event_extra

log = logging.getLogger("webemu.requests")

MAX_PATH_CHARS = 200
"""Characters of a path that are logged. Query strings are never logged, since they may contain keys."""
MAX_RECENT = 20
"""Slow requests that are remembered for the dashboard."""
_DEFECT_NUMBER = re.compile(rb"failed on request (\d+-\d+)")
"""Matches the number of a defect in an error message; the client can quote it, and the traceback is logged under it."""


class SlowRequest(TypedDict):
    """A slow request, as the dashboard lists it."""

    time: float
    """Seconds since the epoch at its end."""
    route: str
    path: str
    ms: float


class SlowRequestLog:
    """Rate-limited log of failed and slow requests of one process. `slow_ms` is the threshold; 0 logs no slow ones."""

    def __init__(self, slow_ms: int) -> None:
        self.threshold_seconds = slow_ms / 1000 if slow_ms else inf
        """Threshold in seconds; infinite if slow requests are not logged."""
        self._failure_limiter = LogRateLimiter()
        self._slow_limiter = LogRateLimiter()
        self._recent: deque[SlowRequest] = deque(maxlen=MAX_RECENT)

    def log_request(
        self,
        route: str,
        method_and_path: tuple[str, str],
        status: int,
        seconds: float,
        headers: Sequence[Header],
        body: bytes,
    ) -> None:
        """Log a request if this server failed it or if it was slow.

        A status of 500 or more that the crawl or the weather of a session caused is no failure.
        """
        fields: dict[str, object] = {
            "route": route,
            "method": method_and_path[0],
            "path": method_and_path[1][:MAX_PATH_CHARS],
            "status": status,
        }
        fields["ms"] = milliseconds = round(1000 * seconds, 1)
        if status >= 500 and INFRASTRUCTURE in headers:
            if match := _DEFECT_NUMBER.search(body):
                fields["request"] = match[1].decode()
            self._write(self._failure_limiter, "request_failed", "%s %s failed with %d after %.1f ms", fields)
        elif seconds >= self.threshold_seconds:
            path = method_and_path[1][:MAX_PATH_CHARS]
            self._recent.append({"time": time.time(), "route": route, "path": path, "ms": milliseconds})
            self._write(self._slow_limiter, "request_slow", "%s %s was answered with %d after %.1f ms", fields)

    def recent(self) -> list[SlowRequest]:
        """Return the last slow requests, oldest first, for the dashboard."""
        return list(self._recent)

    @staticmethod
    def _write(limiter: LogRateLimiter, name: str, message: str, fields: dict[str, object]) -> None:
        """Write the line unless there were too many; a later line then says how many were suppressed."""
        if (suppressed := limiter.suppressed_count()) is None:
            return
        if suppressed:
            fields["left_out"] = suppressed
            message += f"; {suppressed} more of them were not logged"
        arguments = (fields["method"], fields["path"], fields["status"], fields["ms"])
        log.warning(message, *arguments, extra=event_extra(name, **fields))
