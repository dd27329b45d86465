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
from webemu.ingest.arc import begins_arc, find_next_line
from webemu.ingest.frames import LZ4_MAGIC, SKIPPABLE, ZSTD_MAGIC
from webemu.ingest.readers.gzip_members import Member, find_next_member
from webemu.ingest.readers.heads import MalformedRecord, begins_record, read_declared_length, take_head
from webemu.ingest.readers.plain_records import find_next_record
from webemu.ingest.records import MAX_BLOCK
from webemu.ingest.unpack import iter_unpacked

_JSON_OBJECT_START = re.compile(rb'\{\s*"(?:[^"\\]|\\.){1,200}"\s*:')
"""Start of a JSON object: a brace, a name and a colon."""
_MAGIC = {"gz": b"\x1f\x8b", "zst": ZSTD_MAGIC, "lz4": LZ4_MAGIC}
_NAME_SUFFIX = re.compile(r"\.(warc|wet|wat|arc)(?:\.(gz|zst|lz4))?$")
"""Suffixes of names that state a format."""
_MAX_PROBES = 64
"""Gzip members that are looked at."""
_START_BYTES = 1 << 16
"""Bytes at the beginning of a file, or of its unpacked content, that are looked at."""
_GZIP_START_BYTES = 1 << 12
"""Unpacked bytes of a gzip member that are looked at. Few, since damage further on must not hide what the file is."""


def detect_format(path: Path) -> str:
    """Return the format of a file.

    It is one of warc, warc.gz, warc.gz-one-member, warc.zst, warc.lz4, arc, arc.gz, wacz, parquet, jsonl, jsonl.gz,
    jsonl.zst or unknown. `warc.gz-one-member` is a gzip file whose members are not one record each.

        detect_format(Path("crawl.warc.gz"))  # "warc.gz"
    """
    container_format = _detect_by_content(path)
    return _detect_by_name(path) if container_format == "unknown" else container_format


def _detect_by_name(path: Path) -> str:
    """Return the format that a name states, for a file whose beginning is damaged or cut."""
    if not (stated := _NAME_SUFFIX.search(path.name.lower())):
        return "unknown"
    family = "arc" if stated[1] == "arc" else "warc"
    with path.open("rb", buffering=0) as file:
        fd, size = file.fileno(), os.fstat(file.fileno()).st_size
        start = os.pread(fd, 4, 0)
        if stated[2] and (start.startswith(_MAGIC[stated[2]]) or (stated[2] == "zst" and SKIPPABLE.match(start))):
            return f"{family}.{stated[2]}" if family == "warc" or stated[2] == "gz" else "unknown"
        find_next = find_next_line if family == "arc" else find_next_record
        return family if size == 0 or find_next(fd, 1, size) < size else "unknown"


def _detect_by_content(path: Path) -> str:
    with path.open("rb", buffering=0) as file:
        fd, size = file.fileno(), os.fstat(file.fileno()).st_size
        start = os.pread(fd, _START_BYTES, 0)
        if start.startswith(b"\x1f\x8b"):
            return _detect_gzip(fd, size)
        if start.startswith(ZSTD_MAGIC) or SKIPPABLE.match(start):
            return _detect_framed(path, ".zst", ("warc", "jsonl"))
        if start.startswith(LZ4_MAGIC):
            return _detect_framed(path, ".lz4", ("warc",))
        if start.startswith(b"PAR1"):
            return "parquet"
        is_wacz = path.name.lower().endswith(".wacz")
        if is_wacz or start.startswith(b"PK\x03\x04"):
            entries = zips.read_zip(path).entries
            return (
                "wacz" if entries and (is_wacz or any(zips.is_archive(entry.name) for entry in entries)) else "unknown"
            )
        return _detect_plain(start)


def _detect_plain(start: bytes) -> str:
    text = start.lstrip(b"\r\n")
    if begins_record(text):
        return "warc"
    return "arc" if begins_arc(text) else "jsonl" if _is_jsonl(text) else "unknown"


def _is_jsonl(start: bytes) -> bool:
    """True if the first line is a JSON object, or if the part of it that is here begins like one."""
    line, end, _ = start.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if not end:
        return bool(_JSON_OBJECT_START.match(line))
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def _detect_gzip(fd: int, size: int) -> str:
    """Return the format of a gzip file, by the first sound member whose content is known."""
    offset = 0
    # Empty and damaged members say nothing: look at the next ones.
    for _ in range(_MAX_PROBES):
        member = Member(fd, offset)
        try:
            container_format = _detect_plain(member.read(_GZIP_START_BYTES).lstrip(b"\r\n"))
            if container_format in ("arc", "jsonl"):
                return f"{container_format}.gz"
            if container_format == "warc":
                return "warc.gz" if _is_aligned(fd, offset, size) else "warc.gz-one-member"
            member.drain()
            offset = find_next_member(fd, member.end, size, bool)
        except (zlib.error, MalformedRecord):
            offset = find_next_member(fd, offset + 1, size, bool)
        if offset >= size:
            return "unknown"
    return "warc.gz" if find_next_member(fd, offset, size) < size else "unknown"


def _is_aligned(fd: int, offset: int, size: int) -> bool:
    """True if the first members hold one record each: neither several nor a part of one."""
    for _ in range(_MAX_PROBES):
        member = Member(fd, offset)
        try:
            extent = _classify_member(member)
            if extent == "several":
                return False
            member.drain()
        except (zlib.error, MalformedRecord):
            return True
        if not member.is_whole or member.end >= size:
            return True
        offset = member.end
        if (
            extent == "part"
            and os.pread(fd, 3, offset) == b"\x1f\x8b\x08"
            and find_next_member(fd, offset, offset + 1) != offset
        ):
            return False
    return True


def _classify_member(member: Member) -> str:
    """Return `one`, `part` or `several`: how much a member that begins with a record holds."""
    try:
        headers, extra_bytes = take_head(member.read)
    except MalformedRecord as error:
        if error.reason == "truncated-record":
            return "part"
        raise
    bytes_to_read = read_declared_length(headers) - len(extra_bytes)
    if bytes_to_read > MAX_BLOCK:
        return "one"
    if bytes_to_read > 0 and len(member.read(bytes_to_read)) < bytes_to_read:
        return "part"
    following = extra_bytes[bytes_to_read:] if bytes_to_read < 0 else b""
    return "several" if begins_record((following + member.read(64)).lstrip(b"\r\n")) else "one"


def _detect_framed(path: Path, suffix: str, known_formats: tuple[str, ...]) -> str:
    """Return the format of a zstd or lz4 file, by the first frames that can be unpacked."""
    start = b""
    for part in iter_unpacked(path, suffix):
        start += part if isinstance(part, bytes) else b""
        if len(start) >= _START_BYTES:
            break
    container_format = _detect_plain(start.lstrip())
    return f"{container_format}{suffix}" if container_format in known_formats else "unknown"
