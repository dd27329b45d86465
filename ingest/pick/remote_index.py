"""Reads Parquet files of Common Crawl's columnar index over HTTP: of each file only the parts that a pick needs.

The footer of a file tells the least and the greatest value of each column in each row group. Of the row groups that may
hold a wanted page, the columns of the conditions are read; of those that do hold one, also the columns that name the
records. Common Crawl sorts its index by SURT key, so that a site is in one or two row groups of one file. The rows
that match are kept by file, so that the same pick asks no file twice.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, SourceError
from webemu.index.columnar_index import COLUMNS, Selection, find_matching_rows
from webemu.ingest.pick.cdx_client import SCHEMA
from webemu.ingest.pick.range_client import RangeClient
from webemu.ingest.sources import download_list, is_path_list, is_url, strip_bucket

_TAIL_BYTES = 64 << 10
"""Bytes of the end of a file that are requested first; Arrow reads as many."""
_MAX_FOOTER_BYTES = 256 << 20
"""Largest footer that is read."""
_PADDING_BYTES = 100
"""Bytes that Arrow reads behind a column that an old library wrote."""
_MAX_GAP, _MAX_JOINED = 64 << 10, 64 << 20
"""Unwanted bytes between two columns that one request fetches, and bytes of a joined request, at most."""
_LAST = "\U0010ffff"
_WWW = re.compile(r"^www\d*\.")
_CRAWL = re.compile(r"CC-MAIN-\d{4}-\d{2}")
_RECORD_COLUMNS = ("url", "url_host_name", "fetch_time", "warc_filename", "warc_record_offset", "warc_record_length")
"""Columns that name a record."""


class Bounds(NamedTuple):
    """The least and the greatest value of a column in a row group."""

    minimum: str | int | datetime
    maximum: str | int | datetime


class IndexReport(NamedTuple):
    """Counts what was read of an index, and names the files with the rows that match."""

    paths: list[Path]
    """Parquet files with the rows that match, one for each file of the index."""
    rows: int
    requests: int
    """Requests of this run."""
    bytes: int
    """Bytes received in this run."""


class LoadedRanges(io.RawIOBase):
    """A remote file of which some ranges are in memory, as a reader of Parquet takes it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._position = 0
        self._ranges: list[tuple[int, bytes]] = []

    def add(self, start: int, content: bytes) -> None:
        """Add the bytes of the file from `start` on."""
        self._ranges.append((start, content))

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set and return the position."""
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return bytes from the position on. Raises OSError if they are not in memory."""
        end = self._size if size < 0 else min(self._size, self._position + size)
        for start, content in self._ranges:
            if start <= self._position and end <= start + len(content):
                found_bytes = content[self._position - start : end - start]
                self._position = end
                return found_bytes
        raise OSError(f"bytes {self._position} to {end} were not requested")


@dataclass(slots=True)
class IndexFile:
    """A Parquet file of the index, of which the footer was read."""

    url: str
    size: int
    metadata: pq.FileMetaData
    row_groups: list[int]
    """Numbers of the row groups that may hold a wanted page."""

    def column_ranges(self, row_group: int, columns: Sequence[str]) -> list[tuple[int, int]]:
        """Return the byte ranges (start, end) of columns of a row group, neighbours joined."""
        group, ranges = self.metadata.row_group(row_group), []
        for number in range(group.num_columns):
            column = group.column(number)
            if column.path_in_schema in columns:
                start = column.data_page_offset
                if column.has_dictionary_page and 0 < column.dictionary_page_offset < start:
                    start = column.dictionary_page_offset
                ranges.append((start, min(self.size, start + column.total_compressed_size + _PADDING_BYTES)))
        return _join(sorted(ranges))


def is_remote_index(name: str) -> bool:
    """True if the argument of a pick is an index in Parquet files behind URLs: the URL of a file or of a list of
    paths, or the name of a crawl.
    """
    if _CRAWL.fullmatch(name):
        return True
    return is_url(name) and (is_path_list(name) or urlsplit(name).path.endswith(".parquet"))


def list_index_files(names: Sequence[str], base_url: str) -> list[str]:
    """Return the URLs of the Parquet files that arguments name. Raises SourceError if a list cannot be read.

    list_index_files(["CC-MAIN-2026-12"], "https://data.commoncrawl.org/")
    """
    base_url = base_url.rstrip("/") + "/"
    addresses = list[str]()
    for name in names:
        url = f"{base_url}crawl-data/{name}/cc-index-table.paths.gz" if _CRAWL.fullmatch(name) else name
        addresses += _read_list(url, base_url) if is_path_list(url) else [url]
    return addresses


def _read_list(url: str, base_url: str) -> list[str]:
    """Return the URLs of the Parquet files of a list. Of a whole crawl, those of successful captures."""
    lines = [line for line in map(strip_bucket, download_list(url)) if line.endswith(".parquet")]
    if any("/subset=" in line for line in lines):
        lines = [line for line in lines if "/subset=warc/" in line]
    if not lines:
        raise SourceError(f"{url} lists no Parquet file", action="name a cc-index-table.paths.gz of a crawl")
    return [base_url + line for line in lines]


def fetch_matches(
    addresses: Sequence[str], selection: Selection, folder: Path, client: RangeClient, max_bytes: int, quiet: bool
) -> IndexReport:
    """Write the rows of remote Parquet files that match a selection to files in `folder`; those that are there count.

    Raises SourceError if a file cannot be read, and BadRequest if over `max_bytes` would have to be read (0: no limit).
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = {url: folder / f"{_hash_of(url, selection)}.parquet" for url in addresses}
    files = _read_footers([url for url in addresses if not paths[url].exists()], selection, client, quiet)
    columns = [*_list_condition_columns(selection), *_RECORD_COLUMNS]
    planned_bytes = _count_bytes(files, columns)
    if files:
        row_groups = sum(len(file.row_groups) for file in files)
        print(
            f"index     {row_groups:,} parts of {len(files):,} files may match, {planned_bytes / 1e6:,.1f} MB at most"
        )
    if max_bytes and planned_bytes > max_bytes:
        raise BadRequest(
            f"{planned_bytes / 1e6:,.0f} MB of the index would be read, more than {max_bytes / 1e6:,.0f}",
            action="narrow it down, for example by --host or --domain, or raise --index-megabytes",
        )
    with tqdm(total=planned_bytes, unit="B", unit_scale=True, desc="index", disable=quiet, file=sys.stderr) as bar:
        # Those without a part to read come first, so that an interrupted pick need not read their footers again.
        for file in sorted(files, key=lambda file: bool(file.row_groups)):
            _write_rows(paths[file.url], _iter_matches(file, selection, client))
            bar.update(_count_bytes([file], columns))
    rows = sum(pq.read_metadata(path).num_rows for path in paths.values())
    return IndexReport(list(paths.values()), rows, client.requests, client.bytes)


def _read_footers(addresses: Sequence[str], selection: Selection, client: RangeClient, quiet: bool) -> list[IndexFile]:
    """Return the files with the row groups of each that may hold a wanted page."""
    show = tqdm(addresses, unit="file", desc="footers", disable=quiet, file=sys.stderr)
    return [_read_footer(url, selection, client) for url in show]


def _read_footer(url: str, selection: Selection, client: RangeClient) -> IndexFile:
    """Return a file with its row groups that may hold a wanted page. Raises SourceError if it is no such file."""
    tail, size = client.read_tail(url, _TAIL_BYTES)
    footer_bytes = int.from_bytes(tail[-8:-4], "little") + 8
    if tail[-4:] != b"PAR1" or not 8 < footer_bytes <= min(size, _MAX_FOOTER_BYTES):
        raise SourceError(f"{url} is no Parquet file", action="name the files of a crawl's cc-index-table")
    if footer_bytes > len(tail):
        tail = client.read_url(url, size - footer_bytes, size)
    try:
        loaded_file = LoadedRanges(size)
        loaded_file.add(size - len(tail), tail)
        metadata = pq.read_metadata(loaded_file)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{url}: the footer cannot be read: {error}", action="download it again") from error
    columns = {metadata.schema.column(number).path for number in range(metadata.num_columns)}
    if missing_columns := sorted({*_list_condition_columns(selection), *_RECORD_COLUMNS} - columns):
        raise SourceError(
            f"{url} has no column {', '.join(missing_columns)}", action="name the files of a crawl's cc-index-table"
        )
    row_groups = [n for n in range(metadata.num_row_groups) if may_match(_read_bounds(metadata, n), selection)]
    return IndexFile(url, size, metadata, row_groups)


def _read_bounds(metadata: pq.FileMetaData, row_group: int) -> dict[str, Bounds]:
    """Return the bounds of the columns of a row group that have some."""
    group, bounds = metadata.row_group(row_group), {}
    for number in range(group.num_columns):
        column = group.column(number)
        if column.is_stats_set and column.statistics.has_min_max:
            minimum, maximum = column.statistics.min, column.statistics.max
            if isinstance(minimum, str | int | datetime) and isinstance(maximum, str | int | datetime):
                bounds[column.path_in_schema] = Bounds(_without_zone(minimum), _without_zone(maximum))
    return bounds


def _without_zone(value: str | int | datetime) -> str | int | datetime:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def may_match(bounds: Mapping[str, Bounds], selection: Selection) -> bool:
    """True unless the bounds of a row group rule out that one of its rows matches a selection.

    A column without bounds rules out nothing.
    """
    wanted_values: list[tuple[str, Sequence[str | int]]] = [
        ("fetch_status", [200]),
        ("url_host_name", selection.hosts),
        ("url_host_registered_domain", selection.domains),
        ("content_mime_detected", selection.mime_types),
        ("url", selection.urls),
    ]
    for column, values in wanted_values:
        if values and column in bounds and not any(_is_between(value, bounds[column]) for value in values):
            return False
    for names in (selection.domains, selection.hosts, [urls.host_of(url) for url in selection.urls]):
        if names and not any(_may_have_host(bounds, name) for name in names):
            return False
    return "fetch_time" not in bounds or _may_be_fetched(bounds["fetch_time"], selection)


def _is_between(value: str | int, bounds: Bounds) -> bool:
    return bounds.minimum <= value <= bounds.maximum  # type: ignore[operator]


def _may_have_host(bounds: Mapping[str, Bounds], name: str) -> bool:
    """True unless the bounds rule out that a row has a URL of a host, or of one of its subdomains."""
    labels = name.split(".")
    # Which part of the name is its registrable domain depends on the list of suffixes that the index was made with.
    domains = [".".join(labels[start:]) for start in range(len(labels))]
    registered = bounds.get("url_host_registered_domain")
    if registered and not any(_is_between(domain, registered) for domain in domains):
        return False
    if "url_surtkey" not in bounds or not any(character.isalpha() for character in labels[-1]):
        return True  # SURT keys of addresses are not reversed
    prefix, (minimum, maximum) = ",".join(reversed(_WWW.sub("", name).split("."))), bounds["url_surtkey"]
    return str(minimum) <= prefix + _LAST and str(maximum) >= prefix


def _may_be_fetched(bounds: Bounds, selection: Selection) -> bool:
    """True unless the bounds of the fetch time rule the selection's time out."""
    try:
        since, until = (datetime.fromisoformat(text) if text else None for text in (selection.since, selection.until))
    except ValueError:  # DuckDB reads more forms of dates, or refuses this one
        return True
    if isinstance(bounds.minimum, datetime) and isinstance(bounds.maximum, datetime):
        return not (since and bounds.maximum < since) and not (until and bounds.minimum >= until)
    return True


def _iter_matches(file: IndexFile, selection: Selection, client: RangeClient) -> Iterator[pa.Table]:
    """Yield the rows of a file that match, by row group."""
    condition_columns = _list_condition_columns(selection)
    for row_group in file.row_groups:
        conditions = _read_columns(file, row_group, condition_columns, client)
        if not (places := find_matching_rows(conditions, selection)):
            continue
        other_columns = [name for name in _RECORD_COLUMNS if name not in condition_columns]
        record_fields = _read_columns(file, row_group, other_columns, client)
        matching_columns = {
            name: table[name].take(pa.array(places))
            for table in (conditions, record_fields)
            for name in table.column_names
        }
        yield pa.table(
            {field.name: matching_columns.get(field.name, pa.nulls(len(places), field.type)) for field in SCHEMA},
            schema=SCHEMA,
        )


def _read_columns(file: IndexFile, row_group: int, columns: Sequence[str], client: RangeClient) -> pa.Table:
    """Return columns of a row group in the types of `SCHEMA`. Raises SourceError if they cannot be read."""
    loaded_file = LoadedRanges(file.size)
    for start, end in file.column_ranges(row_group, columns):
        loaded_file.add(start, client.read_url(file.url, start, end))
    try:
        with pq.ParquetFile(loaded_file, metadata=file.metadata, pre_buffer=False) as reader:
            table = reader.read_row_group(row_group, columns=list(columns), use_threads=False)
        return table.cast(pa.schema([SCHEMA.field(name) for name in table.column_names]), safe=False)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(
            f"{file.url}: row group {row_group} cannot be read: {error}", action="run the same command again"
        ) from error


def _write_rows(path: Path, tables: Iterator[pa.Table]) -> None:
    """Write tables to a Parquet file, which is there only once it is complete."""
    unfinished = path.with_suffix(".unfinished")
    with pq.ParquetWriter(unfinished, SCHEMA) as writer:
        for table in tables:
            writer.write_table(table)
    unfinished.replace(path)


def _list_condition_columns(selection: Selection) -> list[str]:
    """Return the columns that the conditions of a selection read."""
    columns = [column for name, names in COLUMNS.items() if getattr(selection, name) for column in names]
    return list(dict.fromkeys(["fetch_status", *columns]))


def _count_bytes(files: Sequence[IndexFile], columns: Sequence[str]) -> int:
    """Return the bytes of columns of the row groups that may match."""
    ranges = (part for file in files for group in file.row_groups for part in file.column_ranges(group, columns))
    return sum(end - start for start, end in ranges)


def _join(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in their order, with neighbours as one."""
    joined = list[tuple[int, int]]()
    for start, end in ranges:
        if joined and start - joined[-1][1] <= _MAX_GAP and end - joined[-1][0] <= _MAX_JOINED:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _hash_of(url: str, selection: Selection) -> str:
    """Return a name for the rows of a file that match the conditions of a selection."""
    conditions = {name: value for name, value in asdict(selection).items() if name in COLUMNS}
    return sha256(json.dumps([url, conditions], default=list).encode()).hexdigest()[:24]
