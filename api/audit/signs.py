"""Finds in an answer what only later captures say: their words, URLs and times."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from urllib.parse import unquote_plus

from webemu.api.audit.asking import Answer

_URL = re.compile(r"(?=(https?://[^\s\"'<>\\^`{}|]+))")
"""Matches every place where a URL begins, also inside another one."""
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)")
_HTTP_TIME = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_CONTROL = re.compile(r"\\[nrtbf]")
_GZIP = b"\x1f\x8b"


def readable_text(answer: Answer) -> str:
    """Return what can be read in an answer: headers and body, with the escapes of JSON, URLs and HTML decoded."""
    headers = "\n".join(f"{name.decode('latin-1')}: {value.decode('latin-1')}" for name, value in answer.headers)
    raw = headers + "\n" + _inflate(answer.body).decode("utf-8", "replace")
    plain = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), raw)
    return unescape(unquote_plus(_CONTROL.sub(" ", plain)))


def _inflate(body: bytes) -> bytes:
    """Return all members of a gzip file; another body as it is."""
    pieces = []
    while body.startswith(_GZIP):
        member = zlib.decompressobj(31)
        try:
            pieces.append(member.decompress(body))
        except zlib.error:
            break
        body = member.unused_data
    return b"".join(pieces) + body


def iter_urls(text: str) -> Iterator[str]:
    """Yield what looks like a URL in a text, also inside another one, and without the punctuation behind it."""
    for match in _URL.finditer(text):
        yield match[1]
        yield match[1].rstrip(".,;:!?)]&")


def iter_stamps(text: str) -> Iterator[str]:
    """Yield the times that a text says in the forms of ISO 8601 and HTTP, as 14 digits."""
    for match in _TIME.finditer(text):
        yield "".join(match.groups())
    for match in _HTTP_TIME.finditer(text):
        with suppress(ValueError):
            time: datetime = parsedate_to_datetime(match[0])
            yield time.astimezone(UTC).strftime("%Y%m%d%H%M%S")
