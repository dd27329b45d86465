"""The two ports of the emulated web: a `Ranker` ranks pages for a parsed query, a `PageStore` holds what was
captured.

`World` knows only these protocols. `index` implements them over one snapshot, over partitions of a snapshot and with
embeddings; `webemu.emulator.policy_filter` wraps them to hide what a policy blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from webemu.emulator.article import Article
from webemu.emulator.query import ParsedQuery
from webemu.emulator.types import Archive, Capture, Hit, Payload, View

ScoredDoc = tuple[float, int]
"""One ranked page: (score, dense id)."""


class Column(Protocol):
    """One value per page, by dense id."""

    def __getitem__(self, doc: int, /) -> int: ...


class DocValues(Protocol):
    """Per-document columns, each indexed by dense id."""

    @property
    def since(self) -> Column:
        """First second (UTC) at which each page is what its URL shows."""

    @property
    def until(self) -> Column:
        """Second (UTC) at which a later capture replaces each page; `ranking.FOREVER` for the current one."""

    @property
    def day(self) -> Column:
        """Date of each page, in days since 1970-01-01."""

    @property
    def domain(self) -> Column:
        """Number of each page's registrable domain."""

    @property
    def cluster(self) -> Column:
        """Number of each page's cluster of near-duplicates."""

    def rows(self, docs: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """Yield (until, cluster, domain) of each page, in the order of `docs`."""

    def drop_duplicates(self, ranked: list[ScoredDoc]) -> list[tuple[ScoredDoc, int]]:
        """Return what `webemu.emulator.ranking.drop_duplicates` makes of a ranking: current pages, one per cluster,
        with their domain.
        """


class SearchNotReady(BlockingIOError):
    """Raised on an event loop when a search needs work that is still being computed, such as a query's embedding.

    Await `future`, then search again.
    """

    def __init__(self, future: Future[Any]) -> None:
        super().__init__()
        self.future = future


class SearchPlan(Protocol):
    """A prepared query of one ranker, ready to be run."""

    def top(self, limit: int) -> tuple[list[ScoredDoc], bool]:
        """Return the best pages, best first, and True if no page of the ranking was left out.

        Results are selected in several calls, the deepest first: the others should cost no search.
        """

    def render_hit(self, doc: int, score: float) -> Hit:
        """Return one ranked page as a result: URL, title, snippet and date."""

    def explain(self, doc: int, score: float) -> dict[str, float]:
        """Return the signals behind a page's score, by name."""


class Ranker(Protocol):
    """Port: ranks the pages of a snapshot for parsed queries."""

    @property
    def doc_values(self) -> DocValues:
        """The per-document columns of the ranked pages."""

    @property
    def is_slow(self) -> bool:
        """True if ranking is remote or slow: do not call `plan` or `top` from the event loop."""

    def start_async(self, parsed: ParsedQuery) -> Future[Any] | None:
        """Start the async work that `plan` needs, such as an embedding; return None if it needs none.

        Call it for several queries before the first `plan` so that their work is done in one batch.
        """

    def plan(self, parsed: ParsedQuery) -> SearchPlan:
        """Return a prepared query. Every query has one; it may match no page."""

    def duplicates(self, doc: int) -> Sequence[int]:
        """Return the ids of all near-duplicates of a page, the page itself included; empty if it has none."""

    def terms(self, text: str, like: str = "") -> Sequence[str]:
        """Return the index terms of a text, in order, analyzed in the language of `like` if it is given."""

    def frequency(self, words: str) -> int:
        """Return the number of pages in which the rarest of the words occurs; 0 for no words."""

    def knows(self, word: str) -> bool:
        """Return True if a page has the word. It must be cheap: every search asks for each of its words."""


class PageStore(Protocol):
    """Port: finds the captures of a URL and reads their content.

    The four lookups go from strict to loose, by the keys of `webemu.emulator.urls`; each returns an empty list if
    nothing matches.
    """

    def exact(self, url: str) -> list[Capture]:
        """Return the captures of exactly this normalised URL."""

    def canonical(self, url: str) -> list[Capture]:
        """Return the captures whose canonical URL is the same."""

    def surt(self, url: str) -> list[Capture]:
        """Return the captures whose SURT key is the same."""

    def by_loose_key(self, url: str) -> list[Capture]:
        """Return the captures whose loose key is the same: SURT without index files, tracking and cache-busting
        parameters.
        """

    @property
    def has_exchanges(self) -> bool:
        """True if there are recorded exchanges."""

    def recorded_exchanges(self, key: str) -> list[Capture]:
        """Return the responses that were recorded for requests of a key of `webemu.emulator.exchange_keys`, in the
        order of the recording.
        """

    def listing(self, first: str, last: str) -> Iterator[tuple[str, list[Capture]]]:
        """Yield (SURT key, its captures) for keys from `first` to before `last`, in byte order."""

    def archives(self) -> Sequence[Archive]:
        """Return the WARC files of the crawl."""

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
        """Yield the bytes of a range of a WARC file, in pieces. Raises PayloadError if the file cannot be read."""

    def knows_host(self, host: str) -> bool:
        """True if anything of the host was captured."""

    def error_page_of(self, host: str) -> list[Capture]:
        """Return the captures of the host's error pages (404); empty if none was captured."""

    def text(self, doc: int) -> tuple[str, str]:
        """Return (title, text) of a page by its dense id."""

    def payload(self, capture: Capture, wait: bool = True) -> Payload:
        """Return the recorded response of a capture.

        Raises: PayloadError if its bytes are gone or unsafe; BlockingIOError if `wait` is false and a disk would have
        to be read.
        """

    def decode_body(self, payload: Payload) -> bytes:
        """Return the body without its content coding. Raises PayloadError if it cannot be decoded."""

    def html(self, capture: Capture) -> str | None:
        """Return the decoded document of a capture; None if it is not text."""

    def readable_texts(self, payload: Payload, html: str | None) -> Iterable[str]:
        """Return everything that can be read in a recorded response, in any disguise: its headers, the text of all
        nodes and of the visible ones alone, attributes, comments, and strings in scripts with their escapes decoded.
        `html` is its document (`html`), None if it has no character encoding.

        Raises: PayloadError if the body cannot be decoded.
        """

    def markdown(
        self, html: str, url: str, text: str = "", *, pictures: bool = False, full_document: bool = False
    ) -> str:
        """Return the main content of a document as markdown.

        `text` is its text view, which marks the main content; `pictures` keeps images; `full_document` converts all of
        the document.
        """

    def select_elements(self, html: str, include: Sequence[str], exclude: Sequence[str]) -> str | None:
        """Return the document reduced to the elements that some CSS selectors match, without those that others match.

        None if nothing is left.
        """

    def link_targets(self, html: str, url: str) -> list[tuple[str, str]]:
        """Return (words, absolute URL) of each link of a document."""

    def images(self, html: str, url: str) -> list[tuple[str, str]]:
        """Return (alternative text, absolute URL) of each image of a document."""

    def find_view(self, capture: Capture, view: View) -> tuple[str, str] | None:
        """Return (title, content) of a capture as `markdown` or with its `links` if that was rendered before, else
        None.
        """

    def render_view(self, html: str, capture: Capture, view: View, title: str, text: str) -> str:
        """Return a capture, whose document, title and text view are given, as `markdown` or with its `links`."""

    def rewrite_links(self, html: str, url: str, link: Callable[[str, str], str]) -> str:
        """Return the document with every URL replaced by what `link(absolute URL, kind)` returns, as a web archive
        replays it.
        """

    def rewrite_css_links(self, css: str, url: str, link: Callable[[str, str], str]) -> str:
        """Return a style sheet with its URLs replaced likewise."""

    def wiki(self, html: str, url: str) -> Article | None:
        """Return a MediaWiki page as an article; None if the document is not one."""

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Return titles of pages that complete a prefix, best first."""

    def nearest(self, word: str) -> Iterable[str]:
        """Return indexed words that are spelled almost like this one, nearest first."""
