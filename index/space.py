"""Recognises a full disk: DuckDB, Tantivy, Arrow, LMDB and Python each report it with an error of their own."""

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
"""Parts of error messages of the operating system and of DuckDB, and their meaning."""


def describe_shortage(message: str) -> str:
    """Return what an error message says about missing space, in plain words; empty if it says nothing about it."""
    text = message.lower()
    return next((meaning for words, meaning in _CAUSES.items() if words in text), "")


def no_space_error(folder: Path, meaning: str) -> CatalogError:
    """Return the error to raise when nothing more can be written below a folder."""
    return CatalogError(
        f"{folder} cannot be written: {meaning}; what was ingested before is intact",
        action="make room, or move the folder to a larger disk, then run the same command: it continues where it was",
    )


@contextmanager
def raising_space_errors(folder: Path) -> Iterator[None]:
    """Raise a CatalogError in place of any error inside that is caused by missing space."""
    try:
        yield
    except CatalogError:
        raise
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None:
            if meaning := describe_shortage(str(cause)):
                raise no_space_error(folder, meaning) from error
            cause = cause.__cause__ or cause.__context__
        raise
