"""Reads recorded responses from their WARC file by offset: the recorded bytes, without transfer coding."""

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
"""Largest record block and largest decoded payload, in bytes; larger ones are refused."""
_MAX_HEADER = 1 << 20
_CHANGED = "restore the WARC file that was ingested, or ingest the one that is there now"
_LENGTH = re.compile(r"\d{1,18}")
QUICK = 1 << 20
"""Bytes that are unpacked without waiting: about a millisecond of work."""
_PART = 1 << 20


def read_block(
    files: Files, path: str, offset: int, length: int, wait: bool = True
) -> tuple[list[tuple[str, str]], bytes]:
    """Return WARC headers and block of one record of a per-record gzip or plain WARC file. Raises PayloadError.

    Raises BlockingIOError unless `wait`, if the record is large or only on disk.
    """
    size = min(length, MAX_PAYLOAD + _MAX_HEADER)  # room for the WARC header beside the block
    try:
        packed = files.read(path, offset, size, wait)
    except BlockingIOError:
        raise
    except OSError as error:
        raise _lost(
            f"the WARC file of the capture cannot be read: {error.strerror}",
            path,
            "restore it, or run `webemu ingest` on it where it is now",
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
        raise _lost("the WARC file has no record at the offset of the capture", f"{path} at {offset}", _CHANGED)
    block = record[at : at + int(declared)]
    if len(block) > MAX_PAYLOAD:
        raise PayloadError(
            f"the WARC record of the capture has {declared} bytes, more than {MAX_PAYLOAD}",
            reason="payload-too-large",
            place=f"{path} at {offset}",
        )
    # A record that was already short at ingest is no damage: then all its bytes are in the file.
    if len(packed) < size and len(block) < int(declared):
        raise _lost("the WARC file ends inside the record of the capture", f"{path} at {offset}", _CHANGED)
    return headers, block


def _lost(message: str, place: str, action: str) -> PayloadError:
    """Return the error of a payload that cannot be read. Its path is for the log; the client does not see it."""
    error = PayloadError(message, action=action, place=place)
    if (left_out := _seldom.left_out()) is not None:
        log.warning("%s", error, extra=event("payload_missing", place=place, left_out=left_out))
    return error


def read_part(files: Files, path: str, offset: int, length: int) -> Iterator[bytes]:
    """Yield `length` bytes of a file as stored, in pieces; fewer if the file ends before. Raises PayloadError."""
    while length > 0:
        try:
            piece = files.read(path, offset, min(length, _PART))
        except OSError as error:
            raise _lost(f"the WARC file cannot be read: {error.strerror}", path, "restore the file") from error
        if not piece:
            return
        yield piece
        offset, length = offset + len(piece), length - len(piece)


def read_payload(files: Files, capture: Capture, wait: bool = True) -> Payload:
    """Return the recorded response of a capture; a revisit has its own status and headers, and the body it refers to.

    Raises PayloadError if the record is missing, damaged or of another capture, and BlockingIOError as `read_block`
    does.
    """
    if not capture.length:
        raise PayloadError(
            f"{capture.url} was recorded as unchanged, but the capture it repeats is not in the crawl",
            action="ingest the WARC files of the earlier crawl",
        )
    headers, block = read_block(files, capture.file, capture.offset, capture.length, wait)
    if not _is_of(headers, capture):
        raise _lost(
            f"the WARC file holds another record than the one ingested for {capture.url}",
            f"{capture.file} at {capture.offset}",
            "restore the WARC file that was ingested, or ingest the new one under another name",
        )
    payload = _payload(headers, block)
    if capture.head is not None:  # a revisit: its own record has the HTTP head, the original has the body
        file, offset, length = capture.head
        _, head = read_block(files, file, offset, length, wait)
        if (message := parse(head)) and message.status not in (0, 304):
            return Payload(message.status, message.reason, tuple(message.headers), payload.body, payload.encoding)
    return payload


def _is_of(headers: RecordHeaders, capture: Capture) -> bool:
    """True if a record belongs to the capture: a WARC file can be replaced by another one of the same name."""
    stated = first_value(headers, "warc-payload-digest")
    if stated and capture.digest:
        return stated == capture.digest
    return capture.kind == "revisit" or target_url(headers) == capture.url


def _payload(headers: RecordHeaders, block: bytes) -> Payload:
    """Return the response in a record; a record without HTTP headers becomes a response of status 200."""
    message = message_of(headers, block)
    if message is None:
        return Payload(200, "OK", ((b"Content-Type", first_value(headers, "content-type").encode()),), block, "")
    coding = content_coding(message.body, message.headers)
    return Payload(message.status, message.reason, tuple(message.headers), message.body, coding)


def decoded(payload: Payload) -> bytes:
    """Return the body without its content coding. Raises PayloadError if it is larger than `MAX_PAYLOAD`."""
    return decode_content(payload.body, list(payload.headers), MAX_PAYLOAD)[0]
