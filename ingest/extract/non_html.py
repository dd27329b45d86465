"""Extraction from documents that are not HTML: plain text, XML and feeds, JSON, PDF. Each reader has size limits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import escape, unescape

import pypdfium2

from webemu.index.content import tidy
from webemu.index.markup import MAX_CHARACTERS
from webemu.ingest.extract.html import count_words
from webemu.ingest.extract.language import detect_language
from webemu.ingest.extract.types import Extracted

MAX_PDF_BYTES = 64 << 20
"""Largest PDF that is parsed, in bytes."""
MAX_PDF_PAGES = 200
"""Pages of a PDF that are read."""
_MAX_JSON_LINES = 100_000
_CDATA_PATTERN = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_NON_TEXT = re.compile(
    r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!DOCTYPE[^<>\[]*+(?:>|\[.*?(?:\]\s*>|\Z))", re.DOTALL | re.IGNORECASE
)
"""Comments, processing instructions and doctypes, whose content is not text."""
_SITEMAP = re.compile(r"\s*<(?:\w{1,20}:)?(?:urlset|sitemapindex)[\s>]")
"""Start of a sitemap (sitemaps.org): addresses for crawlers, which no search engine shows."""
_TAG_PATTERN = re.compile(r"</?[a-zA-Z][^<>]*>")
_TITLE_PATTERN = re.compile(r"<(?:\w{1,20}:)?title(?:\s[^<>]*)?>([^<]*)", re.IGNORECASE)
_UNPRINTABLE = re.compile(r"[\0-\x08\x0b-\x1f\x7f\ufeff\ufffe]+")


def _build_extraction(title: str, text: str, cut_reason: str | None = None) -> Extracted:
    """Return the extraction of a text, cut at the size limit; `cut_reason` says why it was cut before."""
    if len(text) > MAX_CHARACTERS:
        text, cut_reason = text[:MAX_CHARACTERS], "text-too-large"
    return Extracted(
        title=title, text=text, language=detect_language(text), word_count=count_words(text), cut_reason=cut_reason
    )


def clean_text(text: str) -> str:
    """Return the text with uniform line ends, without control characters, and with surrogates replaced."""
    text = _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text.encode("utf-8", "replace").decode()


def extract_plain(source: str) -> Extracted:
    """Extract plain text as it stands."""
    return _build_extraction("", clean_text(source[: MAX_CHARACTERS + 1]).strip())


def extract_xml(source: str) -> Extracted:
    """Extract the text content and first title of any XML, well-formed or not. Markup inside content is removed."""
    cut_reason = "text-too-large" if len(source) > MAX_CHARACTERS else None
    source = _CDATA_PATTERN.sub(lambda document: escape(document[1], quote=False), source[:MAX_CHARACTERS])
    source = _NON_TEXT.sub("", source)
    title = _TITLE_PATTERN.search(source)
    text = unescape(_TAG_PATTERN.sub("\n", source))
    if "<" in text:  # content that was escaped or in CDATA, as feeds have it
        text = unescape(_TAG_PATTERN.sub(" ", text))
    lines = (" ".join(line.split()) for line in clean_text(text).split("\n"))
    document = _build_extraction(_clean_title(title[1]) if title else "", "\n".join(line for line in lines if line))
    return replace(document, cut_reason=document.cut_reason or cut_reason, is_noindex=bool(_SITEMAP.match(source)))


def _clean_title(markup: str) -> str:
    return " ".join(clean_text(_TAG_PATTERN.sub(" ", unescape(markup))).split())[:1000]


def extract_json(source: str) -> Extracted:
    """Extract JSON as `key: value` lines, indented by depth. Invalid JSON is read as plain text."""
    if len(source) > MAX_CHARACTERS:
        return extract_plain(source)
    try:
        value = json.loads(source)
    except (ValueError, RecursionError):
        return extract_plain(source)
    lines: list[str] = []
    for line in _iter_lines(value):
        lines.append(line)
        if len(lines) >= _MAX_JSON_LINES:
            return _build_extraction("", clean_text("\n".join(lines)), "text-too-large")
    return _build_extraction("", clean_text("\n".join(lines)))


def _iter_lines(value: object) -> Iterator[str]:
    """Yield the lines of a JSON value, depth first without recursion: a stack of (indent, label, value)."""
    stack: list[tuple[int, str, object]] = [(0, "", value)]
    while stack:
        indent, label, node = stack.pop()
        margin = "  " * min(indent, 20)
        if isinstance(node, dict | list):
            if label:
                yield f"{margin}{label}:"
            pairs = list(node.items()) if isinstance(node, dict) else [("", inner) for inner in node]
            stack.extend((indent + bool(label), key, inner) for key, inner in reversed(pairs))
        elif node is not None and node != "":
            yield margin + (f"{label}: {node}" if label else str(node))


def extract_pdf(body: bytes, truncated: str | None) -> tuple[Extracted | None, str | None]:
    """Extract a PDF and return (extraction, drop reason).

    A file that the crawler cut is not parsed, unless it ends with the marker of a complete PDF.
    """
    if truncated and b"%%EOF" not in body[-1024:]:
        return None, "pdf-truncated"
    if len(body) > MAX_PDF_BYTES:
        return None, "pdf-too-large"
    try:
        title, text, cut_reason = _read_pdf(body)
    except Exception:  # pdfium reports damage in several ways, and ctypes adds its own
        return None, "pdf-unreadable"
    document = _build_extraction(title, tidy(clean_text(text)), cut_reason)
    return document, document.cut_reason or (None if document.text else "no-text")


def _read_pdf(body: bytes) -> tuple[str, str, str | None]:
    """Return (title, text, reason if pages were left out). Raises whatever pdfium raises on damage."""
    document = pypdfium2.PdfDocument(body)
    try:
        title = " ".join(clean_text(document.get_metadata_value("Title")).split())[:1000]
        texts: list[str] = []
        size = 0
        for number in range(min(len(document), MAX_PDF_PAGES)):
            texts.append(_read_pdf_page(document, number))
            size += len(texts[-1])
            if size > MAX_CHARACTERS:
                break
        return title, "\n\n".join(texts), "pdf-too-long" if len(document) > len(texts) else None
    finally:
        document.close()


def _read_pdf_page(document: pypdfium2.PdfDocument, number: int) -> str:
    """Return the text of a page. A damaged page is empty and does not end its document."""
    try:
        page = document[number]
        return str(page.get_textpage().get_text_range())
    except pypdfium2.PdfiumError:
        return ""
