"""ARC records (versions 1 and 2, Internet Archive 1996) as WARC/1.0 records.

warcio's converter is not used: it draws random record ids, reads ARC 2 wrongly and ends at the first bad record.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.kinds import ARC_LINE
from ingest.records import Skip

_WINDOW = 1 << 20
_MAX_LINE = 1 << 16
_IP = re.compile(rb"\d+(\.\d+){3}|[0-9a-fA-F]*:[0-9a-fA-F:.]+")


@dataclass(frozen=True, slots=True)
class Converted:
    """One ARC record: a WARC head, and where its block lies in the ARC file."""

    head: bytes
    start: int
    length: int


def convert(fd: int, size: int) -> Iterator[Converted | Skip]:
    """All records of an unpacked ARC file in order."""
    at = _after_line_ends(fd, 0, size)
    while at < size:
        line = ARC_LINE.match(os.pread(fd, _MAX_LINE, at))
        if line is None:
            end = _next_line(fd, at + 1, size)
            yield Skip("junk-between-records", at, end - at, repr(os.pread(fd, 40, at)))
            at = end
            continue
        start, length = at + line.end(), int(line[5])
        reason = _flaw(fd, start, length, size)
        if reason:
            end = _next_line(fd, start, size)
            yield Skip(
                reason if end == size or reason != "truncated-record" else "content-length-mismatch", at, end - at
            )
        else:
            end = _after_line_ends(fd, start + length, size)
            yield Converted(_head(line[1], line[2], line[3], line[4], length), start, length)
        at = end


def _flaw(fd: int, start: int, length: int, size: int) -> str:
    if length < 0:
        return "bad-content-length"
    if start + length > size:
        return "truncated-record"
    end = _after_line_ends(fd, start + length, size)
    is_end = end == size or ARC_LINE.match(os.pread(fd, _MAX_LINE, end))
    return "" if is_end or end > start + length + 1 else "content-length-mismatch"


def _head(url: bytes, ip: bytes, moment: bytes, more: bytes, length: int) -> bytes:
    target = url.decode("utf-8", "replace").replace("\r", "%0D").replace(" ", "%20").strip()
    kind = (more.split() or [b"unknown"])[0].decode("latin-1")
    headers = {"WARC-Type": "response", "WARC-Target-URI": target}
    content = "application/http; msgtype=response"
    if target.startswith("filedesc:"):
        headers = {"WARC-Type": "warcinfo", "WARC-Filename": target.removeprefix("filedesc://")}
        content = kind
    elif not target.startswith(("http:", "https:")):
        headers["WARC-Type"], content = "resource", kind
    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{target} {moment.decode()} {length}")
    headers |= {"WARC-Date": _date(moment.decode()), "WARC-Record-ID": f"<urn:uuid:{identity}>"}
    if _IP.fullmatch(ip):
        headers["WARC-IP-Address"] = ip.decode()
    headers |= {"Content-Type": content, "Content-Length": str(length)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"WARC/1.0\r\n{lines}\r\n".encode()


def _date(digits: str) -> str:
    """14 digits as a WARC-Date; what is missing or zero is the earliest it can be."""
    digits = digits[:14].ljust(14, "0")
    month, day = max(digits[4:6], "01"), max(digits[6:8], "01")
    return f"{digits[:4]}-{month}-{day}T{digits[8:10]}:{digits[10:12]}:{digits[12:]}Z"


def _after_line_ends(fd: int, at: int, size: int) -> int:
    while at < size:
        window = os.pread(fd, _MAX_LINE, at)
        rest = window.lstrip(b"\r\n")
        at += len(window) - len(rest)
        if rest:
            break
    return at


def _next_line(fd: int, at: int, size: int) -> int:
    """Where the next record line begins, or the end of the file."""
    at -= 1
    while at < size:
        window = os.pread(fd, _WINDOW, at)
        if found := ARC_LINE.search(window, 0 if window[:1] == b"\n" else 1):
            return at + found.start()
        if at + len(window) >= size:
            break
        at += len(window) - _MAX_LINE
    return size
