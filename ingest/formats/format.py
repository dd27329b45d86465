"""The `Format` type: one container of records or of rows as a frozen value, and the values that its functions take.

A format says how its files are recognised, how their records are copied, and what its damage is called. It knows no
collection and no catalog: `webemu.ingest.formats.detection` finds the format of a file, and `webemu.ingest.repack`
makes the copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from webemu.ingest.records import Skip
from webemu.ingest.rows import RowRange
from webemu.ingest.unpack import Packing


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that is open for reading at offsets."""

    path: Path
    fd: int
    """File descriptor, for `os.pread`."""
    size: int
    """Size in bytes."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Beginning of a file's content, by which formats recognise the file."""

    file: OpenFile
    start: bytes
    """First bytes of the unpacked content, at most 64 KiB."""
    offset: int = 0
    """Offset of the gzip member that `start` was read from; 0 for other packings."""

    @property
    def text(self) -> bytes:
        """`start` without leading line ends, which records and rows may have before them."""
        return self.start.lstrip(b"\r\n")


@dataclass(frozen=True, slots=True)
class CopyTarget:
    """Place that the records of a file are copied to."""

    file: BinaryIO
    """The copy. Each record is appended as one gzip member."""
    scratch_folder: Path
    """Folder for temporary files. It is removed after the copy."""
    detect: Callable[[Path], Format | None]
    """Returns the format of a file that the source holds; None if it is unknown."""


def never(file: OpenFile) -> bool:
    """Return False: the name of a file alone is no reason to read it as this format."""
    return False


def always(file: OpenFile) -> bool:
    """Return True: the name of a file and its packing suffice to read it as this format."""
    return True


class RangeCopier(NamedTuple):
    """The functions by which several workers copy a file, each a range of its rows."""

    divide: Callable[[Path, int], list[RowRange]]
    """Returns ranges of about so many bytes; none if the file is to be copied in one go."""
    copy_range: Callable[[Path, RowRange, CopyTarget], list[Skip]]
    """Appends a range to a copy. Those of all ranges, one after another, are what `copy_records` writes."""


@dataclass(frozen=True, slots=True)
class Format:
    """One container format as a frozen value."""

    name: str
    """Name in the catalog (`sources.kind`), such as `warc.gz`."""
    title: str
    """Name that people know it by, for errors and for the table in `docs/dumps.md`. Packed variants share it."""
    suffixes: tuple[str, ...]
    """Ends of file names that state it, in lower case. Sources with such names are taken from globs."""
    packing: Packing
    """Packing of the whole file."""
    begins: Callable[[Probe], bool]
    """True if content that begins so is of this format. It is called only for files of this packing, and at most one
    format may accept a file.
    """
    copy_records: Callable[[Path, CopyTarget], list[Skip]]
    """Appends all records of a file to a copy. Returns skips for what the copy lacks."""
    range_copier: RangeCopier | None = None
    """None if the file is always copied in one go."""
    is_seekable: bool = False
    """True if records can be read at their offsets in the file itself: it is divided into pieces and not copied."""
    is_dump: bool = False
    """True for rows of text. Such files are not taken from folders, since others of their names lie beside archives."""
    is_likely: Callable[[OpenFile], bool] = never
    """True if a file with one of the suffixes and of this packing is of this format, though no format accepts its
    beginning.
    """
    drop_reasons: tuple[str, ...] = ()
    """Drop reasons of damage to the container. Those of single records are listed in `webemu.ingest.records`."""
