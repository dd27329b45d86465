"""Random cases: a few in every run of the tests, all of them with the slow tests."""

import pytest


def few_of(count: int, fast: int) -> list[object]:
    """Return the seeds from 0 to `count` - 1 as parameters; those from `fast` on are marked as slow."""
    return [seed if seed < fast else pytest.param(seed, marks=pytest.mark.slow) for seed in range(count)]
