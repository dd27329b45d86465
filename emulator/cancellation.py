"""Work in a thread that ends once nobody waits for it any more.

Threads cannot be interrupted, so long work looks from time to time whether its client is still there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from webemu.emulator.errors import EmulatorError

Item = TypeVar("Item")
Output = TypeVar("Output")
_current = threading.local()


class WorkCancelled(EmulatorError):
    """Nobody waits for the result of this work any more."""

    status = 408
    reason = "client-gone"


class Cancellation:
    """Switch that ends the work of one request, in whatever thread it runs."""

    def __init__(self) -> None:
        self.is_cancelled = False
        """True once nobody waits for the result."""

    def run(self, function: Callable[[], Output]) -> Output:
        """Call a function in this thread so that `until_cancelled` in it obeys this switch."""
        outer, _current.cancellation = getattr(_current, "cancellation", None), self
        try:
            return function()
        finally:
            _current.cancellation = outer


def until_cancelled(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items. Raises WorkCancelled before the next one once nobody waits for the work of this thread."""
    for item in items:
        raise_if_cancelled()
        yield item


def raise_if_cancelled() -> None:
    """Raise WorkCancelled if nobody waits for the work of this thread. Long work calls it before each of its steps."""
    cancellation: Cancellation | None = getattr(_current, "cancellation", None)
    if cancellation is not None and cancellation.is_cancelled:
        raise WorkCancelled("the client has left")
