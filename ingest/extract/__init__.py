"""Extraction of readable text and links from the body of any document.

`extract` detects the media type from the bytes and picks the reader for it. It takes bytes that are already decoded
from transfer and content codings, and never raises.
"""

from __future__ import annotations

from datetime import date

from webemu.index.markup import MAX_CHARACTERS
from webemu.ingest.extract.charset import sniff
from webemu.ingest.extract.html import extract_html
from webemu.ingest.extract.kind import HTML, kind_of
from webemu.ingest.extract.non_html import extract_json, extract_pdf, extract_plain, extract_xml
from webemu.ingest.extract.types import Extracted

__all__ = ["Extracted", "extract", "extract_html", "kind_of", "sniff"]

_MAX_BYTES = 4 * MAX_CHARACTERS
"""Bytes of a body that are decoded: a character takes at most four."""
_PROGRAMS = frozenset(
    {"text/css", "text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript"}
)
"""Textual types that hold code and so give no page."""


def extract(
    body: bytes,
    declared_mime: str | None,
    http_charset: str | None,
    url: str,
    hint_charset: str | None,
    truncated: str | None,
    fetched: date | None,
) -> tuple[Extracted | None, str, str | None, str | None]:
    """Extract the text of a body and return (extraction, detected media type, charset, drop reason). Never raises.

    The extraction is None if the type bears no text; the charset is None for binary types. A drop reason next to an
    extraction says that only a part was read (`text-too-large`, `markup-too-deep`, `tag-too-large`, `pdf-too-long`) or
    that there was nothing to read (`no-text`). A drop reason without an extraction is `pdf-truncated`, `pdf-too-large`
    or `pdf-unreadable`.

    `truncated` is the value of WARC-Truncated. `fetch_date` bounds the publication date that is believed.

        document, media_type, charset, reason = extract(body, "text/html", "utf-8", url, None, None, None)
    """
    kind = kind_of(body, declared_mime, url)
    if kind == "application/pdf":
        found, reason = extract_pdf(body, truncated)
        return found, kind, None, reason
    if not _is_text(kind) or not body:
        return None, kind, None, None
    charset = sniff(body, http_charset, hint_charset, kind)
    if kind in _PROGRAMS or kind == "image/svg+xml":
        return None, kind, charset, None
    # Decoders keep a BOM as a character; it is no part of the text.
    document = _read(body[:_MAX_BYTES].decode(charset, "replace").removeprefix("\ufeff"), kind, url, fetched)
    reason = document.cut or ("text-too-large" if len(body) > _MAX_BYTES else None)
    return document, kind, charset, reason or (None if document.text or document.title else "no-text")


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind.endswith(("json", "xml", "javascript"))


def _read(source: str, kind: str, url: str, fetched: date | None) -> Extracted:
    if kind in HTML:
        return extract_html(source, url, fetched)
    if kind.endswith("xml"):
        return extract_xml(source)
    return extract_json(source) if kind.endswith("json") else extract_plain(source)
