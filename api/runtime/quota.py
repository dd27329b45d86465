"""The quota of a server: how many requests a minute and how many megabytes a day it answers, over all its workers.

Minutes and days are counted from the start of the machine, so that a clock that is set gives nobody a new quota.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from webemu.api.http.response import Message, Scope, Send
from webemu.emulator.errors import EmulatorError, ServiceRefusal

REFUSAL = "webemu.refusal"
"""Key of an ASGI scope: the error with which a request is answered because the quota is spent."""
MINUTE, DAY = 60, 86_400
"""Seconds of the two periods."""
MEGABYTE = 1_000_000
_COUNTS = struct.Struct("<qqqq")
"""Shared counts: the minute and its requests, the day and its bytes."""


class Quota:
    """Counts the requests and the bytes of all workers of a server, in a file that they share."""

    def __init__(self, requests_per_minute: int, megabytes_per_day: int, folder: Path | None) -> None:
        """Take the limits, 0 for none, and the folder of the workers; None if this process is the only one."""
        self._max_requests, self._max_bytes = requests_per_minute, megabytes_per_day * MEGABYTE
        self.is_limited = bool(requests_per_minute or megabytes_per_day)
        """True if there is a limit."""
        self._file = os.open(folder / "quota", os.O_RDWR | os.O_CREAT, 0o600) if folder and self.is_limited else -1
        if self._file >= 0:
            os.ftruncate(self._file, _COUNTS.size)
        self._counts = mmap.mmap(self._file, _COUNTS.size)

    def apply(self, scope: Scope, send: Send) -> tuple[Scope, Send]:
        """Count a request. Return it with the error that it is answered with if the quota is spent, and a `send` that
        counts the bytes of its answer.
        """

        async def send_and_count(message: Message) -> None:
            body = message.get("body")
            if isinstance(body, bytes) and body:
                self._add(0, len(body))
            await send(message)

        error = self._find_refusal(*self._add(1, 0))
        return ({**scope, REFUSAL: error} if error else scope), send_and_count

    def _find_refusal(self, requests: int, sent_bytes: int) -> EmulatorError | None:
        """Return the error of a request that is beyond the limits; None if it is within them."""
        if self._max_requests and requests > self._max_requests:
            message = f"more than {self._max_requests:,} requests in a minute"
            return ServiceRefusal(message, reason="rate-limited", status=429, action="retry in the next minute")
        if self._max_bytes and sent_bytes >= self._max_bytes:
            message = f"more than {self._max_bytes // MEGABYTE:,} MB in a day"
            return ServiceRefusal(message, reason="out-of-budget", status=429, action="retry on the next day")
        return None

    def _add(self, requests: int, sent_bytes: int) -> tuple[int, int]:
        """Add to the counts, and return those of the current minute and day."""
        with self._locked():
            minute, minute_requests, day, day_bytes = _COUNTS.unpack_from(self._counts)
            now = int(time.monotonic())
            minute_requests = requests + (minute_requests if minute == now // MINUTE else 0)
            day_bytes = sent_bytes + (day_bytes if day == now // DAY else 0)
            _COUNTS.pack_into(self._counts, 0, now // MINUTE, minute_requests, now // DAY, day_bytes)
        return minute_requests, day_bytes

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other workers out. Within a process only the event loop counts."""
        if self._file < 0:
            yield
            return
        import fcntl  # Windows has none, and one worker, which needs no lock

        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
