"""Captures of a WARC file, read with warcio alone: the reference for the fidelity of replays."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import brotli  # type: ignore[import-untyped]
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecord

Headers = list[tuple[str, str]]

CONNECTION_HEADERS = frozenset(
    "connection keep-alive proxy-authenticate proxy-connection te trailer transfer-encoding upgrade content-length"
    " content-encoding x-crawler-content-length x-crawler-content-encoding x-crawler-transfer-encoding".split()
)
"""Headers of the connection, or of how a body was coded for one client; they are not compared."""


@dataclass(frozen=True)
class RecordedCapture:
    """One capture."""

    url: str
    time: datetime
    status: int
    headers: Headers
    body_sha1: str
    """SHA-1 of the payload without its codings; empty for a revisit."""
    record_type: str
    """WARC-Type: `response` or `revisit`."""


def origin_headers(headers: Iterable[tuple[str, str]], prefix: str = "") -> frozenset[tuple[str, str]]:
    """Return the origin's headers as (lower-case name, value), without connection headers.

    `prefix` is removed from names.
    """
    pairs = ((name.lower().removeprefix(prefix), value.strip()) for name, value in headers)
    return frozenset((name, value) for name, value in pairs if name not in CONNECTION_HEADERS)


def sha1_of(body: bytes) -> str:
    """Return the SHA-1 of a body."""
    return hashlib.sha1(body).hexdigest()


def decode_body(body: bytes, coding: str) -> bytes:
    """Return a body without its content coding, or unchanged if the coding is unknown or wrong."""
    with suppress(OSError, EOFError, zlib.error, brotli.error):
        if coding == "br":
            return bytes(brotli.decompress(body))
        return gzip.decompress(body) if coding in ("gzip", "x-gzip") else body
    return body


def _read_payload(record: ArcWarcRecord) -> bytes:
    # warcio's own decoder fails on brotli with Google's package.
    """Return the payload without its content coding."""
    if (record.http_headers.get_header("Content-Encoding") or "").lower() == "br":
        return decode_body(record.raw_stream.read(), "br")
    return bytes(record.content_stream().read())


def read_captures(paths: Iterable[Path]) -> Iterator[RecordedCapture]:
    """Yield every response and revisit of an http URL that warcio can read, up to the first damage of each file."""
    for path in paths:
        with path.open("rb") as file:
            try:
                for record in ArchiveIterator(file, arc2warc=True):
                    head = record.http_headers
                    url = record.rec_headers.get_header("WARC-Target-URI") or ""
                    if record.rec_type not in ("response", "revisit") or head is None or not url.startswith("http"):
                        continue
                    status = head.get_statuscode()
                    if not status.isdigit() or int(status) < 100:
                        continue
                    date = record.rec_headers.get_header("WARC-Date")[:19]
                    time = datetime.fromisoformat(date).replace(tzinfo=UTC)
                    body = "" if record.rec_type == "revisit" else sha1_of(_read_payload(record))
                    yield RecordedCapture(url.strip("<>"), time, int(status), head.headers, body, record.rec_type)
            except (ArchiveLoadFailed, ValueError, OSError, EOFError):
                continue
