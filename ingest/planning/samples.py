"""Samples of sources for `webemu plan`: files with the records from a few places of large sources.

WARC files with a gzip member for each record, lines of JSON and row groups of Parquet are cut at places that lie evenly
over all sources. Of other packed files only the beginning can be read without unpacking the whole, so as many bytes of
it are taken as places fall into the file. Of WACZ and HAR files no part is a file of its own; only small ones are read.
"""

from __future__ import annotations

import os
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from math import ceil
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from webemu.ingest.dump import COLUMNS
from webemu.ingest.formats.arc import ARC, ARC_GZ
from webemu.ingest.formats.detection import detect_format
from webemu.ingest.formats.dumps import JSONL, JSONL_GZ, JSONL_ZST, PARQUET
from webemu.ingest.formats.format import Format
from webemu.ingest.formats.recordings import SERVICE_LOG, SERVICE_LOG_GZ, SERVICE_LOG_ZST
from webemu.ingest.formats.warc import WARC, WARC_GZ, WARC_GZ_ONE_MEMBER, WARC_LZ4, WARC_ZST
from webemu.ingest.readers.gzip_members import find_next_member
from webemu.ingest.readers.plain_records import find_next_record
from webemu.ingest.records import MAX_BLOCK, Skip
from webemu.ingest.unpack import MAGIC_BYTES, PACKINGS

SAMPLES, SAMPLE_BYTES = 16, 2 << 20
"""Places of the sources that are read, and bytes at each."""
DUMP_SAMPLE_BYTES = SAMPLE_BYTES >> 3
"""Bytes at each place of a dump: they hold as many pages, since dumps have no markup."""
_BATCH_ROWS = 500
"""Rows of Parquet that are copied at a time."""


class Part(NamedTuple):
    """Records of a source in a file of their own, or the source itself."""

    path: Path
    source_bytes: float
    """Bytes that the records take in the source."""


class Sample(NamedTuple):
    """A file with records of a source."""

    path: Path
    factor: float
    """Bytes of the stretch of sources that it stands for, divided by those that it takes of them."""


class SampledSources(NamedTuple):
    """Samples of a list of sources, and the sources that have none."""

    samples: list[Sample]
    covered_bytes: float
    """Bytes of the sources that the samples stand for, each times its factor."""
    indivisible: list[Path]
    """Large sources of which no part can be read by itself; nothing was taken of them."""
    unrecognized: list[Path]
    """Sources of no known format at which a place fell: ingesting them finds nothing."""


Cutter = Callable[[Path, Sequence[int], int, Path], list[Part]]
"""Function that copies the records behind some offsets of a file, so many bytes at each, to files whose names end with
that of a path.
"""


def cut_samples(paths: Sequence[Path], folder: Path) -> SampledSources:
    """Copy samples of the sources to a folder; sources of few bytes in all are samples themselves."""
    sizes = [path.stat().st_size for path in paths]
    if _are_small(paths, sizes):
        return SampledSources([Sample(path, 1) for path in paths], sum(sizes), [], [])
    samples, covered_bytes = list[Sample](), 0.0
    indivisible, unrecognized = list[Path](), list[Path]()
    for number, (path, offsets) in enumerate(_place_offsets(paths, sizes)):
        container_format, size = detect_format(path), path.stat().st_size
        sample_bytes = _sample_bytes(container_format)
        cut = _CUTTERS.get(container_format.name) if container_format else None
        stretch_bytes = len(offsets) * sum(sizes) / SAMPLES
        if container_format is None:
            unrecognized.append(path)
            covered_bytes += stretch_bytes
            continue
        if size <= (sample_bytes if cut else SAMPLES * sample_bytes):
            parts = [Part(path, size)]
        elif cut:
            parts = cut(path, offsets, sample_bytes, folder / f"{number}-{path.name[-100:]}")
        else:
            indivisible.append(path)
            continue
        covered_bytes += stretch_bytes
        part_bytes = sum(part.source_bytes for part in parts)
        samples += [Sample(part.path, stretch_bytes / part_bytes) for part in parts if part_bytes]
    return SampledSources(samples, covered_bytes, indivisible, unrecognized)


def _sample_bytes(container_format: Format | None) -> int:
    return DUMP_SAMPLE_BYTES if container_format and container_format.is_dump else SAMPLE_BYTES


def _are_small(paths: Sequence[Path], sizes: Sequence[int]) -> bool:
    """True if the sources hold no more than twice what is read of large ones."""
    if sum(sizes) > 2 * SAMPLES * SAMPLE_BYTES:
        return False
    shares = (size / _sample_bytes(detect_format(path)) for path, size in zip(paths, sizes, strict=True))
    return sum(shares) <= 2 * SAMPLES


def _place_offsets(paths: Sequence[Path], sizes: Sequence[int]) -> Iterable[tuple[Path, list[int]]]:
    """Yield each source that a place falls into, and the offsets of its places: they lie evenly over all sources."""
    total_bytes, start = sum(sizes), 0
    positions = [total_bytes * (2 * number + 1) // (2 * SAMPLES) for number in range(SAMPLES)]
    for path, end in zip(paths, accumulate(sizes), strict=True):
        if offsets := [position - start for position in positions if start <= position < end]:
            yield path, offsets
        start = end


def _cut_places(
    path: Path, offsets: Sequence[int], sample_bytes: int, target: Path, *,
    find_record: Callable[[BinaryIO, int, int], int],
) -> list[Part]:  # fmt: skip
    """Copy whole records from the first one behind each offset; `find_record` returns the offset of the first record
    from an offset on, or the end of the file.
    """
    parts, size = list[Part](), path.stat().st_size
    with path.open("rb") as file:
        for number, offset in enumerate(offsets):
            start = find_record(file, max(0, min(offset, size - 2 * sample_bytes)), size)
            end = find_record(file, min(size, start + sample_bytes), size)
            if start == end:  # a WARC file with one gzip member for all records, or damage
                return _cut_beginning(path, offsets, sample_bytes, target)
            file.seek(start)
            part = target.with_name(f"{number}-{target.name}")
            parts.append(Part(part, part.write_bytes(file.read(min(end - start, sample_bytes + MAX_BLOCK)))))
    return parts


def _find_warc_record(file: BinaryIO, offset: int, size: int) -> int:
    if not offset or offset >= size:
        return min(offset, size)
    is_gzip = os.pread(file.fileno(), 2, 0) == b"\x1f\x8b"
    return (find_next_member if is_gzip else find_next_record)(file.fileno(), offset, size)


def _find_line(file: BinaryIO, offset: int, size: int) -> int:
    if not offset or offset >= size:
        return min(offset, size)
    file.seek(offset - 1)  # a line that begins at the offset is the first one
    return offset - 1 + len(file.readline(MAX_BLOCK))


def _cut_beginning(path: Path, offsets: Sequence[int], sample_bytes: int, target: Path) -> list[Part]:
    """Copy as many bytes of the beginning as the places have, and more if nothing can be unpacked of those. The last
    record is cut off, which costs that one.
    """
    packing = next(packing for packing in PACKINGS if packing.magic.match(_read_start(path, MAGIC_BYTES)))
    size, unpacked_bytes = len(offsets) * sample_bytes, 0
    while not unpacked_bytes and size < 2 * path.stat().st_size:
        copied_bytes = target.write_bytes(_read_start(path, size))
        # Of the last block, which is cut off, nothing is unpacked.
        skips = (chunk.offset for chunk in packing.iter_content(target) if isinstance(chunk, Skip))
        unpacked_bytes, size = next(skips, copied_bytes), 2 * size
    return [Part(target, unpacked_bytes)]


def _read_start(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)


def _cut_row_groups(path: Path, offsets: Sequence[int], sample_bytes: int, target: Path) -> list[Part]:
    """Copy rows from the beginning of the row groups into which the places fall, of the columns that are read; none of
    a file that is damaged.
    """
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
            sizes = [sum(group.column(n).total_compressed_size for n in range(group.num_columns)) for group in groups]
            ends, size = list(accumulate(sizes)), path.stat().st_size
            places = Counter(bisect(ends, offset * ends[-1] // size) for offset in offsets if ends)
            return [
                _copy_rows(file, number, sizes[number] / max(groups[number].num_rows, 1), count * sample_bytes, target)
                for number, count in places.items()
            ]
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        return []


def _copy_rows(file: pq.ParquetFile, group: int, row_bytes: float, sample_bytes: int, target: Path) -> Part:
    """Copy the first rows of a row group: so many that they have these bytes."""
    names = [name for name in file.schema_arrow.names if name in COLUMNS]
    wanted_rows, rows = ceil(sample_bytes / row_bytes), 0
    part = target.with_name(f"{group}-{target.name}")
    batches = file.iter_batches(min(_BATCH_ROWS, wanted_rows), row_groups=[group], columns=names)
    with pq.ParquetWriter(part, pa.schema([file.schema_arrow.field(name) for name in names])) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
            if rows >= wanted_rows:
                break
    return Part(part, rows * row_bytes)


_PACKED = (WARC_GZ_ONE_MEMBER, WARC_ZST, WARC_LZ4, ARC_GZ, JSONL_GZ, JSONL_ZST, SERVICE_LOG_GZ, SERVICE_LOG_ZST)
_CUTTERS: Mapping[str, Cutter] = {
    WARC.name: partial(_cut_places, find_record=_find_warc_record),
    WARC_GZ.name: partial(_cut_places, find_record=_find_warc_record),
    JSONL.name: partial(_cut_places, find_record=_find_line),
    PARQUET.name: _cut_row_groups,
    **{container_format.name: _cut_beginning for container_format in (ARC, SERVICE_LOG, *_PACKED)},
}
"""Function that cuts samples, by the name of the format."""
