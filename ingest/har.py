"""Conversion of the entries of a HAR file (HTTP Archive 1.2, as browsers and proxies save it) to WARC/1.1 responses.

A HAR holds bodies as a client saw them: without transfer and content encoding, texts as Unicode. Header lines that
would no longer be true get the prefix `X-Crawler-`, as in Common Crawl, and texts are written as UTF-8.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from webemu.emulator import urls
from webemu.ingest.records import MAX_BLOCK, Skip
from webemu.ingest.times import UNKNOWN, parse_warc_time

REASONS = ("other-method", "no-target-uri", "no-response", "not-modified", "no-body", "bad-date", "oversized-record")
"""Reasons for which an entry is dropped, or loses its date."""
_UNTRUE_HEADERS = frozenset(("content-encoding", "transfer-encoding", "content-length"))
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_CHARSET = re.compile(r";\s*charset=[^;]*", re.IGNORECASE)
_STATUS_NOT_MODIFIED = 304


def iter_records(entries: list[Any]) -> Iterator[bytes | Skip]:
    """Yield each entry as the bytes of a WARC record, and a skip for what is lost. `offset` of a skip is the entry's
    number.
    """
    for number, entry in enumerate(entries):
        response, url = _object(_object(entry).get("response")), _read_url(entry)
        status, body = response.get("status"), _read_body(response)
        if str(_object(_object(entry).get("request")).get("method", "GET")).upper() != "GET":
            yield Skip("other-method", number, 0)
        elif not url:
            yield Skip("no-target-uri", number, 0)
        elif not isinstance(status, int) or not 100 <= status <= 999:
            yield Skip("no-response", number, 0)  # it was blocked or broken off
        elif status == _STATUS_NOT_MODIFIED:
            yield Skip("not-modified", number, 0)
        elif body is None:
            yield Skip("no-body", number, 0)
        elif len(body) > MAX_BLOCK // 2:
            yield Skip("oversized-record", number, len(body))
        else:
            time = _read_time(entry)
            if time is None:
                yield Skip("bad-date", number, 0)
            yield _build_record(url, time or UNKNOWN, number, _build_head(response, status) + body)


def build_warcinfo(name: str) -> bytes:
    """Return the warcinfo record of a file."""
    block = b"format: WARC File Format 1.1\r\n"
    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"warcinfo {name}".encode("utf-8", "replace").decode())
    head = (
        f"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Date: {UNKNOWN:%Y-%m-%dT%H:%M:%S}Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{identity}>\r\nContent-Type: application/warc-fields\r\n"
    )
    return f"{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"


def _object(value: Any) -> dict[str, Any]:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def _read_url(entry: Any) -> str:
    """Return the URL of an entry; empty if it is none of http or https."""
    stated = _object(_object(entry).get("request")).get("url")
    if not isinstance(stated, str) or not stated.lower().startswith(("http://", "https://")):
        return ""
    url = urls.normalize(stated)
    return "" if _CONTROL.search(url) or not urls.host_of(url) else url


def _read_time(entry: Any) -> datetime | None:
    """Return the time of an entry in naive UTC; None if it cannot be read."""
    stated = _object(entry).get("startedDateTime")
    if not isinstance(stated, str):
        return None
    try:
        time = datetime.fromisoformat(stated)
    except ValueError:
        return parse_warc_time(stated)
    return time.astimezone(UTC).replace(tzinfo=None, microsecond=0) if time.tzinfo else time.replace(microsecond=0)


def _read_body(response: dict[str, Any]) -> bytes | None:
    """Return the body of a response; None if the file does not hold it."""
    content = _object(response.get("content"))
    text, size = content.get("text"), content.get("size")
    if not isinstance(text, str):
        is_empty = not isinstance(size, int) or size <= 0
        return b"" if is_empty else None
    if content.get("encoding") != "base64":
        return text.encode("utf-8", "replace")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def _build_head(response: dict[str, Any], status: int) -> bytes:
    """Return the HTTP head of a response, whose content type says UTF-8 if the body was a text."""
    content = _object(response.get("content"))
    is_text = isinstance(content.get("text"), str) and content.get("encoding") != "base64"
    lines = [f"HTTP/1.1 {status} {_one_line(response.get('statusText'))}".rstrip()]
    has_type = False
    headers = response.get("headers")
    for header in headers if isinstance(headers, list) else ():
        name, value = (_one_line(_object(header).get(part)) for part in ("name", "value"))
        if not name or name.startswith(":"):  # pseudo-headers of HTTP/2
            continue
        if name.lower() == "content-type":
            has_type, value = True, _state_utf8(value) if is_text else value
        prefix = "X-Crawler-" if name.lower() in _UNTRUE_HEADERS else ""
        lines.append(f"{prefix}{name}: {value}")
    if not has_type and (media_type := _one_line(content.get("mimeType"))):
        lines.append(f"Content-Type: {_state_utf8(media_type) if is_text else media_type}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")


def _state_utf8(media_type: str) -> str:
    return f"{_CHARSET.sub('', media_type)}; charset=utf-8"


def _one_line(value: Any) -> str:
    """Return a text without line ends and other control characters; empty for any other value."""
    return _CONTROL.sub(" ", value).strip() if isinstance(value, str) else ""


def _build_record(url: str, time: datetime, number: int, block: bytes) -> bytes:
    """Return a WARC record. Its id depends on its content and number alone, so that a copy is reproducible."""
    day = f"{time.year:04d}-{time:%m-%dT%H:%M:%S}Z"
    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{url} {day} {number}".encode("utf-8", "replace").decode())
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {day}\r\n"
        f"WARC-Record-ID: <urn:uuid:{identity}>\r\nContent-Type: application/http; msgtype=response\r\n"
    )
    return f"{head}Content-Length: {len(block)}\r\n\r\n".encode("utf-8", "replace") + block + b"\r\n\r\n"
