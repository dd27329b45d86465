"""Keeps track of partitions of the index that an answer lacks, so that no answer is thinner without saying so.

Whoever answers a request collects them; whoever finds a partition lost reports it. Code in between need not know. A
`ContextVar` carries the collector, so it also reaches tasks and threads that are started with a copy of the context.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from webemu.emulator.errors import Overloaded

_collector: ContextVar[set[int] | None] = ContextVar("webemu_missing_parts", default=None)
MAX_NAMED = 20
"""Partitions that a message names, at most."""


@contextmanager
def collect_missing_parts() -> Iterator[set[int]]:
    """Collect the numbers of partitions that are reported while the context is open, in the set that is yielded."""
    missing: set[int] = set()
    token = _collector.set(missing)
    try:
        yield missing
    finally:
        _collector.reset(token)


def report_missing_parts(parts: Collection[int]) -> None:
    """Report partitions that the answer in work lacks.

    Raises:
        Overloaded: nobody collects them, so that the answer could not say so.
    """
    if not parts:
        return
    missing = _collector.get()
    if missing is None:
        raise lost_parts_error(parts)
    missing.update(parts)


def lost_parts_error(parts: Collection[int]) -> Overloaded:
    """Return the error for an answer that is refused since it would lack partitions."""
    return Overloaded(f"parts {name_parts(parts)} of the index did not answer", action="retry after a second")


def name_parts(parts: Collection[int]) -> str:
    """Return the numbers of partitions as text: `3, 17`; many are cut and counted: `0, 1, 2 and 500 more`."""
    names = ", ".join(map(str, sorted(parts)[:MAX_NAMED]))
    return names if len(parts) <= MAX_NAMED else f"{names} and {len(parts) - MAX_NAMED} more"
