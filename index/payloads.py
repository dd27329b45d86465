"""Reads recorded responses from their WARC file by offset: the recorded bytes, without transfer coding."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

from isal import isal_zlib

from webemu.emulator.errors import PayloadError
from webemu.emulator.logs import LogRateLimiter, event_extra
from webemu.emulator.types import Capture, Payload
from webemu.index.codings import decode_content, detect_coding
from webemu.index.descriptors import choose_advice
from webemu.index.files import WarcFilePool
from webemu.index.http import find_head, parse_response
from webemu.index.record_head import RecordHeaders, first_header, parse_message, parse_record_headers, read_target_url

log = logging.getLogger("webemu.payloads")
_rate_limited = LogRateLimiter()

MAX_PAYLOAD = 64 << 20
"""Largest record block and largest decoded payload, in bytes; larger ones are refused."""
_MAX_HEADER = 1 << 20
_RESTORE_ADVICE = "restore the WARC file that was ingested, or ingest the one that is there now"
_LENGTH = re.compile(r"\d{1,18}")
INLINE_BYTES = 1 << 20
"""Bytes that are unpacked without waiting: about a millisecond of work."""
_PIECE_BYTES = 1 << 20


def read_block(
    files: WarcFilePool, path: str, offset: int, length: int, wait: bool = True
) -> tuple[list[tuple[str, str]], bytes]:
    """Return WARC headers and block of one record of a per-record gzip or plain WARC file. Raises PayloadError.

    Raises BlockingIOError unless `wait`, if the record is large or only on disk.
    """
    size = min(length, MAX_PAYLOAD + _MAX_HEADER)  # room for the WARC header beside the block
    try:
        stored_bytes = files.read(path, offset, size, wait)
    except BlockingIOError:
        raise
    except OSError as error:
        raise _missing_payload(
            f"the WARC file of the capture cannot be read: {error.strerror}",
            path,
            choose_advice(error, "restore it, or run `webemu ingest` on it where it is now"),
        ) from error
    record = stored_bytes
    if stored_bytes.startswith(b"\x1f\x8b"):
        inflate = isal_zlib.decompressobj(31)
        try:
            record = inflate.decompress(stored_bytes, MAX_PAYLOAD + _MAX_HEADER if wait else INLINE_BYTES)
        except isal_zlib.error as error:  # type: ignore[misc]  # typed as a value
            raise _missing_payload(
                "the WARC record of the capture cannot be unpacked", f"{path} at {offset}: {error}", _RESTORE_ADVICE
            ) from error
        if not wait and not inflate.eof and len(record) >= INLINE_BYTES:
            raise BlockingIOError
    start, end, block_offset = find_head(record)
    head = record[start:end] if end >= 0 else b""
    headers = parse_record_headers(head) if head[:5].upper() == b"WARC/" else []
    declared = first_header(headers, "content-length")
    if not _LENGTH.fullmatch(declared):
        raise _missing_payload(
            "the WARC file has no record at the offset of the capture", f"{path} at {offset}", _RESTORE_ADVICE
        )
    block = record[block_offset : block_offset + int(declared)]
    if len(block) > MAX_PAYLOAD:
        raise PayloadError(
            f"the WARC record of the capture has {declared} bytes, more than {MAX_PAYLOAD}",
            reason="payload-too-large",
            location=f"{path} at {offset}",
        )
    # A record that was already short at ingest is no damage: then all its bytes are in the file.
    if len(stored_bytes) < size and len(block) < int(declared):
        raise _missing_payload(
            "the WARC file ends inside the record of the capture", f"{path} at {offset}", _RESTORE_ADVICE
        )
    return headers, block


def _missing_payload(message: str, location: str, action: str) -> PayloadError:
    """Return the error of a payload that cannot be read. Its path is for the log; the client does not see it."""
    error = PayloadError(message, action=action, location=location)
    if (left_out := _rate_limited.suppressed_count()) is not None:
        log.warning("%s", error, extra=event_extra("payload_missing", place=location, left_out=left_out))
    return error


def read_pieces(files: WarcFilePool, path: str, offset: int, length: int) -> Iterator[bytes]:
    """Yield `length` bytes of a file as stored, in pieces; fewer if the file ends before. Raises PayloadError."""
    while length > 0:
        try:
            piece = files.read(path, offset, min(length, _PIECE_BYTES))
        except OSError as error:
            raise _missing_payload(
                f"the WARC file cannot be read: {error.strerror}", path, choose_advice(error, "restore the file")
            ) from error
        if not piece:
            return
        yield piece
        offset, length = offset + len(piece), length - len(piece)


def read_payload(files: WarcFilePool, capture: Capture, wait: bool = True) -> Payload:
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
    if not _belongs_to(headers, capture):
        raise _missing_payload(
            f"the WARC file holds another record than the one ingested for {capture.url}",
            f"{capture.file} at {capture.offset}",
            "restore the WARC file that was ingested, or ingest the new one under another name",
        )
    payload = _parse_payload(headers, block)
    if capture.head is not None:  # a revisit: its own record has the HTTP head, the original has the body
        file, offset, length = capture.head
        _, head = read_block(files, file, offset, length, wait)
        if (message := parse_response(head)) and message.status not in (0, 304):
            return Payload(message.status, message.reason, tuple(message.headers), payload.body, payload.encoding)
    return payload


def _belongs_to(headers: RecordHeaders, capture: Capture) -> bool:
    """True if a record belongs to the capture: a WARC file can be replaced by another one of the same name."""
    stated = first_header(headers, "warc-payload-digest")
    if stated and capture.digest:
        return stated == capture.digest
    return capture.kind == "revisit" or read_target_url(headers) == capture.url


def _parse_payload(headers: RecordHeaders, block: bytes) -> Payload:
    """Return the response in a record; a record without HTTP headers becomes a response of status 200."""
    message = parse_message(headers, block)
    if message is None:
        return Payload(200, "OK", ((b"Content-Type", first_header(headers, "content-type").encode()),), block, "")
    coding = detect_coding(message.body, message.headers)
    return Payload(message.status, message.reason, tuple(message.headers), message.body, coding)


def decode_payload(payload: Payload) -> bytes:
    """Return the body without its content coding. Raises PayloadError if it is larger than `MAX_PAYLOAD`."""
    return decode_content(payload.body, list(payload.headers), MAX_PAYLOAD)[0]
