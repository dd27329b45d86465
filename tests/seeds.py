"""Random and similar cases: a few in every run of the tests, all of them with the slow tests."""

from collections.abc import Iterable

import pytest


def few_of(count: int, fast: int) -> list[object]:
    """Return the seeds from 0 to `count` - 1 as parameters; those from `fast` on are marked as slow."""
    return every_nth(range(count), count, fast)


def every_nth(values: Iterable[object], step: int, fast: int = 1) -> list[object]:
    """Return values as parameters, those but the first `fast` of each `step` marked as slow."""
    return [
        value if number % step < fast else pytest.param(value, marks=pytest.mark.slow)
        for number, value in enumerate(values)
    ]
