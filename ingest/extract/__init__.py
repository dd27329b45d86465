"""Extraction of readable text and links from the body of any document.

`extract` detects the media type from the bytes and picks the reader for it. It takes bytes that are already decoded
from transfer and content codings, and never raises.
"""

from __future__ import annotations

from datetime import date

from webemu.index.markup import MAX_CHARACTERS
from webemu.ingest.extract.charset import sniff_charset
from webemu.ingest.extract.html import extract_html
from webemu.ingest.extract.kind import HTML, detect_media_type
from webemu.ingest.extract.non_html import extract_json, extract_pdf, extract_plain, extract_xml
from webemu.ingest.extract.types import Extracted

__all__ = ["Extracted", "detect_media_type", "extract", "extract_html", "sniff_charset"]

_MAX_BYTES = 4 * MAX_CHARACTERS
"""Bytes of a body that are decoded: a character takes at most four."""
_CODE_TYPES = frozenset(
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
    fetch_date: date | None,
) -> tuple[Extracted | None, str, str | None, str | None]:
    """Extract the text of a body and return (extraction, detected media type, charset, drop reason). Never raises.

    The extraction is None if the type bears no text; the charset is None for binary types. A drop reason next to an
    extraction says that only a part was read (`text-too-large`, `markup-too-deep`, `tag-too-large`, `pdf-too-long`) or
    that there was nothing to read (`no-text`). A drop reason without an extraction is `pdf-truncated`, `pdf-too-large`
    or `pdf-unreadable`.

    `truncated` is the value of WARC-Truncated. `fetch_date` bounds the publication date that is believed.

        document, media_type, charset, reason = extract(body, "text/html", "utf-8", url, None, None, None)
    """
    media_type = detect_media_type(body, declared_mime, url)
    if media_type == "application/pdf":
        pdf_document, reason = extract_pdf(body, truncated)
        return pdf_document, media_type, None, reason
    if not _is_text(media_type) or not body:
        return None, media_type, None, None
    charset = sniff_charset(body, http_charset, hint_charset, media_type)
    if media_type in _CODE_TYPES or media_type == "image/svg+xml":
        return None, media_type, charset, None
    # Decoders keep a BOM as a character; it is no part of the text.
    document = _extract_text(
        body[:_MAX_BYTES].decode(charset, "replace").removeprefix("\ufeff"), media_type, url, fetch_date
    )
    reason = document.cut_reason or ("text-too-large" if len(body) > _MAX_BYTES else None)
    return document, media_type, charset, reason or (None if document.text or document.title else "no-text")


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type.endswith(("json", "xml", "javascript"))


def _extract_text(source: str, media_type: str, url: str, fetch_date: date | None) -> Extracted:
    if media_type in HTML:
        return extract_html(source, url, fetch_date)
    if media_type.endswith("xml"):
        return extract_xml(source)
    return extract_json(source) if media_type.endswith("json") else extract_plain(source)
