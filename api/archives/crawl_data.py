"""Common Crawl's files, `data.commoncrawl.org/crawl-data/…`: the crawl's WARC files, whole or in ranges, and a list.

What is asked for in one piece is given in one piece, so it is bounded; larger files are read in ranges.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from urllib.parse import unquote
from xml.sax.saxutils import escape

from webemu.api.archives.crawls import crawls_of
from webemu.api.archives.responses import plain, reply
from webemu.api.http.request import Request
from webemu.api.services.origin import Headers, Reply
from webemu.emulator.types import Archive
from webemu.emulator.world import World

MAX_PIECE = 256 << 20
"""Bytes of one answer."""
_PATHS = re.compile(r"crawl-data/(CC-MAIN-[\d-]+)/warc\.paths\.gz")
_RANGE = re.compile(rb"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*")
_LARGEST = 1 << 50


def answer(world: World, request: Request) -> Reply:
    """A file of the bucket, a part of it (RFC 9110, section 14), or that there is none."""
    name = unquote(request.path).lstrip("/")
    if path := _PATHS.fullmatch(name):
        return _list(world, path[1])
    if (archive := crawls_of(world).files.get(name)) is None:
        return _no_such_key(name)
    return _part(world, archive, request)


def _list(world: World, crawl: str) -> Reply:
    crawls = crawls_of(world)
    names = sorted(crawls.names[path] for path, of in crawls.of.items() if of == crawl)
    if not names:
        return _no_such_key(f"crawl-data/{crawl}/warc.paths.gz")
    lines = "".join(f"{name}\n" for name in names)
    return reply(200, gzip.compress(lines.encode("utf-8", "replace"), mtime=0), "application/gzip")


def _no_such_key(name: str) -> Reply:
    told = f"<Code>NoSuchKey</Code><Message>The specified key does not exist.</Message><Key>{escape(name[:1000])}</Key>"
    return reply(404, f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{told}</Error>', "application/xml")


def _part(world: World, archive: Archive, request: Request) -> Reply:
    size = _size(world, archive)
    takes: Headers = [(b"Accept-Ranges", b"bytes")]
    start, end, is_range = _span(request.headers.get(b"range", b""), size)
    if is_range and start >= end:
        return plain(416, "Range Not Satisfiable\n", [*takes, (b"Content-Range", b"bytes */%d" % size)])
    if request.method == "HEAD":
        return _head(size, takes)
    if end - start > MAX_PIECE:
        return plain(
            403, f"{end - start:,} bytes are too many for one answer: ask for ranges of {MAX_PIECE:,}.\n", takes
        )
    body = b"".join(world.bytes_of(archive, start, end - start))
    if is_range:
        takes.append((b"Content-Range", b"bytes %d-%d/%d" % (start, end - 1, size)))
    return reply(206 if is_range else 200, body, "application/octet-stream", takes)


def _head(size: int, takes: Headers) -> Reply:
    told: Headers = [(b"Content-Type", b"application/octet-stream"), (b"Content-Length", b"%d" % size)]
    return Reply(200, b"OK", [*told, *takes], b"")


def _span(asked: bytes, size: int) -> tuple[int, int, bool]:
    """First and past-the-last byte, and whether that is a range; what cannot be read asks for the whole."""
    found = _RANGE.fullmatch(asked)
    if found is None or not any(found.groups()):
        return 0, size, False
    first, last = found.groups()
    if not first:
        return max(0, size - int(last)), size, True
    if last and int(last) < int(first):
        return 0, size, False
    return int(first), min(size, int(last) + 1) if last else size, True


def _size(world: World, archive: Archive) -> int:
    """Bytes of a file, found by whether there is one at a place."""
    low, high = 0, _LARGEST
    while low < high:
        middle = (low + high) // 2
        if _has(world.bytes_of(archive, middle, 1)):
            low = middle + 1
        else:
            high = middle
    return low


def _has(pieces: Iterable[bytes]) -> bool:
    return any(pieces)
