"""Bounds the searches of a request on an event loop, where others wait meanwhile: long ones raise BlockingIOError."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from webemu.emulator.types import Query

MAX_INLINE_RESULTS = 50
"""Results that the searches of a request may rank on an event loop."""
_MIN_RESULTS = 10
"""Results that a search counts for at least, since fewer cost as much."""
_NUMBERS_PER_RESULT = 200
"""Numbers of a range that cost about as much as a result."""
_NUMBER_RANGE = re.compile(r"(\d{1,9})\.\.\D?(\d{1,9})")

_is_inline = ContextVar("is_inline", default=False)


@contextmanager
def on_event_loop() -> Iterator[None]:
    """Mark what is called within as work on an event loop."""
    token = _is_inline.set(True)
    try:
        yield
    finally:
        _is_inline.reset(token)


def are_long(queries: Iterable[Query]) -> bool:
    """True if searches take too long for an event loop."""
    return sum(map(_count_results, queries)) > MAX_INLINE_RESULTS


def require_short(queries: Iterable[Query]) -> None:
    """Raise BlockingIOError on an event loop if searches take too long for it; call it before the first of them."""
    if _is_inline.get() and are_long(queries):
        raise BlockingIOError


def _count_results(query: Query) -> int:
    """Return the number of results that take as long as a search."""
    numbers = sum(abs(int(last) - int(first)) for first, last in _NUMBER_RANGE.findall(query.text))
    return max(_MIN_RESULTS, query.depth) + numbers // _NUMBERS_PER_RESULT
