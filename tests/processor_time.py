"""Upper bounds of processor time that hold on slow and busy machines too: what a test does is compared with a fixed
piece of work that is timed in the same process.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

FASTEST = 0.1
"""Seconds that the fixed piece of work takes at least, on any machine; it is not timed for a test that stays below."""


@contextmanager
def limited(units: float, name: str = "it") -> Iterator[None]:
    """Fail if the block takes more processor time than `units` times a fixed piece of work, which takes 0.2 s to 1 s.
    The error speaks of the block as `name`.
    """
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < units * FASTEST or spent < units * unit_seconds(), f"{name} took {spent:.1f} s of processor time"


def unit_seconds() -> float:
    """Return the processor time of the fixed piece of work: a set of a million short texts."""
    started = time.process_time()
    count = len({str(number) for number in range(1_000_000)})
    assert count == 1_000_000
    return time.process_time() - started
