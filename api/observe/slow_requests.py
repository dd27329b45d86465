"""Log requests that this server failed, and slow ones. Any other request costs two comparisons."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from math import inf

from webemu.api.http.errors import INFRASTRUCTURE
from webemu.api.http.response import Header
from webemu.emulator.logs import Seldom, event

log = logging.getLogger("webemu.requests")

LONGEST = 200
"""Characters of a path that are logged. Query strings are never logged, since they may contain keys."""
_NUMBER = re.compile(rb"failed on request (\d+-\d+)")
"""Matches the number of a defect in an error message; the client can quote it, and the traceback is logged under it."""


class Watch:
    """Rate-limited log of failed and slow requests of one process. `slow_ms` is the threshold; 0 logs no slow ones."""

    def __init__(self, slow_ms: int) -> None:
        self.slow = slow_ms / 1000 if slow_ms else inf
        """Threshold in seconds; infinite if slow requests are not logged."""
        self._failures = Seldom()
        self._slow = Seldom()

    def note(
        self, route: str, asked: tuple[str, str], status: int, seconds: float, headers: Sequence[Header], body: bytes
    ) -> None:
        """Log a request if this server failed it or if it was slow.

        A status of 500 or more that the crawl or the weather of a session caused is no failure.
        """
        fields: dict[str, object] = {"route": route, "method": asked[0], "path": asked[1][:LONGEST], "status": status}
        fields["ms"] = round(1000 * seconds, 1)
        if status >= 500 and INFRASTRUCTURE in headers:
            if found := _NUMBER.search(body):
                fields["request"] = found[1].decode()
            self._write(self._failures, "request_failed", "%s %s failed with %d after %.1f ms", fields)
        elif seconds >= self.slow:
            self._write(self._slow, "request_slow", "%s %s was answered with %d after %.1f ms", fields)

    @staticmethod
    def _write(seldom: Seldom, name: str, message: str, fields: dict[str, object]) -> None:
        """Write the line unless there were too many; a later line then says how many were suppressed."""
        if (left_out := seldom.left_out()) is None:
            return
        if left_out:
            fields["left_out"] = left_out
            message += f"; {left_out} more of them were not logged"
        said = (fields["method"], fields["path"], fields["status"], fields["ms"])
        log.warning(message, *said, extra=event(name, **fields))
