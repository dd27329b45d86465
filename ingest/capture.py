"""Conversion of one WARC record to rows of the catalog: a capture, and for a text a page with its links.

Takes whole records (`webemu.ingest.records`) and never raises on their content. It writes nothing;
`webemu.ingest.worker` does.
"""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from hashlib import blake2b, sha1
from typing import NamedTuple, NotRequired, TypedDict
from urllib.parse import urlsplit

from webemu.emulator import urls
from webemu.emulator.errors import PayloadError
from webemu.index.http import Message, decode_content, split_head
from webemu.index.payload_digests import matches_any, normalize_digest
from webemu.index.payloads import MAX_PAYLOAD
from webemu.index.record_head import parse_message, read_target_url, strip_url
from webemu.index.schema import MAX_DROP_URL_CHARACTERS, URL_TOO_LARGE, is_url_too_large
from webemu.ingest.extract import Extracted, extract
from webemu.ingest.measures import QualityFeatures, measure_quality
from webemu.ingest.record_metadata import MAX_TITLE, RequestMetadata
from webemu.ingest.records import Record
from webemu.ingest.times import UNKNOWN, determine_capture_time, read_time

TITLE_HEADER = "X-Webemu-Title"
"""Header of a conversion record written by `webemu.ingest.dump` for a page whose title is not its first line."""
_API_TYPES = re.compile(r"[/+](?:x-)?(?:nd)?json\b|event-stream")
"""Media types of answers that services give to programs."""
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\s;\"']+)", re.IGNORECASE)


class CaptureColumns(TypedDict):
    """Columns of `captures` except source_id and warc_filename; those that are not required are null if missing.

    It is a dictionary because its text is hashed (`webemu.ingest.worker`), in the order in which columns were set.
    """

    url_surtkey: str
    url: str
    url_host_name: str
    url_host_tld: str
    url_host_registered_domain: str
    url_protocol: str
    url_port: int | None
    url_path: str
    url_query: str | None
    fetch_time: datetime
    fetch_status: NotRequired[int]
    fetch_redirect: NotRequired[str | None]
    content_digest: NotRequired[str | None]
    content_mime_type: NotRequired[str | None]
    content_mime_detected: NotRequired[str | None]
    content_charset: NotRequired[str | None]
    content_languages: str | None
    content_truncated: str | None
    warc_record_id: str | None
    warc_record_offset: int
    warc_record_length: int
    crawl: str | None
    warc_record_type: str
    request_method: str | None
    refers_to_url: str | None
    refers_to_time: datetime | None
    payload_bytes: int
    digest_key: NotRequired[str | None]
    refers_to_id: str | None


class PageColumns(NamedTuple):
    """Columns of `pages` after warc_record_offset, in the order of the schema."""

    url: str
    title: str
    text: str
    headings: str
    description: str
    language: str | None
    published: date | None
    text_hash: int
    words: int
    link_density: float
    searchable: bool
    quality: QualityFeatures
    """All further columns."""

    def flatten(self) -> tuple[object, ...]:
        """Return the value of each column."""
        return (*self[:-1], *self.quality)


@dataclass(frozen=True, slots=True)
class CaptureRows:
    """Rows made of one record."""

    url: str
    """Target URL; empty if there is none."""
    row: CaptureColumns | None
    """None if the record gives no capture."""
    page: PageColumns | None
    """None if the record gives no page."""
    links: list[tuple[str, str, str]]
    """Links of the page, as `webemu.ingest.extract.types.Link`."""
    drops: list[tuple[str, int]]
    """Drops to count, as (reason, bytes)."""


def read_capture(
    record: Record, metadata: RequestMetadata, crawl: str | None, *, without_text: bool = False
) -> CaptureRows:
    """Read one response, revisit, resource or conversion record. Never raises because of a record's content.

    `crawl` is the name of the crawl. `without_text` keeps the capture but does not extract its text: a record that
    crashed the extractor is read again in this way.
    """
    url = read_target_url(record.headers)
    if not url:
        return CaptureRows("", None, None, [], [("no-target-uri", record.declared_length)])
    if is_url_too_large(url):
        return CaptureRows(url[:MAX_DROP_URL_CHARACTERS], None, None, [], [(URL_TOO_LARGE, record.declared_length)])
    if record.is_oversized:
        return CaptureRows(url, None, None, [], [("oversized-record", record.declared_length)])
    message = parse_message(record.headers, record.block)
    http_date = _get_http_header(message, b"date") if message else ""
    time, date_flaw = determine_capture_time(record.get("WARC-Date"), http_date, metadata.crawl_time)
    drops = [(date_flaw, 0)] if date_flaw else []
    if _is_damaged(record, message):
        drops.append(("digest-mismatch", len(record.block)))
    row = _build_capture_columns(record, url, time, metadata, crawl)
    if message is None:
        row["fetch_status"] = 0
        return CaptureRows(url, row, None, [], [*drops, ("no-http-head", len(record.block))])
    row["fetch_status"] = message.status
    row["payload_bytes"] = len(message.body)
    location = _get_http_header(message, b"location")
    if location and 300 <= message.status < 400:
        row["fetch_redirect"] = urls.resolve(url, location) or None
    if record.type == "revisit":  # its body is that of another record
        _set_digest(row, record.get("WARC-Payload-Digest"))
        return CaptureRows(url, row, None, [], drops)
    _set_digest(row, record.get("WARC-Payload-Digest") or _format_sha1(message.body))
    document = (
        None
        if without_text
        else _extract_text(message, url, row, metadata, None if time == UNKNOWN else time.date(), drops)
    )
    if without_text:
        drops.append(("extractor-crashed", len(message.body)))
    if document is None or row["url_protocol"] not in ("http", "https"):
        return CaptureRows(url, row, None, [], drops)
    if record.type == "conversion" and (title := record.get(TITLE_HEADER)):
        document = replace(document, title=title)
    page = _adjust_page(_build_page_columns(document, url, row, metadata, record.type), row, metadata, record.type)
    if record.type == "conversion":
        return CaptureRows(url, row, page, metadata.declarations.links if metadata.declarations else [], drops)
    return CaptureRows(url, row, page, document.links, drops)


def _adjust_page(
    page: PageColumns | None, row: CaptureColumns, metadata: RequestMetadata, record_type: str
) -> PageColumns | None:
    """Return a page with the facts that a dump states about it; the answer of a service is kept from searches."""
    if page is None:
        return None
    if record_type == "conversion" and (declared := metadata.declarations):
        page = page._replace(
            title=declared.title,
            published=declared.published,
            language=declared.language,
            headings=declared.headings,
            description=declared.description,
            searchable=page.searchable and declared.searchable,
            link_density=declared.link_density,
        )
    is_answer = metadata.exchange is not None and _API_TYPES.search(row["content_mime_detected"] or "")
    return page._replace(searchable=False) if is_answer else page


def _build_capture_columns(
    record: Record, url: str, time: datetime, metadata: RequestMetadata, crawl: str | None
) -> CaptureColumns:
    """Return the columns of `captures` that follow from the URL and the WARC headers."""
    host = urls.host_of(url)
    try:
        # The port is parsed on access, and raises ValueError if it is out of range.
        parts = urlsplit(url)
        port, path, query, scheme = parts.port, parts.path, parts.query, parts.scheme
    except ValueError:
        port, path, query, scheme = None, "", "", url.partition(":")[0].lower()
    referred_url = record.get("WARC-Refers-To-Target-URI")
    return {
        "url_surtkey": urls.surt_key(url),
        "url": url,
        "url_host_name": host,
        "url_host_tld": host.rpartition(".")[2],
        "url_host_registered_domain": urls.split_domain(host)[0],
        "url_protocol": scheme,
        "url_port": port,
        "url_path": path,
        "url_query": query or None,
        "fetch_time": time,
        "content_languages": ",".join(code for _, code in metadata.languages) or None,
        "content_truncated": record.get("WARC-Truncated"),
        "warc_record_id": _record_id(record.get("WARC-Record-ID")),
        "warc_record_offset": record.offset,
        "warc_record_length": record.length,
        "crawl": crawl,
        "warc_record_type": record.type,
        "request_method": metadata.method,
        "refers_to_url": strip_url(referred_url) if referred_url else None,
        "refers_to_time": read_time(record.get("WARC-Refers-To-Date")),
        "refers_to_id": _record_id(record.get("WARC-Refers-To")),
        "payload_bytes": 0,
    }


def _record_id(stated: str | None) -> str | None:
    return (stated or "").strip("<> ").removeprefix("urn:uuid:") or None


def _get_http_header(message: Message, name: bytes) -> str:
    """Return the first value of an HTTP header, empty if there is none. `name` is in lower case."""
    for key, value in message.headers:
        if key.lower() == name:
            return value.decode("utf-8", "replace")
    return ""


def _is_damaged(record: Record, message: Message | None) -> bool:
    """True if a digest in the record's head does not match the bytes.

    A record that was cut is not damaged, nor is one whose line ends were changed after it was written.
    """
    if record.get("WARC-Truncated") or record.has_other_length:
        return False
    if matches_any(record.get("WARC-Block-Digest") or "", (record.block,)) is False:
        return True
    stated = record.get("WARC-Payload-Digest") if message and record.type != "revisit" else None
    return message is not None and matches_any(stated or "", _iter_payload_candidates(record, message)) is False


def _iter_payload_candidates(record: Record, message: Message) -> Iterator[bytes]:
    """Yield what writers take for the payload: the body with or without its codings, or the whole block."""
    yield message.body
    yield split_head(record.block)[1]
    with suppress(PayloadError):
        yield decode_content(message.body, message.headers, MAX_PAYLOAD)[0]
    yield record.block


def _set_digest(row: CaptureColumns, stated: str | None) -> None:
    row["content_digest"], row["digest_key"] = stated, normalize_digest(stated) if stated else None


def _format_sha1(body: bytes) -> str:
    return "sha1:" + b32encode(sha1(body).digest()).decode()


def _extract_text(
    message: Message,
    url: str,
    row: CaptureColumns,
    metadata: RequestMetadata,
    fetch_date: date | None,
    drops: list[tuple[str, int]],
) -> Extracted | None:
    """Decode and extract a message. Fills the content columns of `row`, adds to `drops`. None if there is no text."""
    content_type = _get_http_header(message, b"content-type")
    row["content_mime_type"] = content_type.partition(";")[0].strip().lower() or None
    row["content_mime_detected"] = row["content_mime_type"]
    try:
        body, _ = decode_content(message.body, message.headers, MAX_PAYLOAD)
    except PayloadError as error:
        drops.append((error.reason, len(message.body)))
        return None
    charset_match = _CHARSET.search(content_type)
    charset = charset_match[1].lower() if charset_match else None
    document, media_type, encoding, reason = extract(
        body, row["content_mime_type"], charset, url, metadata.charset, row["content_truncated"], fetch_date
    )
    row["content_mime_detected"] = media_type
    row["content_charset"] = encoding
    if reason:
        drops.append((reason, len(message.body)))
    return document


def _build_page_columns(
    document: Extracted, url: str, row: CaptureColumns, metadata: RequestMetadata, record_type: str
) -> PageColumns | None:
    """Return the columns of `pages`, or None if the document has neither text nor title."""
    title, text = " ".join(document.title.split())[:MAX_TITLE], document.text
    # WET records have no title; the first line of their text usually is one.
    if record_type == "conversion" and not title:
        title = text.partition("\n")[0][:200].strip()
    if not text and not title:
        return None
    language = metadata.languages[0][0] if metadata.languages else document.language
    digest = blake2b(" ".join(text.split()).encode("utf-8", "replace"), digest_size=8).digest()
    searchable = (
        (row["fetch_status"] == 200 or record_type in ("resource", "conversion"))
        and bool(text)
        and not document.is_noindex
        and row["url_path"] != "/robots.txt"
    )
    return PageColumns(
        url,
        title,
        text,
        document.headings,
        document.description,
        language,
        document.publish_date,
        int.from_bytes(digest) >> 1,  # 63 bits: the column is a signed 64-bit integer
        document.word_count,
        document.link_density,
        searchable,
        measure_quality(text, document.word_count),
    )
