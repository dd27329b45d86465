"""Asks a CDX server (pywb's API, as index.commoncrawl.org runs it) for captures, and writes them as a columnar index.

The conditions of a pick are then the same as for Common Crawl's Parquet files. Requests are sent one at a time, paced,
and repeated when the server asks for it; a page of lines is asked for after the other, as the server counts them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

from webemu.emulator import urls
from webemu.emulator.errors import SourceError
from webemu.ingest.download import RetryableError, check_status, choose_patience, choose_wait, describe_failure

_BATCH_ROWS = 10_000
SCHEMA = pa.schema(
    [
        ("url", pa.string()),
        ("url_host_name", pa.string()),
        ("url_host_registered_domain", pa.string()),
        ("fetch_time", pa.timestamp("us")),
        ("fetch_status", pa.int16()),
        ("content_mime_detected", pa.string()),
        ("content_languages", pa.string()),
        ("warc_filename", pa.string()),
        ("warc_record_offset", pa.int64()),
        ("warc_record_length", pa.int64()),
    ]
)
"""Columns of Common Crawl's columnar index that a pick reads."""


class Scope(NamedTuple):
    """Captures that one query of a CDX server lists."""

    url: str
    """URL, host or domain."""
    match_type: str
    """`exact`, `host` or `domain`."""


class CdxReport(NamedTuple):
    """Counts of what a CDX server gave."""

    rows: int
    """Captures that were written."""
    dropped: int
    """Lines that name no record."""


def download_index(
    server: str,
    scopes: Sequence[Scope],
    target: Path,
    delay_seconds: float,
    pause: Callable[[float], None] = time.sleep,
) -> CdxReport:
    """Write all captures of the scopes to a Parquet file.

    Raises SourceError if the server refuses a query, or keeps failing.

        server = "https://index.commoncrawl.org/CC-MAIN-2026-12-index"
        download_index(server, [Scope("example.org", "domain")], Path("index.parquet"), 1.0)
    """
    count = dropped = 0
    rows: list[dict[str, object]] = []
    with (
        httpx.Client(follow_redirects=True, timeout=httpx.Timeout(30.0, read=120.0)) as http,
        pq.ParquetWriter(target, SCHEMA) as writer,
    ):
        for line in _iter_lines(http, server, scopes, delay_seconds, pause):
            row = _parse_line(line)
            if row is None:
                dropped += 1
                continue
            rows.append(row)
            count += 1
            if len(rows) == _BATCH_ROWS:
                writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
                rows.clear()
        writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
    return CdxReport(count, dropped)


def _iter_lines(
    http: httpx.Client, server: str, scopes: Sequence[Scope], delay_seconds: float, pause: Callable[[float], None]
) -> Iterator[str]:
    """Yield the lines of all pages of all scopes."""
    for scope in scopes:
        query = {"url": scope.url, "matchType": scope.match_type, "output": "json"}
        counts = _ask(http, server, {**query, "showNumPages": "true"}, pause)
        try:
            pages = int(json.loads(counts)["pages"]) if counts else 0
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(
                f"{server} does not say how many pages it has: {counts[:100]!r}",
                action="name a CDX server with pywb's API, such as https://index.commoncrawl.org/CC-MAIN-2026-12-index",
            ) from error
        for page in range(pages):
            pause(delay_seconds)
            yield from _ask(http, server, {**query, "page": str(page)}, pause).splitlines()


def _ask(http: httpx.Client, server: str, query: dict[str, str], pause: Callable[[float], None]) -> str:
    """Return the answer to a query; empty if the server has no capture."""
    failures = 0
    while True:
        try:
            response = http.get(server, params=query)
            if response.status_code == 404 and "No Captures found" in response.text:
                return ""
            check_status(str(response.url), response)
            return response.text
        except (RetryableError, httpx.TransportError) as error:
            failures += 1
            if failures >= choose_patience(error, is_first_contact="showNumPages" in query):
                raise describe_failure(server, error, failures) from error
            pause(choose_wait(failures, getattr(error, "after", None)))


def _parse_line(line: str) -> dict[str, object] | None:
    """Return the columns of a line; None if it names no record."""
    try:
        values = json.loads(line)
        host = urls.host_of(values["url"])
        status = values.get("status", "")
        return {
            "url": values["url"],
            "url_host_name": host,
            "url_host_registered_domain": urls.split_domain(host)[0],
            "fetch_time": datetime.strptime(values["timestamp"], "%Y%m%d%H%M%S"),
            "fetch_status": int(status) if status.isdecimal() else 0,
            "content_mime_detected": values.get("mime-detected") or values.get("mime") or "",
            "content_languages": values.get("languages") or "",
            "warc_filename": values["filename"],
            "warc_record_offset": int(values["offset"]),
            "warc_record_length": int(values["length"]),
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
