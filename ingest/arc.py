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

from webemu.index.record_head import as_text
from webemu.ingest.readers.heads import TRUNCATED, is_usable
from webemu.ingest.records import MAX_HEAD, Skip

_WINDOW = 1 << 20
"""Bytes that are searched for a record at a time."""
_MAX_LINE = 1 << 16
"""Longest line of a record, in bytes."""
_CANDIDATE = re.compile(
    rb"^(?:[a-z][a-z0-9+.-]{0,30}:/|(?:dns|whois|mailto|news|urn|filedesc):)[^\n]*[ \t]-?\d{1,18}[ \t]*\r*\n",
    re.MULTILINE | re.IGNORECASE,
)
"""A line that may begin a record: a URL with a scheme first, a number last."""
_USUAL = re.compile(rb"(?:filedesc|https?|ftp|dns|gopher|nntp|whois):", re.IGNORECASE)
"""Schemes that are not the end of another one: a wrong length may lead into the middle of a URL."""
_FIRST_LINE = re.compile(rb"[^\n]*\n")
_FIELD = re.compile(rb"[^ \t\r\n]+")
_LENGTH = re.compile(rb"-?\d{1,18}")
_DATE = re.compile(rb"(?:19|20)\d{6,16}")
_DIGITS = re.compile(rb"\d{8,18}")
_IP = re.compile(rb"\d+(\.\d+){3}|[0-9a-fA-F]*:[0-9a-fA-F:.]+")


@dataclass(frozen=True, slots=True)
class Converted:
    """One ARC record: a WARC head, and the position of its block in the ARC file."""

    head: bytes
    start: int
    """Offset of the block."""
    length: int
    """Bytes of the block."""


class Line(NamedTuple):
    """The line before an ARC record. Crawlers left out what they did not know, or wrote `-` or anything else."""

    url: bytes
    ip: bytes
    """Empty if there is none."""
    date: bytes
    """8 to 18 digits; empty if there is none."""
    media_type: bytes
    length: int
    """Bytes of the block, as stated."""
    end: int
    """Length of the line, in bytes."""


def begins_arc(text: bytes) -> bool:
    """True if the text certainly begins with the line of an ARC record: one with a date and with a scheme."""
    line = _CANDIDATE.match(text)
    return line is not None and _is_certain(line[0])


def convert(fd: int, size: int) -> Iterator[Converted | Skip]:
    """Yield all records of an unpacked ARC file in order, and skips for what is not one."""
    at = _after_line_ends(fd, 0, size)
    while at < size:
        text = os.pread(fd, _MAX_LINE, at)
        line = _expected_line(text)
        if line is None:
            end = next_line(fd, at + 1, size)
            yield Skip("junk-between-records", at, end - at, repr(os.pread(fd, 40, at)))
            at = end
            continue
        start = at + line.end
        reason = _flaw(fd, start, line.length, size)
        end = _after_line_ends(fd, start + line.length, size) if not reason else next_line(fd, start, size)
        if not reason:
            yield Converted(_head(line, line.length), start, line.length)
        elif reason == "truncated-record" and end == size:
            yield from _cut(fd, at, start, line, size)
        else:
            yield Skip("content-length-mismatch" if reason == "truncated-record" else reason, at, end - at)
        at = end


def _cut(fd: int, at: int, start: int, line: Line, size: int) -> Iterator[Converted | Skip]:
    """Yield the remainder of the last record of a cut file, and the skip that counts what is missing."""
    there, missing = size - start, start + line.length - size
    target, kind, content = _kind(line)
    detail = f"{there} of {line.length} bytes"
    if is_usable([("WARC-Type", kind), ("Content-Type", content)], os.pread(fd, MAX_HEAD, start)):
        yield Converted(_head(line, there, {TRUNCATED: "unspecified"}), start, there)
        yield Skip("truncated-record", size, 0, f"{target[:200]}: {detail}", lost=missing)
    else:
        yield Skip("truncated-record", at, size - at, detail)


def _expected_line(text: bytes) -> Line | None:
    """Return the line of a record at an offset where one must begin.

    Less evidence suffices there: the date may be missing, or the URL may have no scheme.
    """
    first = _FIRST_LINE.match(text)
    line = _fields(first[0]) if first else None
    if line is None or not (line.date or b":/" in line.url):
        return None
    return line if b":" in line.url or b"." in line.url else None


def _is_certain(text: bytes) -> bool:
    """True if the line can only be that of a record."""
    line = _fields(text)
    return line is not None and (line.date != b"" or line.url.startswith(b"filedesc:"))


def _fields(text: bytes) -> Line | None:
    """Parse a line: URL, IP, date, media type and (ARC 2) more, length. Return None if it is not a record's.

    URLs may hold blanks, so the fields are found from the IP and the date on.
    """
    places = list(_FIELD.finditer(text))
    fields = [place[0] for place in places]
    if len(fields) < 3 or not _LENGTH.fullmatch(fields[-1]):
        return None
    dated = [n for n in range(1, len(fields) - 1) if _DIGITS.fullmatch(fields[n])]
    # A date after an IP is certain; else a number that looks like a year and more is likely one.
    after_ip = [n for n in dated if n > 1 and _is_ip(fields[n - 1])]
    likely = [n for n in dated if _DATE.fullmatch(fields[n])]
    if after_ip or likely:
        n = (after_ip or likely)[0]
        ip, date = (n - 1 if n > 1 else n), n
    else:
        undated = [n for n in range(1, len(fields) - 1) if _is_ip(fields[n])]
        if not undated:
            return None
        ip = n = undated[0]
        date = -1
    url = text[: places[ip].start()].strip()
    more = fields[n + 1 : -1]
    return Line(
        url, fields[ip] if ip != date else b"", fields[date] if date > 0 else b"",
        more[0] if more else b"unknown", int(fields[-1]), len(text),
    )  # fmt: skip


def _is_ip(field: bytes) -> bool:
    return bool(_IP.fullmatch(field)) or field in (b"-", b"None")


def _flaw(fd: int, start: int, length: int, size: int) -> str:
    """Return the drop reason if the stated length cannot be right, else an empty string."""
    if length < 0:
        return "bad-content-length"
    if start + length > size:
        return "truncated-record"
    end = _after_line_ends(fd, start + length, size)
    # At least two bytes of line ends behind the block: a wrong length hardly leads to such a place.
    if end == size or end > start + length + 1:
        return ""
    text = os.pread(fd, _MAX_LINE, end)
    is_line = os.pread(fd, 1, end - 1) == b"\n"
    is_cut = end + len(text) == size and b"\n" not in text
    is_next = is_line and (is_cut or _expected_line(text) is not None)
    return "" if is_next or (_USUAL.match(text) and begins_arc(text)) else "content-length-mismatch"


def _kind(line: Line) -> tuple[str, str, str]:
    """Return URL, WARC-Type and Content-Type of a record."""
    target = as_text(line.url).replace("\r", "%0D").replace(" ", "%20").strip()
    content = line.media_type.decode("latin-1")
    if target.startswith("filedesc:"):
        return target, "warcinfo", content
    is_http = target.lower().startswith(("http:", "https:")) or ":" not in target.partition("/")[0]
    return target, *(("response", "application/http; msgtype=response") if is_http else ("resource", content))


def _head(line: Line, length: int, more: dict[str, str] | None = None) -> bytes:
    """Return the WARC head of a record. Its id depends on the line alone."""
    target, kind, content = _kind(line)
    headers = {"WARC-Type": kind, "WARC-Target-URI": target}
    if kind == "warcinfo":
        headers = {"WARC-Type": kind, "WARC-Filename": target.removeprefix("filedesc://")}
    # Derived ids, so that the same ARC always gives the same bytes.
    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{target} {line.date.decode()} {line.length}")
    headers |= {"WARC-Date": _date(line.date.decode())} if line.date else {}
    headers |= {"WARC-Record-ID": f"<urn:uuid:{identity}>"}
    if _IP.fullmatch(line.ip):
        headers["WARC-IP-Address"] = line.ip.decode()
    headers |= {**(more or {}), "Content-Type": content, "Content-Length": str(length)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"WARC/1.0\r\n{lines}\r\n".encode()


def _date(digits: str) -> str:
    """Return up to 14 digits as a WARC-Date; digits that are missing or zero give the earliest date possible."""
    digits = digits[:14].ljust(14, "0")
    month, day = max(digits[4:6], "01"), max(digits[6:8], "01")
    return f"{digits[:4]}-{month}-{day}T{digits[8:10]}:{digits[10:12]}:{digits[12:]}Z"


def _after_line_ends(fd: int, at: int, size: int) -> int:
    """Return the offset of the first byte from `offset` on that is not part of a line end."""
    while at < size:
        window = os.pread(fd, _MAX_LINE, at)
        rest = window.lstrip(b"\r\n")
        at += len(window) - len(rest)
        if rest:
            break
    return at


def next_line(fd: int, at: int, size: int) -> int:
    """Return the offset of the next record line from `offset` on, or the end of the file."""
    at -= 1  # a line begins at the offset only if a line end precedes it
    while at < size:
        window = os.pread(fd, _WINDOW, at)
        # The first byte only shows whether a line begins at the second.
        for found in _CANDIDATE.finditer(window, 0 if window[:1] == b"\n" else 1):
            if _is_certain(found[0]):
                return at + found.start()
        if at + len(window) >= size:
            break
        at += len(window) - _MAX_LINE  # a line may straddle two windows
    return size
