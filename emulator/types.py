"""The words of the house, each defined once: what is asked of the web and what it answers.

Frozen values that cross rooms. No behaviour beyond decoding, no I/O.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

View = Literal["text", "markdown", "html", "links", "raw"]
"""How a page is wanted: readable text, markdown, decoded HTML, text with numbered links, or the bytes as recorded."""

VIEWS: tuple[View, ...] = ("text", "markdown", "html", "links", "raw")


@dataclass(frozen=True, slots=True)
class Query:
    """One search as asked, before its language is parsed."""

    text: str
    page: int = 1
    """1-based page of results."""
    size: int = 10
    """Results per page."""
    as_of: datetime | None = None
    """Only what the crawl had captured by this moment (UTC) exists; None is the whole crawl."""
    engine: str = ""
    """Which way of searching of those that the snapshot has; empty for its own."""
    explain: bool = False
    """Whether each result says what ranked it."""
    published: bool = False
    """Only pages that say on which day they were published, as searches for news need it."""


class Hit(NamedTuple):
    """One result. The texts are JSON string bodies (escaped UTF-8, without quotes), so a wire format pastes them.

    A named tuple, since making ten frozen dataclasses is a tenth of what a search costs beside the engine.
    """

    doc: int
    """Dense id inside the snapshot."""
    score: float
    url_json: bytes
    title_json: bytes
    snippet_json: bytes
    date: str
    """YYYY-MM-DD the page was published, else the day it was fetched."""
    language: str = ""
    """ISO 639-1 code of the page's language in the catalog, empty if it is unknown."""
    is_published: bool = False
    """True if the page itself says on which day it was published, so that `date` is that day."""

    @property
    def url(self) -> str:
        return _unescape(self.url_json)

    @property
    def title(self) -> str:
        return _unescape(self.title_json)

    @property
    def snippet(self) -> str:
        return _unescape(self.snippet_json)


def _unescape(body: bytes) -> str:
    text = body.decode()
    return str(json.loads(f'"{text}"')) if "\\" in text else text


@dataclass(frozen=True, slots=True)
class Results:
    """The answer to a `Query`."""

    query: Query
    hits: tuple[Hit, ...]
    more: bool
    """False if no result follows these; True if the ranking goes on."""
    snapshot: str
    explained: tuple[Mapping[str, float], ...] = ()
    """For each hit the signals that ranked it, where that was asked."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One visit as asked."""

    url: str
    view: View = "text"
    at: datetime | None = None
    """The capture nearest to this moment (UTC) is wanted; None is the latest successful one."""
    follow: bool = True
    """Follow captured redirects; False answers the 3xx itself."""


class Capture(NamedTuple):
    """Where one recorded answer of the web rests, and what the crawl knew of it. Named tuple: as for `Hit`."""

    url: str
    time: int
    """When it was fetched, seconds since the epoch, UTC."""
    status: int
    mime: str
    """Media type as detected, lower case, without parameters."""
    charset: str
    """Encoding found at ingest, WHATWG name; empty for bytes."""
    digest: str
    """Payload digest as `sha1:BASE32`, or empty."""
    redirect: str
    """Absolute target of a 3xx, else empty."""
    truncated: str
    """WARC-Truncated reason, else empty."""
    kind: str
    """WARC record type: response, revisit, resource, conversion."""
    file: str
    """WARC file that holds the payload (for a revisit: of the capture it points to)."""
    offset: int
    length: int
    """Bytes of the record inside the file; 0 when the payload is nowhere in the crawl."""
    doc: int
    """Dense id of its page view inside the snapshot, or -1."""
    declared: str = ""
    """Media type its server named, lower case, without parameters."""
    languages: str = ""
    """ISO 639-3 codes that the crawler found, joined by commas."""
    head: tuple[str, int, int] | None = None
    """(file, offset, length) of a revisit record, whose HTTP head goes with the payload unless it is a 304."""

    @property
    def record(self) -> tuple[str, int, int]:
        """File, offset and length of its own WARC record."""
        return self.head or (self.file, self.offset, self.length)


@dataclass(frozen=True, slots=True)
class Archive:
    """One WARC file of the crawl, under the name that it is known by outside."""

    name: str
    """Relative path, as Common Crawl's index has it; one of its kind in the snapshot."""
    crawl: str
    """Id of the crawl it is of, such as `CC-MAIN-2024-51`; empty if the file does not say."""
    path: str
    """Where it rests: as `Capture.file`."""
    first: int
    """When its first capture was fetched, seconds since the epoch; and its last."""
    last: int


class Payload(NamedTuple):
    """A recorded answer as it came over the wire, transfer coding removed, content coding kept."""

    status: int
    reason: str
    headers: tuple[tuple[bytes, bytes], ...]
    """Origin headers in their order and spelling, repeated ones kept."""
    body: bytes
    encoding: str
    """Content coding the body really carries: gzip, br, deflate, zstd or empty."""


@dataclass(frozen=True, slots=True)
class Page:
    """The answer to a `PageRequest` in any view but `raw`."""

    request: PageRequest
    capture: Capture
    redirects: tuple[str, ...]
    """URLs that answered 3xx on the way, in order, the asked one first."""
    title: str
    content: str
    snapshot: str


@dataclass(frozen=True, slots=True)
class Match:
    """One place a pattern was found in a page's text."""

    start: int
    """Offset in characters into the text view."""
    line: int
    """0-based line of the text view."""
    text: str
    """The surrounding text, on one line."""
