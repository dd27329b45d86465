"""Files of Common Crawl, `data.commoncrawl.org/crawl-data/…`: WARC files, whole or in ranges, and their list.

A requested piece is sent as one response body, so its size is limited; larger files must be read in ranges.
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
"""Largest body of one response, in bytes."""
_PATHS = re.compile(r"crawl-data/(CC-MAIN-[\d-]+)/warc\.paths\.gz")
_RANGE = re.compile(rb"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*")
_LARGEST = 1 << 50
"""Upper bound of a file's size in bytes, where the search for its end begins."""


def answer(world: World, request: Request) -> Reply:
    """Answer with a file of the bucket, a range of it (RFC 9110, section 14), or S3's 404 if there is none."""
    name = unquote(request.path).lstrip("/")
    if path := _PATHS.fullmatch(name):
        return _list(world, path[1])
    if (archive := crawls_of(world).files.get(name)) is None:
        return _no_such_key(name)
    return _part(world, archive, request)


def _list(world: World, crawl: str) -> Reply:
    """Return `warc.paths.gz`: the bucket paths of a crawl's files, one a line."""
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
    """Return the requested range of a file; 416 if it lies outside, 403 if it is larger than `MAX_PIECE`."""
    size = _size(world, archive)
    takes: Headers = [(b"Accept-Ranges", b"bytes")]
    start, end, is_range = _span(request.headers.get(b"range", b""), size)
    if is_range and start >= end:
        return plain(416, "Range Not Satisfiable\n", [*takes, (b"Content-Range", b"bytes */%d" % size)])
    if request.method == "HEAD":  # answered before the size limit, so that clients can plan their ranges
        return _head(size, takes)
    if end - start > MAX_PIECE:
        return plain(
            403,
            f"{end - start:,} bytes exceed the {MAX_PIECE:,} bytes of one response: request smaller ranges.\n",
            takes,
        )
    body = b"".join(world.bytes_of(archive, start, end - start))
    if is_range:
        takes.append((b"Content-Range", b"bytes %d-%d/%d" % (start, end - 1, size)))
    return reply(206 if is_range else 200, body, "application/octet-stream", takes)


def _head(size: int, takes: Headers) -> Reply:
    told: Headers = [(b"Content-Type", b"application/octet-stream"), (b"Content-Length", b"%d" % size)]
    return Reply(200, b"OK", [*told, *takes], b"")


def _span(asked: bytes, size: int) -> tuple[int, int, bool]:
    """Parse a `Range` header into first byte, end (exclusive), and whether it is a range; an unreadable one means the
    whole.
    """
    found = _RANGE.fullmatch(asked)
    if found is None or not any(found.groups()):
        return 0, size, False
    first, last = found.groups()
    if not first:
        return max(0, size - int(last)), size, True
    # An invalid range is ignored, not refused (RFC 9110, section 14.2).
    if last and int(last) < int(first):
        return 0, size, False
    return int(first), min(size, int(last) + 1) if last else size, True


def _size(world: World, archive: Archive) -> int:
    """Return the size of a file in bytes, by binary search: the port reads ranges but does not tell sizes."""
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
