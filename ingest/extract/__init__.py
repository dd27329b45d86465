"""Bytes of any kind become readable text and links: `extract` chooses the reader by what the bytes are."""

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
_PROGRAMS = frozenset(
    {"text/css", "text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript"}
)


def extract(
    body: bytes,
    declared_mime: str | None,
    http_charset: str | None,
    url: str,
    hint_charset: str | None,
    truncated: str | None,
    fetched: date | None,
) -> tuple[Extracted | None, str, str | None, str | None]:
    """(extraction, detected media type, charset, drop reason). Never raises.

    The extraction is None where the type bears no text; the charset is None for binary types. A drop reason beside an
    extraction says that only a part was read (`text-too-large`, `markup-too-deep`, `tag-too-large`, `pdf-too-long`) or
    that there was nothing to read (`no-text`); without one: `pdf-truncated`, `pdf-too-large`, `pdf-unreadable`.
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
