"""Files of Common Crawl, `data.commoncrawl.org/crawl-data/…`: WARC files, whole or in ranges, and their list.

A requested piece is sent as one response body, so its size is limited; larger files must be read in ranges.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from urllib.parse import unquote
from xml.sax.saxutils import escape

from webemu.api.archives.crawls import find_crawls
from webemu.api.archives.responses import make_response, text_response
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.emulator.types import Archive
from webemu.emulator.world import World

MAX_PIECE = 256 << 20
"""Largest body of one response, in bytes."""
_PATHS = re.compile(r"crawl-data/(CC-MAIN-[\d-]+)/warc\.paths\.gz")
_RANGE = re.compile(rb"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*")
_MAX_FILE_SIZE = 1 << 50
"""Upper bound of a file's size in bytes, where the search for its end begins."""


def answer(world: World, request: Request) -> Response:
    """Answer with a file of the bucket, a range of it (RFC 9110, section 14), or S3's 404 if there is none."""
    name = unquote(request.path).lstrip("/")
    if path := _PATHS.fullmatch(name):
        return _paths_file(world, path[1])
    if (archive := find_crawls(world).archive_by_name.get(name)) is None:
        return _no_such_key_error(name)
    return _file_response(world, archive, request)


def _paths_file(world: World, crawl: str) -> Response:
    """Return `warc.paths.gz`: the bucket paths of a crawl's files, one a line."""
    crawls = find_crawls(world)
    names = sorted(crawls.name_by_path[path] for path, crawl_id in crawls.crawl_by_path.items() if crawl_id == crawl)
    if not names:
        return _no_such_key_error(f"crawl-data/{crawl}/warc.paths.gz")
    lines = "".join(f"{name}\n" for name in names)
    return make_response(200, gzip.compress(lines.encode("utf-8", "replace"), mtime=0), "application/gzip")


def _no_such_key_error(name: str) -> Response:
    details = (
        f"<Code>NoSuchKey</Code><Message>The specified key does not exist.</Message><Key>{escape(name[:1000])}</Key>"
    )
    return make_response(404, f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{details}</Error>', "application/xml")


def _file_response(world: World, archive: Archive, request: Request) -> Response:
    """Return the requested range of a file; 416 if it lies outside, 403 if it is larger than `MAX_PIECE`.

    A session with a cutoff does not learn where a file ends that was continued after it: what needs its size is 404.
    """
    size = _find_size(world, archive)
    range_headers: Headers = [(b"Accept-Ranges", b"bytes")]
    start, end, is_range = _parse_range(request.headers.get(b"range", b""), size)
    if is_range and start >= end:
        return text_response(416, "Range Not Satisfiable\n", [*range_headers, (b"Content-Range", b"bytes */%d" % size)])
    is_endless = size >= _MAX_FILE_SIZE
    if is_endless and (request.method == "HEAD" or end >= size):
        return _no_such_key_error(unquote(request.path).lstrip("/"))
    if request.method == "HEAD":  # answered before the size limit, so that clients can plan their ranges
        return _head_response(size, range_headers)
    if end - start > MAX_PIECE:
        return text_response(
            403,
            f"{end - start:,} bytes exceed the {MAX_PIECE:,} bytes of one response: request smaller ranges.\n",
            range_headers,
        )
    body = b"".join(world.bytes_of(archive, start, end - start))
    if is_range:
        total = b"*" if is_endless else b"%d" % size
        range_headers.append((b"Content-Range", b"bytes %d-%d/%b" % (start, end - 1, total)))
    return make_response(206 if is_range else 200, body, "application/octet-stream", range_headers)


def _head_response(size: int, range_headers: Headers) -> Response:
    content_headers: Headers = [(b"Content-Type", b"application/octet-stream"), (b"Content-Length", b"%d" % size)]
    return Response(200, b"OK", [*content_headers, *range_headers], b"")


def _parse_range(header_value: bytes, size: int) -> tuple[int, int, bool]:
    """Parse a `Range` header into first byte, end (exclusive), and whether it is a range; an unreadable one means the
    whole.
    """
    match = _RANGE.fullmatch(header_value)
    if match is None or not any(match.groups()):
        return 0, size, False
    first, last = match.groups()
    if not first:
        return max(0, size - int(last)), size, True
    # An invalid range is ignored, not refused (RFC 9110, section 14.2).
    if last and int(last) < int(first):
        return 0, size, False
    return int(first), min(size, int(last) + 1) if last else size, True


def _find_size(world: World, archive: Archive) -> int:
    """Return the size of a file in bytes, by binary search: the port reads ranges but does not tell sizes."""
    low, high = 0, _MAX_FILE_SIZE
    while low < high:
        middle = (low + high) // 2
        if _has_bytes(world.bytes_of(archive, middle, 1)):
            low = middle + 1
        else:
            high = middle
    return low


def _has_bytes(pieces: Iterable[bytes]) -> bool:
    return any(pieces)
