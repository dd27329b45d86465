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
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from webemu.emulator import urls
from webemu.ingest.capture import TITLE
from webemu.ingest.records import MAX_BLOCK, Skip
from webemu.ingest.rows import Row, rows
from webemu.ingest.times import UNKNOWN, warc_time

TEXTS = ("text", "contents", "content", "raw_content")
"""Columns that may hold the text, in order of precedence."""
URLS = ("url", "source_url", "WARC-Target-URI", "uri")
"""Columns that may hold the URL, in order of precedence."""
DATES = ("date", "timestamp", "date_download", "WARC-Date", "warc_date", "created", "added")
"""Columns that may hold the date, in order of precedence."""
IDS = ("id", "docid", "_id", "doc_id")
"""Columns that may hold the identifier, in order of precedence."""
BELOW = ("metadata", "meta")
"""Columns whose value is an object with further columns."""
COLUMNS = frozenset((*TEXTS, *URLS, *DATES, *IDS, *BELOW, "title", "dump"))
"""All columns that are read."""
_SUFFIX = re.compile(r"\.(jsonl|ndjson|json|parquet)(\.(gz|zst))?$", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x20\x7f]+")
_MAX_TITLE = 1000


class Text(NamedTuple):
    """One row in uniform columns."""

    url: str
    time: datetime
    """Naive UTC; `UNKNOWN` if the row has no readable date."""
    title: str
    """Empty if the row has none."""
    text: str
    crawl: str
    """Name of the crawl (FineWeb's column `dump`); empty if there is none."""
    flaws: tuple[str, ...] = ()
    """Drop reasons `bad-url` and `bad-date`, for values that are unreadable and were treated as missing."""


def records(path: Path, kind: str) -> Iterator[bytes | Skip]:
    """Yield each row as the bytes of a WARC record, and skips for rows or parts of them that are lost.

    Reasons of skips are `bad-json`, `no-text`, `oversized-record`, and the flaws of a row.
    """
    host, crawl = host_of(path.name), ""
    yield _record("warcinfo", Text(path.name, UNKNOWN, "", "", ""), 0, b"format: WARC File Format 1.1\r\n")
    for number, row in enumerate(rows(path, kind, COLUMNS)):
        if isinstance(row, Skip):
            yield row
            continue
        text = read(row, number, host)
        body = text.text.encode("utf-8", "replace")
        if not body or len(body) > MAX_BLOCK:
            yield Skip("oversized-record" if body else "no-text", row.offset, len(body))
            continue
        yield from (Skip(flaw, row.offset, 0) for flaw in text.flaws)
        if text.crawl not in ("", crawl):
            crawl = text.crawl
            yield _record("warcinfo", text, number, f"isPartOf: {crawl}\r\n".encode())
        yield _record("conversion", text, number, body)


def host_of(name: str) -> str:
    """Return the host for the pages of a file that have no URL.

    host_for_file("wiki-18.jsonl.gz")  # "wiki-18.invalid"
    """
    label = re.sub(r"[^a-z0-9]+", "-", _SUFFIX.sub("", name).lower()).strip("-")[:63].strip("-")
    return f"{label or 'dump'}.invalid"


def read(row: Row, number: int, host: str) -> Text:
    """Return a row in uniform columns. Never raises. `number` identifies a row without an id."""
    below = next((inner for name in BELOW if isinstance(inner := row.value.get(name), dict)), {})
    # Columns of the row itself take precedence over nested ones.
    values = {**below, **{name: value for name, value in row.value.items() if value is not None}}
    title, text = _texts(values)
    stated, when = _first(values, URLS), _first(values, DATES)
    url, time = _url(stated), _time(when)
    name = _first(values, IDS)
    flaws = [flaw for flaw, had, got in (("bad-url", stated, url), ("bad-date", when, time)) if had and not got]
    made = f"https://{host}/{quote(str(number if name is None else name).encode('utf-8', 'replace'), safe='')}"
    crawl = _CONTROL.sub("", str(values.get("dump") or ""))[:100]
    return Text(url or made, time or UNKNOWN, title, text, crawl, tuple(flaws))


def _first(values: dict[str, Any], names: tuple[str, ...]) -> Any:
    """Return the first value that is neither missing nor empty."""
    return next((value for name in names if (value := values.get(name)) not in (None, "")), None)


def _texts(values: dict[str, Any]) -> tuple[str, str]:
    """Return title and text. `contents` without a title column has the title as its first line, often in quotes."""
    name = next((name for name in TEXTS if isinstance(values.get(name), str) and values[name].strip()), "")
    text, title = values.get(name, "").strip(), values.get("title")
    if name == "contents" and not title:
        first, _, rest = text.partition("\n")
        if rest.strip():
            return _line(first.strip().strip('"')), rest.strip()
    return _line(title) if isinstance(title, str) else "", text


def _line(text: str) -> str:
    """Return the text as one line, cut at the longest title."""
    return _CONTROL.sub(" ", " ".join(text.split())).strip()[:_MAX_TITLE]


def _url(stated: Any) -> str:
    """Return the normalised URL, or an empty string if the value is not an http(s) URL."""
    if not isinstance(stated, str) or not stated.strip().lower().startswith(("http://", "https://")):
        return ""
    url = urls.exact(stated)
    return "" if _CONTROL.search(url) or not urls.host(url) else url


def _time(stated: Any) -> datetime | None:
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
    return warc_time(stated) if isinstance(stated, str) else None


def _record(kind: str, text: Text, number: int, block: bytes) -> bytes:
    """Return a WARC record. Its id depends on its content and number alone, so that a copy is reproducible."""
    day = f"{text.time.year:04d}-{text.time:%m-%dT%H:%M:%S}Z"
    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{kind} {text.url} {day} {number}".encode("utf-8", "replace").decode())
    headers = {"WARC-Type": kind, "WARC-Date": day, "WARC-Record-ID": f"<urn:uuid:{identity}>"}
    headers["Content-Type"] = "application/warc-fields"
    if kind == "conversion":
        headers |= {"WARC-Target-URI": text.url, "Content-Type": "text/plain; charset=utf-8"}
        headers |= {TITLE: text.title} if text.title else {}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"WARC/1.1\r\n{lines}Content-Length: {len(block)}\r\n\r\n"
    return head.encode("utf-8", "replace") + block + b"\r\n\r\n"
