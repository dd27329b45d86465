"""Requests that are worth a line in the log: those that we failed, and slow ones. All others cost two comparisons."""

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
"""Characters of a path that are logged; what stands in the query may be a key, and is not."""
_NUMBER = re.compile(rb"failed on request (\d+-\d+)")
"""By which the asker can name a defect, and under which its traceback is logged."""


class Watch:
    """One for a serving process. `slow_ms`: from when a request is slow; 0 is never."""

    def __init__(self, slow_ms: int) -> None:
        self.slow = slow_ms / 1000 if slow_ms else inf
        """Seconds."""
        self._failures = Seldom()
        self._slow = Seldom()

    def note(
        self, route: str, asked: tuple[str, str], status: int, seconds: float, headers: Sequence[Header], body: bytes
    ) -> None:
        """A request with a status of 500 and more, or slow. `asked`: method and path. What the crawl or a session's
        weather answers with such a status is no failure."""
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
        if (left_out := seldom.left_out()) is None:
            return
        if left_out:
            fields["left_out"] = left_out
            message += f"; {left_out} more of these were not logged"
        said = (fields["method"], fields["path"], fields["status"], fields["ms"])
        log.warning(message, *said, extra=event(name, **fields))
