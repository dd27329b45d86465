"""A file whose records can be read at their offsets: the source itself, or a copy with a gzip member per record.

How the records of a format are copied, the format says (`webemu.ingest.formats`). WARC records keep every byte of head
and block. The same source gives the same bytes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from webemu.emulator.errors import SourceError
from webemu.ingest.formats import TITLES
from webemu.ingest.formats.detection import detect_format
from webemu.ingest.formats.format import CopyTarget, Format
from webemu.ingest.records import Skip


class SeekableFile(NamedTuple):
    """A file whose records can be read at their offsets."""

    path: Path
    """The source itself, or its copy."""
    skips: list[Skip]
    """Ranges of the source that the copy lacks. Their offsets and bytes count unpacked ones after unpacking."""


def make_seekable(path: Path, container_format: Format | None, copy_to: Path) -> SeekableFile:
    """Return the file itself if its format allows reading at offsets, or a copy made at `copy_to`.

    Raises SourceError if the format is None, or if the file holds no archive.

        make_seekable(path, detect_format(path), Path("copy.warc.gz")).path
    """
    if container_format is None:
        raise SourceError(
            f"{path} is not a file of a known format ({', '.join(TITLES)})", action="check the file, or leave it out"
        )
    if container_format.is_seekable:
        return SeekableFile(path, [])
    with _new_copy(copy_to) as copy, tempfile.TemporaryDirectory(dir=copy_to.parent) as scratch:
        skips = container_format.copy_records(path, CopyTarget(copy, Path(scratch), detect_format))
    return SeekableFile(copy_to, skips)


def join_copies(parts: Sequence[Path], copy_to: Path) -> None:
    """Make the copy at `copy_to` of the copies of its ranges, which are removed."""
    with _new_copy(copy_to) as copy:
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, copy, 1 << 20)
            part.unlink()


@contextmanager
def _new_copy(copy_to: Path) -> Iterator[BinaryIO]:
    """Open a file that comes to `copy_to` once it is whole and on disk."""
    partial_copy = copy_to.with_name(f".{copy_to.name}.{os.getpid()}.part")
    try:
        with partial_copy.open("wb") as copy:
            yield copy
            copy.flush()
            os.fsync(copy.fileno())
        partial_copy.replace(copy_to)
    finally:
        partial_copy.unlink(missing_ok=True)
