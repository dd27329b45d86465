"""Recorded answers, read from their WARC file by offset: the bytes as they came, transfer coding removed."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

from isal import isal_zlib

from webemu.emulator.errors import PayloadError
from webemu.emulator.logs import Seldom, event
from webemu.emulator.types import Capture, Payload
from webemu.index.codings import content_coding, decode_content
from webemu.index.files import Files
from webemu.index.http import head_span, parse
from webemu.index.record_head import RecordHeaders, first_value, message_of, record_headers, target_url

log = logging.getLogger("webemu.payloads")
_seldom = Seldom()

MAX_PAYLOAD = 64 << 20
"""Bytes of a record block, and of a decoded payload; larger ones are refused."""
_MAX_HEADER = 1 << 20
_CHANGED = "put the WARC file back that was ingested, or ingest the one that is there now"
_LENGTH = re.compile(r"\d{1,18}")
QUICK = 1 << 20
"""Bytes that are unpacked at once: a millisecond's work."""
_PART = 1 << 20


def read_block(
    files: Files, path: str, offset: int, length: int, wait: bool = True
) -> tuple[list[tuple[str, str]], bytes]:
    """Return WARC headers and block of one record of a per-record gzip or plain WARC file.

    Unless it may wait, it raises BlockingIOError on what is on disk only, or large.
    """
    size = min(length, MAX_PAYLOAD + _MAX_HEADER)
    try:
        packed = files.read(path, offset, size, wait)
    except BlockingIOError:
        raise
    except OSError as error:
        raise _lost(
            f"the WARC file of the capture cannot be read: {error.strerror}",
            path,
            "put it back, or run `webemu ingest` on it where it is now",
        ) from error
    record = packed
    if packed.startswith(b"\x1f\x8b"):
        inflate = isal_zlib.decompressobj(31)
        try:
            record = inflate.decompress(packed, MAX_PAYLOAD + _MAX_HEADER if wait else QUICK)
        except isal_zlib.error as error:  # type: ignore[misc]  # typed as a value
            raise _lost(
                "the WARC record of the capture cannot be unpacked", f"{path} at {offset}: {error}", _CHANGED
            ) from error
        if not wait and not inflate.eof and len(record) >= QUICK:
            raise BlockingIOError
    start, end, at = head_span(record)
    head = record[start:end] if end >= 0 else b""
    headers = record_headers(head) if head[:5].upper() == b"WARC/" else []
    declared = first_value(headers, "content-length")
    if not _LENGTH.fullmatch(declared):
        raise _lost("the WARC file of the capture holds no record where it was", f"{path} at {offset}", _CHANGED)
    block = record[at : at + int(declared)]
    if len(block) > MAX_PAYLOAD:
        raise PayloadError(
            f"the WARC record of the capture has {declared} bytes",
            reason="payload-too-large",
            place=f"{path} at {offset}",
        )
    if len(packed) < size and len(block) < int(declared):  # a record that was short at ingest has its whole length
        raise _lost("the WARC file ends inside the record of the capture", f"{path} at {offset}", _CHANGED)
    return headers, block


def _lost(message: str, place: str, action: str) -> PayloadError:
    """Return the error of a payload that is not where it was. The log has its place, the client has not."""
    error = PayloadError(message, action=action, place=place)
    if (left_out := _seldom.left_out()) is not None:
        log.warning("%s", error, extra=event("payload_missing", place=place, left_out=left_out))
    return error


def read_part(files: Files, path: str, offset: int, length: int) -> Iterator[bytes]:
    """Bytes of a file as they rest, in pieces; fewer where it ends before. Raises PayloadError."""
    while length > 0:
        try:
            piece = files.read(path, offset, min(length, _PART))
        except OSError as error:
            raise _lost(f"the WARC file cannot be read: {error.strerror}", path, "put it back") from error
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
        raise _lost(
            f"the WARC file holds another record than the one ingested for {capture.url}",
            f"{capture.file} at {capture.offset}",
            "put the WARC file back that was ingested, or ingest the new one under another name",
        )
    payload = _payload(headers, block)
    if capture.head is not None:
        file, offset, length = capture.head
        _, head = read_block(files, file, offset, length, wait)
        if (message := parse(head)) and message.status not in (0, 304):
            return Payload(message.status, message.reason, tuple(message.headers), payload.body, payload.encoding)
    return payload


def _is_of(headers: RecordHeaders, capture: Capture) -> bool:
    """True if a record is the capture's: a WARC file can be replaced by another of the same name."""
    stated = first_value(headers, "warc-payload-digest")
    if stated and capture.digest:
        return stated == capture.digest
    return capture.kind == "revisit" or target_url(headers) == capture.url


def _payload(headers: RecordHeaders, block: bytes) -> Payload:
    message = message_of(headers, block)
    if message is None:
        return Payload(200, "OK", ((b"Content-Type", first_value(headers, "content-type").encode()),), block, "")
    coding = content_coding(message.body, message.headers)
    return Payload(message.status, message.reason, tuple(message.headers), message.body, coding)


def decoded(payload: Payload) -> bytes:
    """The body without its content coding, bounded."""
    return decode_content(payload.body, list(payload.headers), MAX_PAYLOAD)[0]
