"""Questions to Common Crawl's columnar index: which records of which WARC files hold the pages that are wanted.

The index is a set of Parquet files (the table `cc-index-table`). DuckDB reads only the columns that a question needs.
Nothing is downloaded here: `webemu.ingest.pick` fetches the records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from webemu.emulator.errors import BadRequest, SourceError


@dataclass(frozen=True, slots=True)
class Selection:
    """Pages that are wanted. Empty fields and zeros bind nothing; all others must hold."""

    hosts: Sequence[str] = ()
    """Exact host names."""
    domains: Sequence[str] = ()
    """Registrable domains, such as `example.co.uk`, with all of their hosts."""
    languages: Sequence[str] = ()
    """ISO 639-3 codes; one of a page's languages must be among them."""
    mime_types: Sequence[str] = ()
    """Detected MIME types."""
    since: str = ""
    """Earliest fetch time, as an ISO date."""
    until: str = ""
    """First fetch time that is too late, as an ISO date."""
    url_pattern: str = ""
    """Regular expression (RE2) found anywhere in the URL."""
    urls: Sequence[str] = ()
    """Exact URLs."""
    per_host: int = 0
    """Most pages of one host: a sample that is the same each time."""
    max_pages: int = 0
    """Most pages in all, spread over the hosts."""
    max_bytes: int = 0
    """Most compressed bytes of records in all, spread over the hosts."""


@dataclass(frozen=True, slots=True)
class RecordRange:
    """Place of one WARC record in a file of the crawl."""

    url: str
    host: str
    filename: str
    """Path of the WARC file, relative to the crawl's base URL."""
    offset: int
    length: int


COLUMNS: Mapping[str, Sequence[str]] = {
    "hosts": ["url_host_name"],
    "domains": ["url_host_registered_domain"],
    "languages": ["content_languages"],
    "mime_types": ["content_mime_detected"],
    "since": ["fetch_time"],
    "until": ["fetch_time"],
    "url_pattern": ["url"],
    "urls": ["url"],
}
"""Columns of the index that the condition of each field of a selection reads."""
_CONDITIONS = {
    "hosts": "list_contains($hosts, url_host_name)",
    "domains": "list_contains($domains, url_host_registered_domain)",
    "languages": "list_has_any(string_split(content_languages, ','), $languages)",
    "mime_types": "list_contains($mime_types, content_mime_detected)",
    "since": "fetch_time >= CAST($since AS TIMESTAMP)",
    "until": "fetch_time < CAST($until AS TIMESTAMP)",
    "url_pattern": "regexp_matches(url, $url_pattern)",
    "urls": "list_contains($urls, url)",
}
"""Condition on the columns of the index for each field of a selection that filters pages."""

_QUERY = """
WITH matches AS (
    SELECT url, url_host_name AS host, warc_filename, warc_record_offset, warc_record_length
    FROM read_parquet($files, union_by_name := true)
    WHERE {conditions}
    QUALIFY row_number() OVER (
        PARTITION BY url ORDER BY fetch_time DESC, warc_filename, warc_record_offset
    ) = 1
), sampled AS (
    SELECT *, row_number() OVER (PARTITION BY host ORDER BY md5(url), url) AS host_rank FROM matches
), counted AS (
    SELECT *, row_number() OVER budget AS position, sum(warc_record_length) OVER budget AS total_bytes
    FROM sampled
    WHERE $per_host = 0 OR host_rank <= $per_host
    WINDOW budget AS (ORDER BY host_rank, md5(url), url ROWS UNBOUNDED PRECEDING)
)
SELECT url, host, warc_filename, warc_record_offset, warc_record_length FROM counted
WHERE ($max_pages = 0 OR position <= $max_pages) AND ($max_bytes = 0 OR total_bytes <= $max_bytes)
ORDER BY warc_filename, warc_record_offset
"""


def select_records(index_files: Sequence[str], selection: Selection) -> list[RecordRange]:
    """Return the records of the wanted pages, the newest successful capture of each URL, in the order of the files.

    `index_files` are paths or globs of Parquet files. Raises SourceError if they cannot be read or lack a column, and
    BadRequest if a date or the pattern cannot be understood.

        select_records(["cc-index/*.parquet"], Selection(domains=["example.org"], languages=["eng"]))
    """
    conditions, parameters = _build_conditions(selection)
    parameters |= {name: getattr(selection, name) for name in ("per_host", "max_pages", "max_bytes")}
    parameters["files"] = list(index_files)
    with duckdb.connect() as db, _told_errors():
        rows = db.execute(_QUERY.format(conditions=conditions), parameters).fetchall()
    return [RecordRange(*row) for row in rows]


def find_matching_rows(rows: pa.Table, selection: Selection) -> list[int]:
    """Return the places of the rows that meet all conditions of a selection, in ascending order; samples and budgets
    are not conditions.

    `rows` has the column `fetch_status` and those that `COLUMNS` names for the conditions. Raises what
    `select_records` raises.
    """
    conditions, parameters = _build_conditions(selection)
    numbered = rows.append_column("place", pa.array(range(rows.num_rows), pa.int64()))
    with duckdb.connect() as db, _told_errors():
        db.register("index_rows", numbered)
        matches = db.execute(f"SELECT place FROM index_rows WHERE {conditions} ORDER BY place", parameters).fetchall()
    return [place for (place,) in matches]


def _build_conditions(selection: Selection) -> tuple[str, dict[str, object]]:
    """Return the conditions of a selection in SQL, and their parameters."""
    conditions, parameters = ["fetch_status = 200"], dict[str, object]()
    for name, condition in _CONDITIONS.items():
        if value := getattr(selection, name):
            conditions.append(condition)
            parameters[name] = value if isinstance(value, str) else list(value)
    return " AND ".join(conditions), parameters


@contextmanager
def _told_errors() -> Iterator[None]:
    """Turn errors of DuckDB into those that a user can act on."""
    try:
        yield
    except (duckdb.ConversionException, duckdb.InvalidInputException) as error:
        raise BadRequest(f"the selection cannot be understood: {error}", action="see webemu pick --help") from error
    except duckdb.Error as error:
        raise SourceError(
            f"the index cannot be read: {error}", action="name Parquet files of Common Crawl's cc-index-table"
        ) from error
