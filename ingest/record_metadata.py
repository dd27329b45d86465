"""Reads what other records say about a capture: its request, metadata of the crawler, and facts that a dump states.

`webemu.ingest.worker` joins them to their capture, which `webemu.ingest.capture` then reads.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

from webemu.emulator import urls
from webemu.emulator.exchange_keys import RECORDING_HEADER, ExchangeKeys, make_keys
from webemu.index.http import split_head
from webemu.index.record_head import read_target_url
from webemu.ingest.extract.types import Link
from webemu.ingest.records import Record

MAX_TITLE = 1000
"""Longest title of a page, in characters."""
DECLARED_TYPE = "application/x-webemu-page+json"
"""Content type of a metadata record with what a page of a dump declares: `published`, `language`, `links`."""
_LANGUAGE = re.compile(r"[A-Za-z0-9-]{1,20}")


class Declarations(NamedTuple):
    """Facts about a page of a dump besides its text, as `webemu export` writes them."""

    title: str
    published: date | None
    language: str | None
    headings: str
    description: str
    searchable: bool
    link_density: float
    links: list[Link]


@dataclass(frozen=True, slots=True)
class RequestMetadata:
    """Facts about a response from the request, metadata and warcinfo records around it."""

    method: str | None = None
    """HTTP method of the request record."""
    exchange: ExchangeKeys | None = None
    """Keys by which the request finds its response again; None if its URL alone does."""
    charset: str | None = None
    """Encoding that the crawler detected."""
    languages: tuple[tuple[str, str], ...] = ()
    """(ISO 639-1, ISO 639-3) codes that the crawler detected, the most frequent in the text first."""
    crawl_time: datetime | None = None
    """Time of the warcinfo record before the response."""
    declarations: Declarations | None = None
    """Facts about a page of a dump besides its text."""

    def __or__(self, other: RequestMetadata) -> RequestMetadata:
        """Return both, where fields of `self` take precedence."""
        return RequestMetadata(
            self.method or other.method,
            self.exchange or other.exchange,
            self.charset or other.charset,
            self.languages or other.languages,
            self.crawl_time or other.crawl_time,
            self.declarations or other.declarations,
        )


def parse_warc_fields(block: bytes) -> dict[str, str]:
    """Parse an application/warc-fields block into values by lower-case name."""
    pairs = (line.partition(":") for line in block.decode("utf-8", "replace").splitlines())
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def parse_request_metadata(record: Record) -> RequestMetadata:
    """Read what a request or metadata record says about its response.

    Charset and languages are those of Common Crawl's metadata records.
    """
    if record.type == "request":
        word = record.block[:16].split(b" ", 1)[0]
        method = word.decode() if word.isalpha() and word.isupper() else None
        return RequestMetadata(method=method, exchange=_read_exchange(record, method) if method else None)
    if record.get("Content-Type") == DECLARED_TYPE:
        return RequestMetadata(declarations=_parse_declarations(record.block))
    if not (record.get("Content-Type") or "").startswith("application/warc-fields"):
        return RequestMetadata()
    fields = parse_warc_fields(record.block)
    try:
        detections = json.loads(fields.get("languages-cld2", "{}")).get("languages", [])
        languages = tuple((str(one["code"]), str(one["code-iso-639-3"])) for one in detections)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        languages = ()
    if not all(_LANGUAGE.fullmatch(code) for codes in languages for code in codes):
        languages = ()
    return RequestMetadata(charset=fields.get("charset-detected"), languages=languages)


def _parse_declarations(block: bytes) -> Declarations | None:
    """Return what a metadata record of a dump says about its page; None if it cannot be read."""
    try:
        values = json.loads(block)
        stated_day, language = str(values.get("published", "")), str(values.get("language", ""))
        return Declarations(
            str(values["title"])[:MAX_TITLE],
            date.fromisoformat(stated_day[:10]) if stated_day else None,
            language if re.fullmatch("[a-z]{2}", language) else None,
            str(values.get("headings", "")),
            str(values.get("description", "")),
            values.get("searchable") is not False,
            min(1.0, max(0.0, float(values.get("link_density", 0.0)))),
            [(urls.normalize(target), str(anchor), str(rel)) for target, anchor, rel in values["links"]],
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _read_exchange(record: Record, method: str) -> ExchangeKeys | None:
    """Return the keys of a request record; None if the URL alone tells its response."""
    url = read_target_url(record.headers)
    if not url or (method in ("GET", "HEAD") and not record.get(RECORDING_HEADER)):
        return None
    head, body = split_head(record.block)
    headers: dict[bytes, bytes] = {}
    for name, colon, value in (line.partition(b":") for line in (head or b"").split(b"\n")[1:]):
        name, value = name.strip().lower(), value.strip()
        if colon:  # joined as for a request that is served (`webemu.api.http.request`)
            headers[name] = headers[name] + b", " + value if name in headers else value
    return make_keys(method, url, headers, body)
