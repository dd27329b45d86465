"""Parses the head of a WARC record, in one way for ingest and for serving.

Two parsers would disagree on odd bytes: a capture would be known, and its payload be taken for that of another page.
`webemu.ingest.readers` and `webemu.index.http` determine where a head ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from webemu.emulator import urls
from webemu.index.http import Message, parse_response

RecordHeaders = Sequence[tuple[str, str]]
"""WARC headers in order; repeated ones are kept."""


def decode_head(raw: bytes) -> str:
    """Return the bytes of a head as text: UTF-8, else Latin-1, which has a character for every byte."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def parse_record_headers(head: bytes) -> list[tuple[str, str]]:
    """Return the header lines after the version line as pairs. Folded lines are joined; lines without a colon are left
    out.
    """
    headers: list[tuple[str, str]] = []
    for line in decode_head(head).split("\n")[1:]:
        if line[:1] in (" ", "\t") and headers:
            name, value = headers[-1]
            headers[-1] = (name, f"{value} {line.strip()}".strip())
            continue
        name, colon, value = line.partition(":")
        if colon and name.strip():
            headers.append((name.strip(), value.strip()))
    return headers


def first_header(headers: RecordHeaders, name: str) -> str:
    """Return the first value of a header, its name in lower case; empty if there is none."""
    return next((value for key, value in headers if key.lower() == name), "")


def read_target_url(headers: RecordHeaders) -> str:
    """Return the URL of a record; empty if it has none."""
    return strip_url(first_header(headers, "warc-target-uri"))


def strip_url(text: str) -> str:
    """Return the URL in a header value, without the angle brackets of WARC/1.0."""
    return urls.normalize(text.strip().strip("<>"))


def parse_message(headers: RecordHeaders, block: bytes) -> Message | None:
    """Return the HTTP response of a record. Resources and conversions become responses of status 200.

    Returns None if the block is declared an HTTP response and has no readable head.
    """
    record_type, content_type = first_header(headers, "warc-type").lower(), first_header(headers, "content-type")
    is_http = content_type.lower().startswith("application/http")
    if record_type in ("response", "revisit") or is_http:
        message = parse_response(block)
        if message is not None and message.status:
            return message
        if record_type == "response" and is_http:
            return None
    status = 0 if record_type == "revisit" else 200
    content_type = content_type or first_header(headers, "warc-identified-payload-type")
    return Message(status, "OK", [(b"Content-Type", content_type.encode())], block)
