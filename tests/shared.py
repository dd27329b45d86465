"""Things that several test files need, built once for all workers of a run; and how many cases a fuzz test tries."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

MARKER = ".built"
TRIES_EVERY_CASE = os.environ.get("WEBEMU_TEST_CASES") == "all"
"""True if fuzz and property tests try all their cases. `make test-all` and `make test-slow` set it."""
THIRD = 1 if TRIES_EVERY_CASE else 3
"""Step through a long list of requests of which a third is tried in every run."""


def build_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], None]) -> Path:
    """Return the folder `name` of this run, which the first worker that asks for it fills with `build(folder)`.

    Others wait for it. All workers share it, so tests must not write to it: what they change belongs in a copy.
    """
    base = factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = run / name
    with FileLock(run / f"{name}.lock"):
        if not (folder / MARKER).exists():
            shutil.rmtree(folder, ignore_errors=True)  # a build that failed
            folder.mkdir()
            build(folder)
            (folder / MARKER).touch()
    return folder


def cases(few: int, every: int) -> int:
    """Return how many cases a fuzz test tries: `few` at a desk, `every` one before a release (`make test-all`)."""
    return every if TRIES_EVERY_CASE else few
