"""Recorded answers, read from their WARC file by offset: the bytes as they came, transfer coding removed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isal import isal_zlib

from emulator import urls
from emulator.errors import PayloadError
from emulator.types import Capture, Payload
from index.codings import content_coding, decode_content
from index.files import Files
from index.http import head_span, parse

MAX_PAYLOAD = 64 << 20
"""Bytes of a record block, and of a decoded payload; larger ones are refused."""
_MAX_HEADER = 1 << 20
_FIELD = re.compile(
    rb"^(WARC-(?:Type|Payload-Digest|Target-URI|Identified-Payload-Type)|Content-(?:Length|Type))"
    rb"[ \t]*:[ \t]*([^\r\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
QUICK = 1 << 20
"""Bytes that are unpacked at once: a millisecond's work."""
_PART = 1 << 20


def read_block(
    files: Files, path: str, offset: int, length: int, wait: bool = True
) -> tuple[dict[bytes, bytes], bytes]:
    """WARC headers (those of `_FIELD`, first value) and block of one record of a per-record gzip or plain WARC file.

    Unless it may wait, it raises BlockingIOError on what is on disk only, or large.
    """
    try:
        packed = files.read(path, offset, min(length, MAX_PAYLOAD + _MAX_HEADER), wait)
    except BlockingIOError:
        raise
    except OSError as error:
        raise PayloadError(
            f"{path} cannot be read: {error.strerror}", action="put the WARC file back where it was ingested from"
        ) from error
    record = packed
    if packed.startswith(b"\x1f\x8b"):
        inflate = isal_zlib.decompressobj(31)
        try:
            record = inflate.decompress(packed, MAX_PAYLOAD + _MAX_HEADER if wait else QUICK)
        except isal_zlib.error as error:  # type: ignore[misc]  # typed as a value
            raise PayloadError(f"{path} at {offset}: {error}", reason="payload-undecodable") from error
        if inflate.unconsumed_tail and not wait:
            raise BlockingIOError
    start, end, at = head_span(record)
    head = record[start:end] if end >= 0 else b""
    if head[:5].upper() != b"WARC/":
        raise PayloadError(f"{path} at {offset}: no WARC record", action="the file changed: ingest it again")
    # Reversed, so that of repeated ones the first stays.
    headers = {name.lower(): value.rstrip() for name, value in reversed(_FIELD.findall(_as_utf8(head)))}
    size = int(headers.get(b"content-length", b"0"))
    if size > MAX_PAYLOAD:
        raise PayloadError(f"{path} at {offset}: record of {size} bytes", reason="payload-too-large")
    return headers, record[at : at + size]


def _as_utf8(head: bytes) -> bytes:
    """Return the head as ingest reads it: one that is not UTF-8 is Latin-1."""
    try:
        head.decode()
    except UnicodeDecodeError:
        return head.decode("latin-1").encode()
    return head


def read_part(files: Files, path: str, offset: int, length: int) -> Iterator[bytes]:
    """Bytes of a file as they rest, in pieces; fewer where it ends before. Raises PayloadError."""
    while length > 0:
        try:
            piece = files.read(path, offset, min(length, _PART))
        except OSError as error:
            raise PayloadError(f"{path} cannot be read: {error.strerror}") from error
        if not piece:
            return
        yield piece
        offset, length = offset + len(piece), length - len(piece)


def read_payload(files: Files, capture: Capture, wait: bool = True) -> Payload:
    """The recorded answer of a capture; a revisit's own status and headers go with the body it points to.

    Unless it may wait, it raises BlockingIOError as `read_block` does.
    """
    if not capture.length:
        raise PayloadError(
            f"{capture.url} was recorded as unchanged, but what it repeats is not in the crawl",
            action="ingest the WARC files of the earlier crawl",
        )
    headers, block = read_block(files, capture.file, capture.offset, capture.length, wait)
    if not _is_of(headers, capture):
        raise PayloadError(
            f"{capture.file} at {capture.offset} holds another record than the one ingested for {capture.url}",
            action="put the WARC file back that was ingested, or ingest the new one under another name",
        )
    payload = _payload(headers, block)
    if capture.head is not None:
        file, offset, length = capture.head
        _, head = read_block(files, file, offset, length, wait)
        if (message := parse(head)) and message.status not in (0, 304):
            return Payload(message.status, message.reason, tuple(message.headers), payload.body, payload.encoding)
    return payload


def _is_of(headers: dict[bytes, bytes], capture: Capture) -> bool:
    """Whether a record is the capture's: a WARC file can be replaced by another of the same name."""
    stated = headers.get(b"warc-payload-digest")
    if stated and capture.digest:
        return stated == capture.digest.encode()
    target = headers.get(b"warc-target-uri", b"").decode("utf-8", "replace")
    return capture.kind == "revisit" or urls.exact(target.strip("<>")) == capture.url


def _payload(headers: dict[bytes, bytes], block: bytes) -> Payload:
    is_http = headers.get(b"content-type", b"").startswith(b"application/http")
    if headers.get(b"warc-type") in (b"response", b"revisit") or is_http:
        message = parse(block)
        if message and message.status:
            coding = content_coding(message.body, message.headers)
            return Payload(message.status, message.reason, tuple(message.headers), message.body, coding)
    kind = headers.get(b"warc-identified-payload-type") or headers.get(b"content-type", b"")
    return Payload(200, "OK", ((b"Content-Type", kind),), block, "")


def decoded(payload: Payload) -> bytes:
    """The body without its content coding, bounded."""
    return decode_content(payload.body, list(payload.headers), MAX_PAYLOAD)[0]
