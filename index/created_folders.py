"""Folders that a server creates at its first write. A collection that was deleted meanwhile is not created again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path


def folder_maker(folder: Path) -> Callable[[], None]:
    """Return a function that creates the folder, with its parents only if they do not exist now either.

    The function raises FileNotFoundError if the parents existed and are gone.
    """
    return partial(folder.mkdir, parents=not folder.parent.exists(), exist_ok=True)
