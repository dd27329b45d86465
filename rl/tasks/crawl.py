"""A collection opened for reading: its pages in an order that a seed decides, their HTML, their links in both
directions.

Page text comes from the snapshot that is served, so that a task asks for nothing that an agent cannot see; titles,
languages and links come from the catalog.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType

from webemu.emulator.errors import EmulatorError
from webemu.emulator.query import ParsedQuery
from webemu.emulator.types import Capture, PageRequest
from webemu.index.catalog import Catalog
from webemu.index.columns import FOREVER
from webemu.index.open import open_world

_ROWS_PER_FETCH = 200
"""Rows that are read from a cursor at once."""


@dataclass(frozen=True, slots=True)
class CrawlPage:
    """The latest good capture of a URL: an HTML page that search can find."""

    url: str
    host: str
    title: str
    headings: tuple[str, ...]
    """Texts of the headings in document order; a single empty text if there are none."""
    language: str
    """ISO 639-1 code; empty if it is neither declared nor detected with confidence."""
    digest: str
    """Digest of the payload, as in the catalog."""
    text: str
    """The text view that the server shows: each paragraph or table row is a line, and ` | ` separates cells."""


@dataclass(frozen=True, slots=True)
class Link:
    """Link from one page to another."""

    source: str
    """URL of the page that has the link."""
    target: str
    """URL that the link leads to."""
    anchor: str
    """Text of the link."""


@dataclass(frozen=True, slots=True)
class SharedAnchor:
    """Text of links on several pages, all of which lead to the same page."""

    text: str
    target: str
    """URL that the links lead to."""
    page_count: int
    """Number of pages with such a link."""
    domains: list[str]
    """Registrable domains of these pages."""


# chr(31) keeps seed and URL apart. QUALIFY keeps the latest capture of each URL.
_PAGES = """
SELECT p.url, c.url_host_name, p.title, p.headings, p.language
FROM pages p JOIN captures c USING (source_id, warc_record_offset)
WHERE p.searchable AND c.content_mime_detected IN ('text/html', 'application/xhtml+xml') {condition}
QUALIFY row_number() OVER (
  PARTITION BY p.url ORDER BY c.fetch_time DESC, p.source_id DESC, p.warc_record_offset DESC) = 1
ORDER BY md5(concat(?, chr(31), p.url))
"""
_LINKS = """
SELECT DISTINCT l.target, l.anchor FROM links l JOIN captures c USING (source_id, warc_record_offset)
WHERE c.url = ? AND c.content_digest = ? ORDER BY ALL
"""
_INLINKS = """
SELECT DISTINCT c.url, l.anchor
FROM links l JOIN captures c USING (source_id, warc_record_offset)
WHERE l.target = ? AND c.url <> l.target ORDER BY ALL
"""
# Words that lead to one page only, and that several pages agree on, say something about it.
_ANCHORS = """
WITH named AS (
  SELECT lower(l.anchor) AS words, l.anchor, l.target, c.url, c.url_host_registered_domain AS domain
  FROM links l JOIN captures c USING (source_id, warc_record_offset)
  WHERE length(l.anchor) BETWEEN 5 AND 80 AND l.target <> c.url)
SELECT min(anchor), min(target), count(DISTINCT url), list_sort(list(DISTINCT domain)) AS domains
FROM named GROUP BY words
HAVING count(DISTINCT target) = 1 AND (len(domains) >= 2 OR count(DISTINCT url) >= 3)
   AND min(target) IN (SELECT url FROM pages WHERE searchable)
ORDER BY md5(concat(?, chr(31), words))
"""
_TITLES = """
SELECT title, count(DISTINCT text_hash) FROM (
  SELECT p.title, p.text_hash FROM pages p JOIN captures c USING (source_id, warc_record_offset)
  WHERE c.url_host_name = ? AND p.searchable
  QUALIFY row_number() OVER (
    PARTITION BY p.url ORDER BY c.fetch_time DESC, p.source_id DESC, p.warc_record_offset DESC) = 1)
GROUP BY title
"""


class Crawl:
    """A read-only collection, for one thread.

        with Crawl(folder) as crawl:
            page = next(crawl.iterate_pages(seed=7))

    Raises:
        CatalogError: There is no collection in the folder, or a writer holds it.
    """

    def __init__(self, folder: Path) -> None:
        self.skip_counts: Counter[tuple[str, str]] = Counter()
        """Number of pages and facts that became no task, by (recipe, reason)."""
        self._catalog = Catalog(folder, read_only=True)
        self._world = open_world(folder)
        # An attribute, not a decorated method: the cache must not outlive the collection.
        self.find_page = lru_cache(maxsize=512)(self._load_page)
        """Return the page of exactly this URL; None if there is none. Cached."""

    def iterate_pages(self, seed: int | str = 0) -> Iterator[CrawlPage]:
        """Yield every page once. The same collection and seed give the same order."""
        cursor = self._catalog.db.cursor()
        cursor.execute(_PAGES.format(condition=""), [str(seed)])
        while rows := cursor.fetchmany(_ROWS_PER_FETCH):
            for row in rows:
                if (page := self._make_page(row)) is not None:
                    yield page

    def _load_page(self, url: str) -> CrawlPage | None:
        """Return the page of a URL from the catalog; None if it is not served or search cannot find it."""
        if self._find_capture(url) is None:  # faster than the query of the catalog
            return None
        rows = self._catalog.db.execute(_PAGES.format(condition="AND p.url = ?"), [url, ""]).fetchall()
        return self._make_page(rows[0]) if rows else None

    def read_html(self, page: CrawlPage) -> str | None:
        """Return the page's decoded HTML; None if its payload is missing or cannot be read."""
        capture = self._find_capture(page.url)
        try:
            return self._world.html_of(capture) if capture else None
        except EmulatorError:
            return None

    def list_links(self, page: CrawlPage) -> list[Link]:
        """Return the links on the page."""
        rows = self._catalog.db.execute(_LINKS, [page.url, page.digest]).fetchall()
        return [Link(page.url, target, anchor) for target, anchor in rows]

    def list_inlinks(self, url: str) -> list[Link]:
        """Return the links on other pages to this URL."""
        rows = self._catalog.db.execute(_INLINKS, [url]).fetchall()
        return [Link(source, url, anchor) for source, anchor in rows]

    def iterate_anchors(self, seed: int | str = 0) -> Iterator[SharedAnchor]:
        """Yield the anchor texts that lead to a single page, if at least two domains or three pages use them."""
        cursor = self._catalog.db.cursor()
        cursor.execute(_ANCHORS, [str(seed)])
        while rows := cursor.fetchmany(_ROWS_PER_FETCH):
            yield from (SharedAnchor(*row) for row in rows)

    def find_phrase(self, words: str, limit: int = 5) -> list[str]:
        """Return the URLs of at most `limit` pages that contain these words as a phrase, sorted. Superseded captures
        do not count.
        """
        ranker = self._world.ranker
        plan, until = ranker.plan(ParsedQuery(phrases=(words,))), ranker.doc_values.until
        # The index also has superseded captures; they fill places, hence more hits than needed.
        hits = [doc for _, doc in plan.top(4 * limit)[0] if until[doc] == FOREVER]
        return sorted({plan.render_hit(doc, 0.0).url for doc in hits})[:limit]

    def page_frequency(self, words: str) -> int:
        """Return the number of pages that contain the rarest of the words."""
        return self._world.ranker.frequency(words)

    def count_titles(self, host: str) -> dict[str, int]:
        """Return the number of different texts on a host under each title, by title. Only the latest captures count."""
        return dict(self._catalog.db.execute(_TITLES, [host]).fetchall())

    def count_pages(self) -> int:
        """Return the number of pages that search can find, each URL once."""
        rows = self._catalog.db.execute("SELECT count(DISTINCT url) FROM pages WHERE searchable").fetchall()
        return int(rows[0][0])

    def _find_capture(self, url: str) -> Capture | None:
        """Return the capture that is served for exactly this URL; None unless it is an indexed page of status 200."""
        try:
            capture = self._world.locate(PageRequest(url, follow=False))
        except EmulatorError:
            return None
        return capture if capture.url == url and capture.status == 200 and capture.doc >= 0 else None

    def _make_page(self, row: tuple[str, str, str, str, str]) -> CrawlPage | None:
        """Return the page of a row of `_PAGES`; None, counted as "not served", if the snapshot does not serve it."""
        url, host, title, headings, language = row
        capture = self._find_capture(url)
        if capture is None:
            self.skip_counts["", "not served"] += 1
            return None
        return CrawlPage(
            # The catalog has NULL for what a page does not declare.
            *(url, host, title or "", tuple((headings or "").split("\n")), language or ""),
            *(capture.digest, self._world.text_of(capture)[1]),
        )

    def close(self) -> None:
        """Close the catalog."""
        self._catalog.close()

    def __enter__(self) -> Crawl:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
