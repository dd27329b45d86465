"""A full disk, told from other errors: DuckDB, tantivy, Arrow, LMDB and Python each say it in their own class."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from webemu.emulator.errors import CatalogError

_CAUSES = {
    "no space left on device": "the disk is full",
    "max_temp_directory_size": "the disk is full",
    "disk quota exceeded": "the disk quota is used up",
    "file too large": "a file would be larger than the system allows (ulimit -f)",
}
"""Words of the operating system and of DuckDB, and their meaning."""


def shortage(message: str) -> str:
    """Return what an error message says of missing space, or an empty string."""
    text = message.lower()
    return next((meaning for words, meaning in _CAUSES.items() if words in text), "")


def no_space(folder: Path, meaning: str) -> CatalogError:
    """Return the error to raise when nothing more can be written below a folder."""
    return CatalogError(
        f"{folder} cannot be written: {meaning}; what was ingested before is intact",
        action="make room, or move the folder to a larger disk, then run the same command: it continues where it was",
    )


@contextmanager
def space_watched(folder: Path) -> Iterator[None]:
    """Raise a CatalogError in place of whatever is raised inside because nothing more can be written."""
    try:
        yield
    except CatalogError:
        raise
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None:
            if meaning := shortage(str(cause)):
                raise no_space(folder, meaning) from error
            cause = cause.__cause__ or cause.__context__
        raise
