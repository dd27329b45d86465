"""Detection of a file's container format from its bytes. Its name decides only if the bytes do not tell.

Media types of the documents inside are detected elsewhere, in `webemu.ingest.extract.kind`.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

import orjson

from webemu.ingest import zips
from webemu.ingest.arc import begins_arc, next_line
from webemu.ingest.frames import LZ4_MAGIC, SKIPPABLE, ZSTD_MAGIC
from webemu.ingest.readers.gzip_members import Member, next_member
from webemu.ingest.readers.heads import Unreadable, begins_record, declared_length, take_head
from webemu.ingest.readers.plain_records import next_record
from webemu.ingest.records import MAX_BLOCK
from webemu.ingest.unpack import parts

_OBJECT = re.compile(rb'\{\s*"(?:[^"\\]|\\.){1,200}"\s*:')
"""Start of a JSON object: a brace, a name and a colon."""
_MAGIC = {"gz": b"\x1f\x8b", "zst": ZSTD_MAGIC, "lz4": LZ4_MAGIC}
_NAMED = re.compile(r"\.(warc|wet|wat|arc)(?:\.(gz|zst|lz4))?$")
"""Suffixes of names that state a format."""
_PROBES = 64
"""Gzip members that are looked at."""
_START = 1 << 16
"""Bytes at the beginning of a file, or of its unpacked content, that are looked at."""
_GZIP_START = 1 << 12
"""Unpacked bytes of a gzip member that are looked at. Few, since damage further on must not hide what the file is."""


def detect(path: Path) -> str:
    """Return the format of a file.

    It is one of warc, warc.gz, warc.gz-one-member, warc.zst, warc.lz4, arc, arc.gz, wacz, parquet, jsonl, jsonl.gz,
    jsonl.zst or unknown. `warc.gz-one-member` is a gzip file whose members are not one record each.

        detect_format(Path("crawl.warc.gz"))  # "warc.gz"
    """
    kind = _by_content(path)
    return _by_name(path) if kind == "unknown" else kind


def _by_name(path: Path) -> str:
    """Return the format that a name states, for a file whose beginning is damaged or cut."""
    if not (stated := _NAMED.search(path.name.lower())):
        return "unknown"
    family = "arc" if stated[1] == "arc" else "warc"
    with path.open("rb", buffering=0) as file:
        fd, size = file.fileno(), os.fstat(file.fileno()).st_size
        start = os.pread(fd, 4, 0)
        if stated[2] and (start.startswith(_MAGIC[stated[2]]) or (stated[2] == "zst" and SKIPPABLE.match(start))):
            return f"{family}.{stated[2]}" if family == "warc" or stated[2] == "gz" else "unknown"
        following = next_line if family == "arc" else next_record
        return family if size == 0 or following(fd, 1, size) < size else "unknown"


def _by_content(path: Path) -> str:
    with path.open("rb", buffering=0) as file:
        fd, size = file.fileno(), os.fstat(file.fileno()).st_size
        start = os.pread(fd, _START, 0)
        if start.startswith(b"\x1f\x8b"):
            return _gzip_kind(fd, size)
        if start.startswith(ZSTD_MAGIC) or SKIPPABLE.match(start):
            return _framed_kind(path, ".zst", ("warc", "jsonl"))
        if start.startswith(LZ4_MAGIC):
            return _framed_kind(path, ".lz4", ("warc",))
        if start.startswith(b"PAR1"):
            return "parquet"
        is_wacz = path.name.lower().endswith(".wacz")
        if is_wacz or start.startswith(b"PK\x03\x04"):
            found = zips.read_zip(path).entries
            return "wacz" if found and (is_wacz or any(zips.is_archive(entry.name) for entry in found)) else "unknown"
        return _plain_kind(start)


def _plain_kind(start: bytes) -> str:
    text = start.lstrip(b"\r\n")
    if begins_record(text):
        return "warc"
    return "arc" if begins_arc(text) else "jsonl" if _is_jsonl(text) else "unknown"


def _is_jsonl(start: bytes) -> bool:
    """True if the first line is a JSON object, or if the part of it that is here begins like one."""
    line, end, _ = start.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if not end:
        return bool(_OBJECT.match(line))
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def _gzip_kind(fd: int, size: int) -> str:
    """Return the format of a gzip file, by the first sound member whose content is known."""
    at = 0
    # Empty and damaged members say nothing: look at the next ones.
    for _ in range(_PROBES):
        member = Member(fd, at)
        try:
            kind = _plain_kind(member.read(_GZIP_START).lstrip(b"\r\n"))
            if kind in ("arc", "jsonl"):
                return f"{kind}.gz"
            if kind == "warc":
                return "warc.gz" if _is_aligned(fd, at, size) else "warc.gz-one-member"
            member.drain()
            at = next_member(fd, member.end, size, bool)
        except (zlib.error, Unreadable):
            at = next_member(fd, at + 1, size, bool)
        if at >= size:
            return "unknown"
    return "warc.gz" if next_member(fd, at, size) < size else "unknown"


def _is_aligned(fd: int, at: int, size: int) -> bool:
    """True if the first members hold one record each: neither several nor a part of one."""
    for _ in range(_PROBES):
        member = Member(fd, at)
        try:
            holds = _holds(member)
            if holds == "several":
                return False
            member.drain()
        except (zlib.error, Unreadable):
            return True
        if not member.is_whole or member.end >= size:
            return True
        at = member.end
        if holds == "part" and os.pread(fd, 3, at) == b"\x1f\x8b\x08" and next_member(fd, at, at + 1) != at:
            return False
    return True


def _holds(member: Member) -> str:
    """Return `one`, `part` or `several`: how much a member that begins with a record holds."""
    try:
        headers, beyond = take_head(member.read)
    except Unreadable as error:
        if error.reason == "truncated-record":
            return "part"
        raise
    left = declared_length(headers) - len(beyond)
    if left > MAX_BLOCK:
        return "one"
    if left > 0 and len(member.read(left)) < left:
        return "part"
    after = beyond[left:] if left < 0 else b""
    return "several" if begins_record((after + member.read(64)).lstrip(b"\r\n")) else "one"


def _framed_kind(path: Path, packing: str, kinds: tuple[str, ...]) -> str:
    """Return the format of a zstd or lz4 file, by the first frames that can be unpacked."""
    start = b""
    for part in parts(path, packing):
        start += part if isinstance(part, bytes) else b""
        if len(start) >= _START:
            break
    kind = _plain_kind(start.lstrip())
    return f"{kind}{packing}" if kind in kinds else "unknown"
