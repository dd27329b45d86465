"""Conversion of ARC records (versions 1 and 2, Internet Archive 1996) to WARC/1.0 records.

warcio's converter is not used: it draws random record ids, reads ARC 2 wrongly and ends at the first bad record.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from webemu.index.record_head import decode_head
from webemu.ingest.readers.heads import TRUNCATED_HEADER, is_usable
from webemu.ingest.readers.plain_records import skip_line_ends
from webemu.ingest.records import MAX_HEAD, Skip

_WINDOW_BYTES = 1 << 20
"""Bytes that are searched for a record at a time."""
_MAX_LINE_BYTES = 1 << 16
"""Longest line of a record, in bytes."""
_CANDIDATE_LINE = re.compile(
    rb"^(?:[a-z][a-z0-9+.-]{0,30}:/|(?:dns|whois|mailto|news|urn|filedesc):)[^\n]*[ \t]-?\d{1,18}[ \t]*\r*\n",
    re.MULTILINE | re.IGNORECASE,
)
"""A line that may begin a record: a URL with a scheme first, a number last."""
_USUAL_SCHEME = re.compile(rb"(?:filedesc|https?|ftp|dns|gopher|nntp|whois):", re.IGNORECASE)
"""Schemes that are not the end of another one: a wrong length may lead into the middle of a URL."""
_FIRST_LINE = re.compile(rb"[^\n]*\n")
_FIELD = re.compile(rb"[^ \t\r\n]+")
_LENGTH_FIELD = re.compile(rb"-?\d{1,18}")
_DATE_FIELD = re.compile(rb"(?:19|20)\d{6,16}")
_DIGITS_FIELD = re.compile(rb"\d{8,18}")
_IP_FIELD = re.compile(rb"\d+(\.\d+){3}|[0-9a-fA-F]*:[0-9a-fA-F:.]+")


@dataclass(frozen=True, slots=True)
class ArcRecord:
    """One ARC record: a WARC head, and the position of its block in the ARC file."""

    head: bytes
    start: int
    """Offset of the block."""
    length: int
    """Bytes of the block."""


class ArcLine(NamedTuple):
    """The line before an ARC record. Crawlers left out what they did not know, or wrote `-` or anything else."""

    url: bytes
    ip: bytes
    """Empty if there is none."""
    date: bytes
    """8 to 18 digits; empty if there is none."""
    media_type: bytes
    length: int
    """Bytes of the block, as stated."""
    size: int
    """Length of the line, in bytes."""


def begins_arc(text: bytes) -> bool:
    """True if the text certainly begins with the line of an ARC record: one with a date and with a scheme."""
    line = _CANDIDATE_LINE.match(text)
    return line is not None and _is_certain(line[0])


def convert_records(fd: int, size: int) -> Iterator[ArcRecord | Skip]:
    """Yield all records of an unpacked ARC file in order, and skips for what is not one."""
    offset = skip_line_ends(fd, 0, size)
    while offset < size:
        window = os.pread(fd, _MAX_LINE_BYTES, offset)
        line = _expected_line(window)
        if line is None:
            end = find_next_line(fd, offset + 1, size)
            yield Skip("junk-between-records", offset, end - offset)
            offset = end
            continue
        start = offset + line.size
        reason = _find_flaw(fd, start, line.length, size)
        end = skip_line_ends(fd, start + line.length, size) if not reason else find_next_line(fd, start, size)
        if not reason:
            yield ArcRecord(_build_head(line, line.length), start, line.length)
        elif reason == "truncated-record" and end == size:
            yield from _convert_cut_record(fd, offset, start, line, size)
        else:
            yield Skip("content-length-mismatch" if reason == "truncated-record" else reason, offset, end - offset)
        offset = end


def _convert_cut_record(fd: int, offset: int, start: int, line: ArcLine, size: int) -> Iterator[ArcRecord | Skip]:
    """Yield the remainder of the last record of a cut file, and the skip that counts what is missing."""
    existing_bytes, missing_bytes = size - start, start + line.length - size
    _, record_type, content_type = _choose_warc_type(line)
    if is_usable([("WARC-Type", record_type), ("Content-Type", content_type)], os.pread(fd, MAX_HEAD, start)):
        yield ArcRecord(_build_head(line, existing_bytes, {TRUNCATED_HEADER: "unspecified"}), start, existing_bytes)
        yield Skip("truncated-record", size, 0, lost_bytes=missing_bytes)
    else:
        yield Skip("truncated-record", offset, size - offset)


def _expected_line(text: bytes) -> ArcLine | None:
    """Return the line of a record at an offset where one must begin.

    Less evidence suffices there: the date may be missing, or the URL may have no scheme.
    """
    first = _FIRST_LINE.match(text)
    line = _parse_line(first[0]) if first else None
    if line is None or not (line.date or b":/" in line.url):
        return None
    return line if b":" in line.url or b"." in line.url else None


def _is_certain(text: bytes) -> bool:
    """True if the line can only be that of a record."""
    line = _parse_line(text)
    return line is not None and (line.date != b"" or line.url.startswith(b"filedesc:"))


def _parse_line(text: bytes) -> ArcLine | None:
    """Parse a line: URL, IP, date, media type and (ARC 2) more, length. Return None if it is not a record's.

    URLs may hold blanks, so the fields are found from the IP and the date on.
    """
    matches = list(_FIELD.finditer(text))
    fields = [match[0] for match in matches]
    if len(fields) < 3 or not _LENGTH_FIELD.fullmatch(fields[-1]):
        return None
    date_indices = [index for index in range(1, len(fields) - 1) if _DIGITS_FIELD.fullmatch(fields[index])]
    # A date after an IP is certain; else a number that looks like a year and more is likely one.
    after_ip = [index for index in date_indices if index > 1 and _is_ip(fields[index - 1])]
    likely_dates = [index for index in date_indices if _DATE_FIELD.fullmatch(fields[index])]
    if after_ip or likely_dates:
        index = (after_ip or likely_dates)[0]
        ip, date = (index - 1 if index > 1 else index), index
    else:
        ip_indices = [index for index in range(1, len(fields) - 1) if _is_ip(fields[index])]
        if not ip_indices:
            return None
        ip = index = ip_indices[0]
        date = -1
    url = text[: matches[ip].start()].strip()
    more_fields = fields[index + 1 : -1]
    return ArcLine(
        url, fields[ip] if ip != date else b"", fields[date] if date > 0 else b"",
        more_fields[0] if more_fields else b"unknown", int(fields[-1]), len(text),
    )  # fmt: skip


def _is_ip(field: bytes) -> bool:
    return bool(_IP_FIELD.fullmatch(field)) or field in (b"-", b"None")


def _find_flaw(fd: int, start: int, length: int, size: int) -> str:
    """Return the drop reason if the stated length cannot be right, else an empty string."""
    if length < 0:
        return "bad-content-length"
    if start + length > size:
        return "truncated-record"
    end = skip_line_ends(fd, start + length, size)
    # At least two bytes of line ends behind the block: a wrong length hardly leads to such a place.
    if end == size or end > start + length + 1:
        return ""
    text = os.pread(fd, _MAX_LINE_BYTES, end)
    is_line = os.pread(fd, 1, end - 1) == b"\n"
    is_cut = end + len(text) == size and b"\n" not in text
    is_next = is_line and (is_cut or _expected_line(text) is not None)
    return "" if is_next or (_USUAL_SCHEME.match(text) and begins_arc(text)) else "content-length-mismatch"


def _choose_warc_type(line: ArcLine) -> tuple[str, str, str]:
    """Return URL, WARC-Type and Content-Type of a record."""
    target = decode_head(line.url).replace("\r", "%0D").replace(" ", "%20").strip()
    content_type = line.media_type.decode("latin-1")
    if target.startswith("filedesc:"):
        return target, "warcinfo", content_type
    is_http = target.lower().startswith(("http:", "https:")) or ":" not in target.partition("/")[0]
    return target, *(("response", "application/http; msgtype=response") if is_http else ("resource", content_type))


def _build_head(line: ArcLine, length: int, more_headers: dict[str, str] | None = None) -> bytes:
    """Return the WARC head of a record. Its id depends on the line alone."""
    target, record_type, content_type = _choose_warc_type(line)
    headers = {"WARC-Type": record_type, "WARC-Target-URI": target}
    if record_type == "warcinfo":
        headers = {"WARC-Type": record_type, "WARC-Filename": target.removeprefix("filedesc://")}
    # Derived ids, so that the same ARC always gives the same bytes.
    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{target} {line.date.decode()} {line.length}")
    headers |= {"WARC-Date": _to_warc_date(line.date.decode())} if line.date else {}
    headers |= {"WARC-Record-ID": f"<urn:uuid:{identity}>"}
    if _IP_FIELD.fullmatch(line.ip):
        headers["WARC-IP-Address"] = line.ip.decode()
    headers |= {**(more_headers or {}), "Content-Type": content_type, "Content-Length": str(length)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"WARC/1.0\r\n{lines}\r\n".encode()


def _to_warc_date(digits: str) -> str:
    """Return up to 14 digits as a WARC-Date; digits that are missing or zero give the earliest date possible."""
    digits = digits[:14].ljust(14, "0")
    month, day = max(digits[4:6], "01"), max(digits[6:8], "01")
    return f"{digits[:4]}-{month}-{day}T{digits[8:10]}:{digits[10:12]}:{digits[12:]}Z"


def find_next_line(fd: int, offset: int, size: int) -> int:
    """Return the offset of the next record line from `offset` on, or the end of the file."""
    offset -= 1  # a line begins at the offset only if a line end precedes it
    while offset < size:
        window = os.pread(fd, _WINDOW_BYTES, offset)
        # The first byte only shows whether a line begins at the second.
        for match in _CANDIDATE_LINE.finditer(window, 0 if window[:1] == b"\n" else 1):
            if _is_certain(match[0]):
                return offset + match.start()
        if offset + len(window) >= size:
            break
        offset += len(window) - _MAX_LINE_BYTES  # a line may straddle two windows
    return size
