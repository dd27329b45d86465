"""Conversion of the rows of a text dump to WARC records of type `conversion`, like those of Common Crawl's WET files.

Known columns, flat or below `metadata`: those of Search-R1's wiki-18 (`id`, `contents`), of FineWeb and datatrove, of
Dolma, of C4, of BEIR. A row without a URL gets one at `https://FILE.invalid/ID`: that name is reserved, so no page of
the web can have it (RFC 6761, section 6.4). A row without a date is dated 1970-01-01, and so visible at any time.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

import orjson

from webemu.emulator import urls
from webemu.ingest.capture import TITLE_HEADER
from webemu.ingest.record_metadata import DECLARED_TYPE
from webemu.ingest.records import MAX_BLOCK, Skip
from webemu.ingest.rows import Row
from webemu.ingest.times import UNKNOWN, parse_warc_time

TEXT_COLUMNS = ("text", "contents", "content", "raw_content")
"""Columns that may hold the text, in order of precedence."""
URL_COLUMNS = ("url", "source_url", "WARC-Target-URI", "uri")
"""Columns that may hold the URL, in order of precedence."""
DATE_COLUMNS = ("date", "timestamp", "date_download", "WARC-Date", "warc_date", "created", "added")
"""Columns that may hold the date, in order of precedence."""
ID_COLUMNS = ("id", "docid", "_id", "doc_id")
"""Columns that may hold the identifier, in order of precedence."""
NESTED_COLUMNS = ("metadata", "meta")
"""Columns whose value is an object with further columns."""
PAGE_COLUMNS = ("published", "language", "headings", "description", "searchable", "link_density", "links")
"""Columns of what else is known of a page, as `webemu export` writes them: a day, a code of ISO 639-1, texts, True if
search finds it, a share, and objects with `target`, `anchor` and `rel`. They are read if `links` is a list.
"""
CRAWL_COLUMN = "dump"
"""Column that may hold the name of the crawl, which holds for the rows after it, too."""
COLUMNS = frozenset(
    (*TEXT_COLUMNS, *URL_COLUMNS, *DATE_COLUMNS, *ID_COLUMNS, *NESTED_COLUMNS, *PAGE_COLUMNS, "title", CRAWL_COLUMN)
)
"""All columns that are read."""
_SUFFIX = re.compile(r"\.(jsonl|ndjson|json|parquet)(\.(gz|zst))?$", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x20\x7f]+")
_MAX_TITLE = 1000


class DumpRow(NamedTuple):
    """One row in uniform columns."""

    url: str
    time: datetime
    """Naive UTC; `HOST_NOT_CAPTURED` if the row has no readable date."""
    title: str
    """Empty if the row has none."""
    text: str
    crawl: str
    """Name of the crawl (FineWeb's column `dump`); empty if there is none."""
    flaws: tuple[str, ...] = ()
    """Drop reasons `bad-url` and `bad-date`, for values that are unreadable and were treated as missing."""
    declared: bytes = b""
    """JSON of type `webemu.ingest.capture.DECLARED_TYPE` with what else is known; empty if the row has none of it."""


def iter_records(file_name: str, rows: Iterator[Row | Skip], first_row: int = 0) -> Iterator[bytes | Skip]:
    """Yield each row of a file as the bytes of a WARC record, and skips for rows or parts of them that are lost.

    `first_row` is the number of the first row, if others of the file are before it.

    Reasons of skips are `bad-json`, `no-text`, `oversized-record`, and the flaws of a row.
    """
    host, crawl = host_for_file(file_name), ""
    if not first_row:
        yield _build_record("warcinfo", DumpRow(file_name, UNKNOWN, "", "", ""), 0, b"format: WARC File Format 1.1\r\n")
    next_number = first_row
    for row in rows:
        number, next_number = next_number, next_number + (row.records if isinstance(row, Skip) else 1)
        if isinstance(row, Skip):
            yield row
            continue
        dump_row = read_row(row, number, host)
        body = dump_row.text.encode("utf-8", "replace")
        if not body or len(body) > MAX_BLOCK:
            yield Skip("oversized-record" if body else "no-text", row.offset, len(body))
            continue
        yield from (Skip(flaw, row.offset, 0) for flaw in dump_row.flaws)
        if dump_row.crawl not in ("", crawl):
            crawl = dump_row.crawl
            yield _build_record("warcinfo", dump_row, number, f"isPartOf: {crawl}\r\n".encode())
        yield _build_record("conversion", dump_row, number, body)
        if dump_row.declared and len(dump_row.declared) <= MAX_BLOCK:
            yield _build_record("metadata", dump_row, number, dump_row.declared)


def host_for_file(name: str) -> str:
    """Return the host for the pages of a file that have no URL.

    host_for_file("wiki-18.jsonl.gz")  # "wiki-18.invalid"
    """
    label = re.sub(r"[^a-z0-9]+", "-", _SUFFIX.sub("", name).lower()).strip("-")[:63].strip("-")
    return f"{label or 'dump'}.invalid"


def read_row(row: Row, number: int, host: str) -> DumpRow:
    """Return a row in uniform columns. Never raises. `number` identifies a row without an id."""
    nested = next((inner for name in NESTED_COLUMNS if isinstance(inner := row.value.get(name), dict)), {})
    # Columns of the row itself take precedence over nested ones.
    values = {**nested, **{name: value for name, value in row.value.items() if value is not None}}
    title, text = _split_title_and_text(values)
    stated_url, stated_date = _pick_first(values, URL_COLUMNS), _pick_first(values, DATE_COLUMNS)
    url, time = _parse_url(stated_url), _parse_time(stated_date)
    name = _pick_first(values, ID_COLUMNS)
    flaws = [
        reason
        for reason, is_stated, parsed in (("bad-url", stated_url, url), ("bad-date", stated_date, time))
        if is_stated and not parsed
    ]
    made_up_url = f"https://{host}/{quote(str(number if name is None else name).encode('utf-8', 'replace'), safe='')}"
    crawl = _CONTROL.sub("", str(values.get(CRAWL_COLUMN) or ""))[:100]
    declared = _encode_declared(values) if url else b""
    return DumpRow(url or made_up_url, time or UNKNOWN, title, text, crawl, tuple(flaws), declared)


def _encode_declared(values: dict[str, object]) -> bytes:
    """Return what else is known of a page, as JSON; empty unless the row states its links."""
    links = values.get("links")
    if not isinstance(links, list):
        return b""
    rows = [
        [str(link.get(name) or "") for name in ("target", "anchor", "rel")] for link in links if isinstance(link, dict)
    ]
    declared = {name: values[name] for name in PAGE_COLUMNS if isinstance(values.get(name), str | bool | float | date)}
    return orjson.dumps({**declared, "title": str(values.get("title") or ""), "links": rows})


def _pick_first(values: dict[str, object], names: tuple[str, ...]) -> object:
    """Return the first value that is neither missing nor empty."""
    return next((value for name in names if (value := values.get(name)) not in (None, "")), None)


def _split_title_and_text(values: dict[str, object]) -> tuple[str, str]:
    """Return title and text. `contents` without a title column has the title as its first line, often in quotes."""
    name, text = _find_text(values)
    title = values.get("title")
    if name == "contents" and not title:
        first, _, remaining_text = text.partition("\n")
        if remaining_text.strip():
            return _to_one_line(first.strip().strip('"')), remaining_text.strip()
    return _to_one_line(title) if isinstance(title, str) else "", text


def _find_text(values: dict[str, object]) -> tuple[str, str]:
    """Return the column that holds the text and the text; two empty strings if there is none."""
    for name in TEXT_COLUMNS:
        if isinstance(value := values.get(name), str) and (text := value.strip()):
            return name, text
    return "", ""


def _to_one_line(text: str) -> str:
    """Return the text as one line, cut at the longest title."""
    return _CONTROL.sub(" ", " ".join(text.split())).strip()[:_MAX_TITLE]


def _parse_url(stated: object) -> str:
    """Return the normalised URL, or an empty string if the value is not an http(s) URL."""
    if not isinstance(stated, str) or not stated.strip().lower().startswith(("http://", "https://")):
        return ""
    url = urls.normalize(stated)
    return "" if _CONTROL.search(url) or not urls.host_of(url) else url


def _parse_time(stated: object) -> datetime | None:
    """Return a date of any type that columns have as naive UTC, or None."""
    if isinstance(stated, date) and not isinstance(stated, datetime):
        return datetime(stated.year, stated.month, stated.day)
    if isinstance(stated, (int, float, datetime)):
        try:
            if isinstance(stated, datetime):
                return stated.astimezone(UTC).replace(tzinfo=None) if stated.tzinfo else stated
            seconds = stated / 1000 if abs(stated) > 1e11 else stated  # larger ones are milliseconds
            return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
        except (ValueError, OverflowError, OSError):
            return None
    return parse_warc_time(stated) if isinstance(stated, str) else None


@lru_cache(4096)
def _format_time(time: datetime) -> str:
    """Return a time as a WARC-Date, with its fraction of a second if it has one."""
    fraction = f".{time.microsecond:06d}" if time.microsecond else ""
    return f"{time.year:04d}-{time:%m-%dT%H:%M:%S}{fraction}Z"


def _make_id(record_type: str, dump_row: DumpRow, number: int) -> str:
    day = _format_time(dump_row.time)
    name = f"{record_type} {dump_row.url} {day} {number}".encode("utf-8", "replace").decode()
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name)}>"


def _build_record(record_type: str, dump_row: DumpRow, number: int, block: bytes) -> bytes:
    """Return a WARC record. Its id depends on its content and number alone, so that a copy is reproducible."""
    day = _format_time(dump_row.time)
    headers = {"WARC-Type": record_type, "WARC-Date": day, "WARC-Record-ID": _make_id(record_type, dump_row, number)}
    headers["Content-Type"] = "application/warc-fields"
    if record_type == "conversion":
        headers |= {"WARC-Target-URI": dump_row.url, "Content-Type": "text/plain; charset=utf-8"}
        headers |= {TITLE_HEADER: dump_row.title} if dump_row.title else {}
    elif record_type == "metadata":
        headers |= {"WARC-Target-URI": dump_row.url, "Content-Type": DECLARED_TYPE}
        headers["WARC-Refers-To"] = _make_id("conversion", dump_row, number)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"WARC/1.1\r\n{lines}Content-Length: {len(block)}\r\n\r\n"
    return head.encode("utf-8", "replace") + block + b"\r\n\r\n"
