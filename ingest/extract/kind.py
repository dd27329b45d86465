"""Detection of a body's real media type: magic bytes first, then the header, as in mimesniff.spec.whatwg.org.

Containers of records (WARC, gzip, zip) are told apart elsewhere, in `webemu.ingest.formats`.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

HTML = frozenset({"text/html", "application/xhtml+xml"})
"""Media types that are read as HTML."""
_MAGIC_TYPES = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"\0\0\1\0", "image/x-icon"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OggS\0", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
)
_PROLOGUE = rb"(?>(?><!--.*?-->|<\?[^>]*>)\s*)*"
"""Comments and processing instructions before the first element."""
_HTML_TAG = re.compile(
    _PROLOGUE
    + rb"<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta|link)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
_ROOT_ELEMENT = re.compile(
    _PROLOGUE + rb"(?><![^>]*>\s*)?" + _PROLOGUE + rb"<([a-z][\w:.-]*)", re.IGNORECASE | re.DOTALL
)
_ROOT_TYPES = {
    b"html": "application/xhtml+xml",
    b"rss": "application/rss+xml",
    b"rdf:rdf": "application/rdf+xml",
    b"feed": "application/atom+xml",
    b"svg": "image/svg+xml",
}
"""Media types by the lower-case name of an XML document's root element."""
_HEADER_END = re.compile(r"[;,\s]")
"""End of the media type in a header. A blank counts too: `text/html charset=utf-8` is common, and browsers accept it.
"""
_UNINFORMATIVE_TYPES = frozenset(
    "text/plain application/octet-stream application/unknown unknown/unknown */* binary/octet-stream text "
    "application/x-download application/force-download content/unknown".split()
) | {""}
"""Media types of headers that say nothing about the content; the bytes decide instead."""
_SUFFIX_TYPES = {
    ".html": "text/html",
    ".htm": "text/html",
    ".json": "application/json",
    ".xml": "application/xml",
    ".css": "text/css",
    ".js": "text/javascript",
    ".csv": "text/csv",
}
"""Media types by the suffix of a URL's path, used last."""


def detect_media_type(body: bytes, declared: str | None, url: str) -> str:
    """Return the media type of a body in lower case. Never raises.

    `declared` is the Content-Type header.

        detect_media_type(b"%PDF-1.4", "text/html", "http://example.org/")  # "application/pdf"
    """
    header = _HEADER_END.split((declared or "").strip(), maxsplit=1)[0].lower()
    if magic := _detect_by_magic(body):
        # Office documents and e-books are ZIP files too: a more specific header is believed.
        return header if magic == "application/zip" and header not in _UNINFORMATIVE_TYPES else magic
    head = body[:2048]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head[2:].replace(b"\0", b"")  # UTF-16: good enough to match ASCII tags
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\t\n\f\r ")
    if head.startswith(b"<") and (markup := _detect_markup(head, header)):
        return markup
    return header if header not in _UNINFORMATIVE_TYPES else _detect_by_content(body, header, url)


def _detect_by_magic(body: bytes) -> str | None:
    for magic, media_type in _MAGIC_TYPES:
        if body.startswith(magic):
            return media_type
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    if body[4:8] == b"ftyp":
        return "video/mp4"
    return None


def _detect_markup(head: bytes, header: str) -> str | None:
    """Return the media type of a body that begins with a tag, or None if the header knows better.

    Scripts, for example, hold markup too.
    """
    is_xml = head.startswith(b"<?xml")
    if header in HTML and not is_xml:
        return header
    root = match[1].lower() if (match := _ROOT_ELEMENT.match(head)) else b""
    if (is_xml or header in _UNINFORMATIVE_TYPES) and root in _ROOT_TYPES and (root != b"html" or is_xml):
        return header if header in HTML and root == b"html" else _ROOT_TYPES[root]
    if header not in _UNINFORMATIVE_TYPES and header.startswith(("text/", "application/")):
        return None
    if _HTML_TAG.match(head):
        return "text/html"
    return "application/xml" if is_xml else None


def _detect_by_content(body: bytes, header: str, url: str) -> str:
    """Return the media type of a body that neither its header nor its first bytes name."""
    if b"\0" in body[:1024] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "application/octet-stream"
    if header == "text/plain":
        return header
    if not body:
        return header or "application/octet-stream"
    try:
        path = urlsplit(url).path.lower()
    except ValueError:
        path = ""
    return _SUFFIX_TYPES.get(path[path.rfind(".") :], "text/plain")
