"""Value types that all packages share: requests to the emulated web and its answers.

Frozen values without I/O; their only behaviour is decoding. Errors are in `webemu.emulator.errors`, the code that
answers is in `webemu.emulator.world`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from webemu.emulator.snippet_style import SnippetStyle

View = Literal["text", "markdown", "html", "links", "raw"]
"""Form of a page: readable text, markdown, decoded HTML, text with numbered links, or the bytes as recorded."""

VIEWS: tuple[View, ...] = ("text", "markdown", "html", "links", "raw")
"""All views, in the order in which errors and docs list them."""


@dataclass(frozen=True, slots=True)
class Query:
    """One search request; `text` is not parsed yet (`webemu.emulator.query`)."""

    text: str
    page: int = 1
    """Page of results, from 1."""
    size: int = 10
    """Results per page."""
    as_of: datetime | None = None
    """Search the web as it was captured up to this moment (UTC); None searches the whole crawl."""
    engine: str = ""
    """Name of one of the snapshot's rankers; empty for its default."""
    explain: bool = False
    """True if each result shall carry the signals that ranked it."""
    published: bool = False
    """True to return only pages that state their own publication day, as news search needs."""
    is_strict: bool = False
    """True if phrases and `+word` bind though few pages meet them, and every dash before a word excludes it."""
    snippet: SnippetStyle = "short"
    """Length of the snippets."""
    keeps_spelling: bool = False
    """True to ask for misspelled words as typed."""

    @property
    def depth(self) -> int:
        """Number of results that must be ranked for the page."""
        return self.page * self.size


class Correction(NamedTuple):
    """Words of a query that are asked for in another spelling."""

    typed: str
    """The word as typed, or two with a space between them."""
    replacement: str


class Hit(NamedTuple):
    """One search result.

    The texts are JSON string bodies (escaped UTF-8 without quotes), so that a wire format can paste them. It is a
    named tuple because creating ten frozen dataclasses costs a tenth of a search outside the engine.
    """

    doc: int
    """Dense id inside the snapshot."""
    score: float
    url_json: bytes
    title_json: bytes
    snippet_json: bytes
    date: str
    """YYYY-MM-DD of the publication, else of the capture."""
    language: str = ""
    """ISO 639-1 code of the page's language in the catalog; empty if unknown."""
    is_published: bool = False
    """True if the page itself states its publication day, which is then `date`."""

    @property
    def url(self) -> str:
        """The decoded URL."""
        return _unescape(self.url_json)

    @property
    def title(self) -> str:
        """The decoded title."""
        return _unescape(self.title_json)

    @property
    def snippet(self) -> str:
        """The decoded snippet."""
        return _unescape(self.snippet_json)


def _unescape(body: bytes) -> str:
    """Return the text of a JSON string body."""
    text = body.decode()
    return str(json.loads(f'"{text}"')) if "\\" in text else text


@dataclass(frozen=True, slots=True)
class Results:
    """One page of results."""

    query: Query
    hits: tuple[Hit, ...]
    more: bool
    """True if the ranking goes on after these results."""
    snapshot: str
    """Id of the snapshot that answered."""
    explanations: tuple[Mapping[str, float], ...] = ()
    """Signals that ranked each hit, in the order of `hits`; empty unless the query asked for them."""
    relaxed: tuple[str, ...] = ()
    """Conditions, as typed, that results up to the last of these need not meet since few pages do; empty if all are
    met.
    """
    corrections: tuple[Correction, ...] = ()
    """Words of the query that were asked for in another spelling; `webemu.emulator.spelling` applies them to a text."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for one page."""

    url: str
    view: View = "text"
    at_time: datetime | None = None
    """Choose the capture nearest to this moment (UTC); None chooses the latest successful one."""
    follow: bool = True
    """True to follow captured redirects; False returns the 3xx response itself."""


class Capture(NamedTuple):
    """One captured response of the web: location of its record, and what the crawl knew about it.

    A named tuple for speed, like `Hit`.
    """

    url: str
    time: int
    """Time of the capture, in seconds since the epoch (UTC)."""
    status: int
    """HTTP status as recorded."""
    mime: str
    """Detected media type, lower case, without parameters."""
    charset: str
    """Encoding found at ingest, as a WHATWG name; empty for binary content."""
    digest: str
    """Payload digest as `sha1:BASE32`; empty if unknown."""
    redirect: str
    """Absolute target of a 3xx response, else empty."""
    truncated: str
    """WARC-Truncated reason; empty if the record is complete."""
    kind: str
    """WARC record type: response, revisit, resource or conversion."""
    file: str
    """WARC file that holds the payload; for a revisit, the file of the capture that it refers to."""
    offset: int
    """Byte at which that record begins in the file."""
    length: int
    """Length of that record in the file, in bytes; 0 if the payload is nowhere in the crawl."""
    doc: int
    """Dense id of its page in the snapshot; -1 if it has no indexed text."""
    declared: str = ""
    """Media type that the server declared, lower case, without parameters."""
    languages: str = ""
    """ISO 639-3 codes that the crawler detected, joined by commas."""
    head: tuple[str, int, int] | None = None
    """(file, offset, length) of a revisit record, else None. Its HTTP head replaces that of the payload unless it is a
    304.
    """

    @property
    def record(self) -> tuple[str, int, int]:
        """File, offset and length of the capture's own WARC record."""
        return self.head or (self.file, self.offset, self.length)


@dataclass(frozen=True, slots=True)
class Archive:
    """One WARC file of the crawl, under its public name."""

    name: str
    """Relative path as in Common Crawl's index; unique in the snapshot."""
    crawl: str
    """Id of its crawl, such as `CC-MAIN-2024-51`; empty if the file does not say."""
    path: str
    """Location on this machine, as in `Capture.file`."""
    first_time: int
    """Time of its first capture, in seconds since the epoch."""
    last_time: int
    """Time of its last capture, in seconds since the epoch; -1 if it has none."""
    is_continued: bool = False
    """True if the file goes on with records that the snapshot does not have; where it ends is not shown then."""


class Payload(NamedTuple):
    """A recorded response as it came over the wire, with transfer coding removed and content coding kept."""

    status: int
    reason: str
    headers: tuple[tuple[bytes, bytes], ...]
    """Headers of the origin in their order and spelling; repeated ones are kept."""
    body: bytes
    encoding: str
    """Content coding that the body really has (gzip, br, deflate or zstd); empty if it has none."""


@dataclass(frozen=True, slots=True)
class Page:
    """The answer to a `PageRequest` in any view except `raw`."""

    request: PageRequest
    capture: Capture
    redirects: tuple[str, ...]
    """URLs that redirected on the way, in order, the requested one first; empty if none did."""
    title: str
    content: str
    """The page in the requested view."""
    snapshot: str


@dataclass(frozen=True, slots=True)
class Match:
    """One occurrence of a pattern in a page's text."""

    start: int
    """Offset in the text view, in characters."""
    line: int
    """Line of the text view, from 0."""
    text: str
    """The surrounding text, on one line."""
