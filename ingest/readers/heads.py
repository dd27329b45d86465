"""Parsing of a record's head, and tests of its block's length, for both careful readers (gzip and plain)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from webemu.index import payload_digests
from webemu.index.http import find_head
from webemu.index.record_head import parse_record_headers
from webemu.ingest.records import MAX_HEAD

_VERSION_LINE = re.compile(rb"WARC/\d+\.\d+[ \t]*\r*\n", re.IGNORECASE)
# Writers that had text mode on by mistake end lines with \r\r\n.
_HEAD_END = re.compile(rb"\n(?:\r*\n|(WARC/\d+\.\d+[ \t]*\r*\n))", re.IGNORECASE)
_LENGTH_PATTERN = re.compile(r"\d{1,18}")
VERSION_SIZE = 16
"""Bytes that suffice to recognise a version line."""


class MalformedRecord(Exception):
    """Raised for a record that cannot be handed out. `reason` is that of the skip."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def take_head(read: Callable[[int], bytes]) -> tuple[list[tuple[str, str]], bytes]:
    """Return (headers of the next record, bytes read beyond its head). Leading empty lines are passed over.

    `read` returns up to so many bytes, and none at the end. Raises MalformedRecord if no complete head is there.
    """
    buffer, step, search_start = b"", 1 << 13, 0
    while chunk := read(step):
        buffer = (buffer + chunk).lstrip(b"\r\n") if not search_start else buffer + chunk
        if not b"WARC/".startswith(buffer[:5].upper()) and not begins_record(buffer):
            raise MalformedRecord("not-a-record")
        if end := _HEAD_END.search(buffer, search_start):
            if end[1]:  # a version line inside the head: the next record has begun
                raise MalformedRecord("bad-head")
            return parse_record_headers(buffer[: end.start()]), buffer[end.end() :]
        if len(buffer) > MAX_HEAD:
            raise MalformedRecord("oversized-head")
        # Resume the search where a version line could have been cut; read more each time, as long heads are rare.
        search_start, step = max(0, len(buffer) - VERSION_SIZE), min(4 * step, MAX_HEAD)
    raise MalformedRecord("truncated-record" if buffer else "empty-member")


def begins_record(text: bytes) -> bool:
    """True if the text begins with a version line. One that is cut by the end of the text counts."""
    return bool(_VERSION_LINE.match(text)) or (
        b"\n" not in text and len(text) < VERSION_SIZE and text[:5].upper() == b"WARC/"
    )


def get_header_values(headers: list[tuple[str, str]], name: str) -> list[str]:
    """Return all values of a header; `name` is in lower case."""
    return [value for key, value in headers if key.lower() == name]


def read_record_type(headers: list[tuple[str, str]]) -> str:
    """Return the WARC-Type in lower case; `unknown` if there is none."""
    return next(iter(get_header_values(headers, "warc-type")), "").lower() or "unknown"


def read_declared_length(headers: list[tuple[str, str]]) -> int:
    """Return the Content-Length. Raises MalformedRecord if it is missing, not a number, or stated twice differently."""
    stated = set(get_header_values(headers, "content-length"))
    if len(stated) != 1 or not _LENGTH_PATTERN.fullmatch(text := stated.pop()):
        raise MalformedRecord("bad-content-length")
    return int(text)


TRUNCATED_HEADER = "WARC-Truncated"
"""Header of a record whose block is not complete."""


def mark_truncated(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers with `WARC-Truncated`, as a crawler marks a block that it does not have completely."""
    return (
        headers
        if get_header_values(headers, TRUNCATED_HEADER.lower())
        else [*headers, (TRUNCATED_HEADER, "unspecified")]
    )


def is_usable(headers: list[tuple[str, str]], start: bytes) -> bool:
    """True if the remainder of a cut block, which begins with `start`, holds a part of a payload."""
    warc_type = read_record_type(headers)
    if warc_type == "response" and next(iter(get_header_values(headers, "content-type")), "").startswith(
        "application/http"
    ):
        return 0 <= find_head(start)[2] < len(start)
    return bool(start) and warc_type in ("response", "resource", "conversion")


class CorrectedRecord(NamedTuple):
    """A record with corrected headers: Content-Length is the length of its block."""

    headers: list[tuple[str, str]]
    block: bytes


def restore_without_returns(headers: list[tuple[str, str]], text: bytes) -> CorrectedRecord | None:
    """Return a record whose CRs were removed after its length was stated, as git and editors do, else None.

    `text` is everything up to the next record. It must hold no CR, and the stated length must exceed its own by
    exactly one byte for each line end: of the HTTP head, or of everything.
    """
    # The two line ends after a record are not part of its block.
    block = text.removesuffix(b"\n").removesuffix(b"\n")
    if not block or b"\r" in text:
        return None
    head, empty_line, _ = block.partition(b"\n\n")
    removed_bytes = read_declared_length(headers) - len(block)
    if removed_bytes != block.count(b"\n") and not (empty_line and removed_bytes == head.count(b"\n") + 2):
        return None
    corrected_headers = [
        (name, str(len(block)) if name.lower() == "content-length" else value) for name, value in headers
    ]
    return CorrectedRecord(corrected_headers, block) if removed_bytes > 0 else None


def digest_matches(headers: list[tuple[str, str]], block: bytes) -> bool | None:
    """True if the block has the digest that its head states, False if it has another, None if undecidable."""
    return payload_digests.matches_any(next(iter(get_header_values(headers, "warc-block-digest")), ""), (block,))


def is_record_boundary(after: bytes, digest: Callable[[], bool | None]) -> bool:
    """True if a block ends where its head says, judged by the bytes `after` it.

    If neither the end of the file nor another record follows, the digest decides; without a digest, an empty line
    does.
    """
    following = after.lstrip(b"\r\n")
    if not following or begins_record(following):
        return True
    verdict = digest()
    return after.startswith((b"\r\n\r\n", b"\n\n")) if verdict is None else verdict
