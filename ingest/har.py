"""Reads the entries of a HAR file (HTTP Archive 1.2, as browsers and proxies save it) as exchanges.

A HAR holds bodies as a client saw them: without transfer and content encoding, texts as Unicode. Texts are written as
UTF-8. What was asked for by GET is found by its URL; another method's request is written too, so that the same request
finds its response.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from webemu.ingest.exchange_records import ImportedExchange, build_exchange, one_line, read_time, read_url
from webemu.ingest.records import Skip

REASONS = ("other-method", "no-target-uri", "no-response", "not-modified", "no-body", "bad-date", "oversized-record")
"""Reasons for which an entry is dropped, or loses its date."""
METHODS = frozenset("GET POST PUT PATCH DELETE QUERY".split())
"""Methods whose responses are served; those of the others say nothing or only prepare a request."""
_CHARSET = re.compile(r";\s*charset=[^;]*", re.IGNORECASE)
_STATUS_NOT_MODIFIED = 304
Headers = list[tuple[str, str]]


def iter_records(entries: list[Any]) -> Iterator[bytes | Skip]:
    """Yield the WARC records of each entry, and a skip for what is lost. `offset` of a skip is the entry's number."""
    for number, entry in enumerate(entries):
        exchange = _read_entry(entry)
        if isinstance(exchange, str):
            yield Skip(exchange, number, 0)
        else:
            yield from build_exchange(exchange, number)


def _read_entry(entry: Any) -> ImportedExchange | str:
    """Return the exchange of an entry, or the reason why it has none."""
    request, response = _object(_object(entry).get("request")), _object(_object(entry).get("response"))
    method = str(request.get("method", "GET")).upper()
    status, body, asked_body = response.get("status"), _read_body(response), _read_request_body(request)
    if method not in METHODS:
        return "other-method"
    if not (url := read_url(request.get("url"))):
        return "no-target-uri"
    if not isinstance(status, int) or not 100 <= status <= 999:
        return "no-response"  # it was blocked or broken off
    if status == _STATUS_NOT_MODIFIED:
        return "not-modified"
    if body is None or (asked_body is None and method != "GET"):
        return "no-body"
    return ImportedExchange(
        method,
        url,
        _read_headers(request),
        asked_body or b"",
        status,
        one_line(response.get("statusText")),
        _describe_body(response),
        body,
        read_time(_object(entry).get("startedDateTime")),
        is_run=False,
    )


def _object(value: Any) -> dict[str, Any]:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def _read_headers(message: dict[str, Any]) -> Headers:
    """Return the header lines of a request or a response, without the pseudo-headers of HTTP/2."""
    headers = message.get("headers")
    lines = [
        (one_line(_object(header).get("name")), one_line(_object(header).get("value")))
        for header in (headers if isinstance(headers, list) else ())
    ]
    return [(name, value) for name, value in lines if name and not name.startswith(":")]


def _read_request_body(request: dict[str, Any]) -> bytes | None:
    """Return the body of a request; None if the file does not hold it."""
    content = _object(request.get("postData"))
    if isinstance(text := content.get("text"), str) and text:
        return text.encode("utf-8", "replace")
    if isinstance(parameters := content.get("params"), list) and parameters:
        pairs = [(str(pair.get("name", "")), str(pair.get("value", ""))) for pair in map(_object, parameters)]
        return urlencode(pairs).encode()
    size = request.get("bodySize")
    return None if isinstance(size, int) and size > 0 else b""


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


def _describe_body(response: dict[str, Any]) -> Headers:
    """Return the header lines of a response, whose content type says UTF-8 if the body was a text."""
    content = _object(response.get("content"))
    is_text = isinstance(content.get("text"), str) and content.get("encoding") != "base64"
    headers = [
        (name, _state_utf8(value) if is_text and name.lower() == "content-type" else value)
        for name, value in _read_headers(response)
    ]
    has_type = any(name.lower() == "content-type" for name, _ in headers)
    if not has_type and (media_type := one_line(content.get("mimeType"))):
        headers.append(("Content-Type", _state_utf8(media_type) if is_text else media_type))
    return headers


def _state_utf8(media_type: str) -> str:
    return f"{_CHARSET.sub('', media_type)}; charset=utf-8"
