"""Generate a sitemap from the captured pages of a host whose own was not crawled (sitemaps.org, protocol 0.9)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby, islice
from xml.sax.saxutils import escape

from webemu.api.http.request import Request
from webemu.api.http.response import Response, compose_response
from webemu.emulator.types import Capture
from webemu.emulator.world import World

MAX_URLS_PER_FILE = 50_000
"""Most URLs in one file, by the protocol."""
_SITEMAP_PATH = re.compile(r"/sitemap(?:_index|-(\d{1,4}))?\.xml")
_XMLNS = "http://www.sitemaps.org/schemas/sitemap/0.9"


def answer(world: World, request: Request) -> Response | None:
    """Return `/sitemap.xml` of a host: its pages, or an index of `/sitemap-1.xml`… if one file cannot hold them.

    None if the path is no sitemap's, or the crawl has no page of the host.
    """
    path = _SITEMAP_PATH.fullmatch(request.path)
    if path is None or not world.knows_host(request.host):
        return None
    if path[1]:  # /sitemap-<n>.xml
        start = (int(path[1]) - 1) * MAX_URLS_PER_FILE
        body = _render_urlset(list(islice(_list_pages(world, request.host), max(0, start), start + MAX_URLS_PER_FILE)))
        return _xml_response(body) if body and start >= 0 else None
    pages = list(_list_pages(world, request.host))
    if not pages:
        return None
    if len(pages) <= MAX_URLS_PER_FILE:
        return _xml_response(_render_urlset(pages))
    files = [pages[offset : offset + MAX_URLS_PER_FILE] for offset in range(0, len(pages), MAX_URLS_PER_FILE)]
    latest = [max(last for _, last in file) for file in files]
    entries = [(f"{request.origin}/sitemap-{number}.xml", last) for number, last in enumerate(latest, 1)]
    return _xml_response(_render_document("sitemapindex", "sitemap", entries))


def _list_pages(world: World, host: str) -> Iterator[tuple[str, int]]:
    """Yield URL and latest capture time (seconds since the epoch) of every page of the host that a search engine would
    index.
    """
    captures: Iterator[Capture] = world.host_listing(host)
    for url, group in groupby(captures, key=lambda capture: capture.url):
        last = max(group, key=lambda capture: capture.time)
        if last.status == 200 and last.mime in ("text/html", "application/xhtml+xml", "application/pdf"):
            yield url, last.time


def _render_urlset(pages: list[tuple[str, int]]) -> bytes:
    """Return a `urlset` document; empty without pages."""
    return _render_document("urlset", "url", pages) if pages else b""


def _render_document(root: str, element: str, entries: list[tuple[str, int]]) -> bytes:
    """Return an XML document with one element for each URL and time."""
    days = ((escape(url), f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d}") for url, time in entries)
    lines = (f"<{element}><loc>{url}</loc><lastmod>{day}</lastmod></{element}>" for url, day in days)
    body = "\n".join(lines)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{_XMLNS}">\n{body}\n</{root}>\n'.encode()


def _xml_response(body: bytes) -> Response:
    return compose_response(200, b"application/xml", body, [(b"X-Webemu-Made", b"sitemap")])
