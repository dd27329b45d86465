"""Conversion of one WARC record to rows of the catalog: a capture, and for a text a page with its links.

Takes whole records (`webemu.ingest.records`) and never raises on their content. It writes nothing; `webemu.ingest.worker` does.
"""

from __future__ import annotations

import json
import re
from base64 import b32encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from hashlib import blake2b, sha1
from typing import Any
from urllib.parse import urlsplit

from webemu.emulator import urls
from webemu.emulator.errors import PayloadError
from webemu.index.http import Message, decode_content, split_head
from webemu.index.payload_digests import agrees, digest_key
from webemu.index.payloads import MAX_PAYLOAD
from webemu.index.record_head import bare_url, message_of, target_url
from webemu.index.schema import MAX_SHOWN, URL_TOO_LARGE, is_url_too_large
from webemu.ingest.extract import Extracted, extract
from webemu.ingest.measures import measured
from webemu.ingest.records import Record
from webemu.ingest.times import UNKNOWN, capture_time, read_time

MAX_TITLE = 1000
"""Longest title of a page, in characters."""
TITLE = "X-Webemu-Title"
"""Header of a conversion record written by `webemu.ingest.dump` for a page whose title is not its first line."""
_LANGUAGE = re.compile(r"[A-Za-z0-9-]{1,20}")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\s;\"']+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Joined:
    """Facts about a response from the request, metadata and warcinfo records around it."""

    method: str | None = None
    """HTTP method of the request record."""
    charset: str | None = None
    """Encoding that the crawler detected."""
    languages: tuple[tuple[str, str], ...] = ()
    """(ISO 639-1, ISO 639-3) codes that the crawler detected, the most frequent in the text first."""
    crawl_time: datetime | None = None
    """Time of the warcinfo record before the response."""

    def __or__(self, other: Joined) -> Joined:
        """Return both, where fields of `self` take precedence."""
        return Joined(
            self.method or other.method,
            self.charset or other.charset,
            self.languages or other.languages,
            self.crawl_time or other.crawl_time,
        )


@dataclass(frozen=True, slots=True)
class Read:
    """Rows made of one record."""

    url: str
    """Target URL; empty if there is none."""
    row: dict[str, Any] | None
    """Columns of `captures` except source_id and warc_filename; None if the record gives no capture."""
    page: tuple[Any, ...] | None
    """Columns of `pages` after warc_record_offset; None if the record gives no page."""
    links: list[tuple[str, str, str]]
    """Links of the page, as `webemu.ingest.extract.types.Link`."""
    drops: list[tuple[str, int]]
    """Drops to count, as (reason, bytes)."""


def warc_fields(block: bytes) -> dict[str, str]:
    """Parse an application/warc-fields block into values by lower-case name."""
    pairs = (line.partition(":") for line in block.decode("utf-8", "replace").splitlines())
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def joined_from(record: Record) -> Joined:
    """Read what a request or metadata record says about its response.

    Charset and languages are those of Common Crawl's metadata records.
    """
    if record.type == "request":
        method = record.block[:16].split(b" ", 1)[0]
        return Joined(method=method.decode() if method.isalpha() and method.isupper() else None)
    if not (record.get("Content-Type") or "").startswith("application/warc-fields"):
        return Joined()
    fields = warc_fields(record.block)
    try:
        found = json.loads(fields.get("languages-cld2", "{}")).get("languages", [])
        languages = tuple((str(one["code"]), str(one["code-iso-639-3"])) for one in found)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        languages = ()
    if not all(_LANGUAGE.fullmatch(code) for codes in languages for code in codes):
        languages = ()
    return Joined(charset=fields.get("charset-detected"), languages=languages)


def read_capture(record: Record, joined: Joined, crawl: str | None, *, textless: bool = False) -> Read:
    """Read one response, revisit, resource or conversion record. Never raises because of a record's content.

    `crawl` is the name of the crawl. `without_text` keeps the capture but does not extract its text: a record that
    crashed the extractor is read again in this way.
    """
    url = target_url(record.headers)
    if not url:
        return Read("", None, None, [], [("no-target-uri", record.declared_length)])
    if is_url_too_large(url):
        return Read(url[:MAX_SHOWN], None, None, [], [(URL_TOO_LARGE, record.declared_length)])
    if record.oversized:
        return Read(url, None, None, [], [("oversized-record", record.declared_length)])
    message = message_of(record.headers, record.block)
    http_date = _header(message, b"date") if message else ""
    time, flaw = capture_time(record.get("WARC-Date"), http_date, joined.crawl_time)
    drops = [(flaw, 0)] if flaw else []
    if _is_damaged(record, message):
        drops.append(("digest-mismatch", len(record.block)))
    row = _where(record, url, time, joined, crawl)
    if message is None:
        row["fetch_status"] = 0
        return Read(url, row, None, [], [*drops, ("no-http-head", len(record.block))])
    row["fetch_status"] = message.status
    row["payload_bytes"] = len(message.body)
    location = _header(message, b"location")
    if location and 300 <= message.status < 400:
        row["fetch_redirect"] = urls.resolve(url, location) or None
    if record.type == "revisit":  # its body is that of another record
        _set_digest(row, record.get("WARC-Payload-Digest"))
        return Read(url, row, None, [], drops)
    _set_digest(row, record.get("WARC-Payload-Digest") or _sha1(message.body))
    found = None if textless else _text(message, url, row, joined, None if time == UNKNOWN else time.date(), drops)
    if textless:
        drops.append(("extractor-crashed", len(message.body)))
    if found is None or row["url_protocol"] not in ("http", "https"):
        return Read(url, row, None, [], drops)
    if record.type == "conversion" and (title := record.get(TITLE)):
        found = replace(found, title=title)
    page = _page(found, url, row, joined, record.type)
    return Read(url, row, page, found.links if record.type != "conversion" else [], drops)


def _where(record: Record, url: str, time: datetime, joined: Joined, crawl: str | None) -> dict[str, Any]:
    """Return the columns of `captures` that follow from the URL and the WARC headers."""
    host = urls.host(url)
    try:
        # The port is parsed on access, and raises ValueError if it is out of range.
        parts = urlsplit(url)
        port, path, query, scheme = parts.port, parts.path, parts.query, parts.scheme
    except ValueError:
        port, path, query, scheme = None, "", "", url.partition(":")[0].lower()
    refers = record.get("WARC-Refers-To-Target-URI")
    return {
        "url_surtkey": urls.surt(url),
        "url": url,
        "url_host_name": host,
        "url_host_tld": host.rpartition(".")[2],
        "url_host_registered_domain": urls.domain(host)[0],
        "url_protocol": scheme,
        "url_port": port,
        "url_path": path,
        "url_query": query or None,
        "fetch_time": time,
        "content_languages": ",".join(code for _, code in joined.languages) or None,
        "content_truncated": record.get("WARC-Truncated"),
        "warc_record_id": _record_id(record.get("WARC-Record-ID")),
        "warc_record_offset": record.offset,
        "warc_record_length": record.length,
        "crawl": crawl,
        "warc_record_type": record.type,
        "request_method": joined.method,
        "refers_to_url": bare_url(refers) if refers else None,
        "refers_to_time": read_time(record.get("WARC-Refers-To-Date")),
        "refers_to_id": _record_id(record.get("WARC-Refers-To")),
        "payload_bytes": 0,
    }


def _record_id(stated: str | None) -> str | None:
    return (stated or "").strip("<> ").removeprefix("urn:uuid:") or None


def _header(message: Message, name: bytes) -> str:
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
    if agrees(record.get("WARC-Block-Digest") or "", (record.block,)) is False:
        return True
    stated = record.get("WARC-Payload-Digest") if message and record.type != "revisit" else None
    return message is not None and agrees(stated or "", _payloads(record, message)) is False


def _payloads(record: Record, message: Message) -> Iterator[bytes]:
    """Yield what writers take for the payload: the body with or without its codings, or the whole block."""
    yield message.body
    yield split_head(record.block)[1]
    with suppress(PayloadError):
        yield decode_content(message.body, message.headers, MAX_PAYLOAD)[0]
    yield record.block


def _set_digest(row: dict[str, Any], stated: str | None) -> None:
    row["content_digest"], row["digest_key"] = stated, digest_key(stated) if stated else None


def _sha1(body: bytes) -> str:
    return "sha1:" + b32encode(sha1(body).digest()).decode()


def _text(
    message: Message, url: str, row: dict[str, Any], joined: Joined, fetched: date | None, drops: list[tuple[str, int]]
) -> Extracted | None:
    """Decode and extract a message. Fills the content columns of `row`, adds to `drops`. None if there is no text."""
    declared = _header(message, b"content-type")
    row["content_mime_type"] = declared.partition(";")[0].strip().lower() or None
    row["content_mime_detected"] = row["content_mime_type"]
    try:
        body, _ = decode_content(message.body, message.headers, MAX_PAYLOAD)
    except PayloadError as error:
        drops.append((error.reason, len(message.body)))
        return None
    named = _CHARSET.search(declared)
    charset = named[1].lower() if named else None
    found, detected, encoding, reason = extract(
        body, row["content_mime_type"], charset, url, joined.charset, row["content_truncated"], fetched
    )
    row["content_mime_detected"] = detected
    row["content_charset"] = encoding
    if reason:
        drops.append((reason, len(message.body)))
    return found


def _page(found: Extracted, url: str, row: dict[str, Any], joined: Joined, kind: str) -> tuple[Any, ...] | None:
    """Return the columns of `pages`, or None if the document has neither text nor title."""
    title, text = " ".join(found.title.split())[:MAX_TITLE], found.text
    # WET records have no title; the first line of their text usually is one.
    if kind == "conversion" and not title:
        title = text.partition("\n")[0][:200].strip()
    if not text and not title:
        return None
    language = joined.languages[0][0] if joined.languages else found.language
    digest = blake2b(" ".join(text.split()).encode("utf-8", "replace"), digest_size=8).digest()
    searchable = (
        (row["fetch_status"] == 200 or kind in ("resource", "conversion"))
        and bool(text)
        and not found.noindex
        and row["url_path"] != "/robots.txt"
    )
    return (
        url,
        title,
        text,
        found.headings,
        found.description,
        language,
        found.published,
        int.from_bytes(digest) >> 1,  # 63 bits: the column is a signed 64-bit integer
        found.words,
        found.link_density,
        searchable,
        *measured(text, found.words),
    )
