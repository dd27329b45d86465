"""Builds WARC records of exchanges that other tools recorded: a response, and the request that it answers.

Bodies are as a client saw them, without transfer and content coding: header lines that would no longer be true get the
prefix `X-Crawler-`, as in Common Crawl. Secrets are replaced (`webemu.emulator.exchange_keys`).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from webemu.emulator import urls
from webemu.emulator.exchange_keys import RECORDING_HEADER, redact_body, redact_headers, redact_url
from webemu.ingest.records import MAX_BLOCK, Skip
from webemu.ingest.times import UNKNOWN, parse_warc_time

REASONS = ("no-target-uri", "no-response", "bad-date", "no-date", "oversized-record")
"""Reasons for which an exchange is dropped, or loses its date."""
UNTRUE_HEADERS = frozenset(("content-encoding", "transfer-encoding", "content-length"))
"""Response headers that say how a body was sent, not how it is stored, in lower case."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_METHOD = re.compile(r"[A-Z]{1,20}")
Headers = Sequence[tuple[str, str]]


class ImportedExchange(NamedTuple):
    """One exchange as another tool recorded it."""

    method: str
    url: str
    request_headers: Headers
    request_body: bytes
    status: int
    reason: str
    headers: Headers
    body: bytes
    time: datetime | None
    """Naive UTC; None if it is unknown, or could not be read."""
    date_flaw: str = "bad-date"
    """Drop reason of a time that is None: `bad-date`, or `no-date` if none was stated."""
    is_run: bool = True
    """True if it is part of a recorded run, whose requests get their responses in order; False if a response to GET is
    a capture of its URL like any other.
    """


def build_exchange(exchange: ImportedExchange, number: int) -> Iterator[bytes | Skip]:
    """Yield the records of an exchange, or a skip for what is lost. `number` is its place in its file."""
    url = read_url(exchange.url)
    if not url or not _METHOD.fullmatch(exchange.method):
        yield Skip("no-target-uri", number, 0)
    elif not 100 <= exchange.status <= 999:
        yield Skip("no-response", number, 0)
    elif len(exchange.body) + len(exchange.request_body) > MAX_BLOCK // 2:
        yield Skip("oversized-record", number, len(exchange.body))
    else:
        if exchange.time is None:
            yield Skip(exchange.date_flaw, number, 0)
        yield from _build_records(exchange, redact_url(url), number)


def _build_records(exchange: ImportedExchange, url: str, number: int) -> Iterator[bytes]:
    time = exchange.time or UNKNOWN
    lines = [f"HTTP/1.1 {exchange.status} {one_line(exchange.reason)}".rstrip()]
    for name, value in exchange.headers:
        prefix = "X-Crawler-" if name.lower() in UNTRUE_HEADERS else ""
        lines.append(f"{prefix}{one_line(name)}: {one_line(value)}")
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")
    yield build_record("response", url, time, number, head + exchange.body)
    if exchange.is_run or exchange.method != "GET":
        mark = f"{RECORDING_HEADER}: 1\r\n" if exchange.is_run else ""
        yield build_record("request", url, time, number, _render_request(exchange, url), mark)


def _render_request(exchange: ImportedExchange, url: str) -> bytes:
    content_type = next((value for name, value in exchange.request_headers if name.lower() == "content-type"), "")
    headers = [
        (one_line(name).encode("utf-8", "replace"), one_line(value).encode("utf-8", "replace"))
        for name, value in exchange.request_headers
        if name.lower() not in UNTRUE_HEADERS
    ]
    lines = [f"{exchange.method} /{url.split('/', 3)[3]} HTTP/1.1".encode("utf-8", "replace")]
    lines += [b"%b: %b" % header for header in redact_headers(headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + redact_body(exchange.request_body, content_type.lower())


def build_record(kind: str, url: str, time: datetime, number: int, block: bytes, further_lines: str = "") -> bytes:
    """Return a WARC record. Its id depends on its content and number alone, so that a copy is reproducible."""
    day = f"{time.year:04d}-{time:%m-%dT%H:%M:%S}Z"
    identities = {
        name: uuid.uuid5(uuid.NAMESPACE_URL, f"{url} {day} {number}{suffix}".encode("utf-8", "replace").decode())
        for name, suffix in (("response", ""), ("request", " request"))
    }
    if kind == "request":
        further_lines += f"WARC-Concurrent-To: <urn:uuid:{identities['response']}>\r\n"
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: {day}\r\n{further_lines}"
        f"WARC-Record-ID: <urn:uuid:{identities[kind]}>\r\nContent-Type: application/http; msgtype={kind}\r\n"
    )
    return f"{head}Content-Length: {len(block)}\r\n\r\n".encode("utf-8", "replace") + block + b"\r\n\r\n"


def build_warcinfo(name: str) -> bytes:
    """Return the warcinfo record of a file."""
    block = b"format: WARC File Format 1.1\r\n"
    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"warcinfo {name}".encode("utf-8", "replace").decode())
    head = (
        f"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Date: {UNKNOWN:%Y-%m-%dT%H:%M:%S}Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{identity}>\r\nContent-Type: application/warc-fields\r\n"
    )
    return f"{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"


def read_url(value: Any) -> str:
    """Return a URL of http or https in normal form; empty for any other value."""
    if not isinstance(value, str) or not value.lower().startswith(("http://", "https://")):
        return ""
    url = urls.normalize(value)
    return "" if _CONTROL.search(url) or not urls.host_of(url) else url


def read_time(value: Any) -> datetime | None:
    """Return a time in naive UTC: ISO 8601, that of an HTTP header, or seconds since 1970; None if it is unreadable."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if value > 1e11 else value
        return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None) if 0 < seconds < 1e10 else None
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if not isinstance(value, str):
        return None
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            time = parse(value)
        except (ValueError, TypeError, OverflowError):
            continue
        return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    return parse_warc_time(value)


def one_line(value: Any) -> str:
    """Return a text without line ends and other control characters; empty for any other value."""
    return _CONTROL.sub(" ", value).strip() if isinstance(value, str) else ""
