"""Folders that a server makes when it first writes; a collection that was deleted under it is not made again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path


def maker(folder: Path) -> Callable[[], None]:
    """Return a function that makes the folder, and those above it only if they were not there now either.

    It raises FileNotFoundError if they were there and are gone.
    """
    return partial(folder.mkdir, parents=not folder.parent.exists(), exist_ok=True)
