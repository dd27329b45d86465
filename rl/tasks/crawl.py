"""A collection opened for reading: its pages in an order that a seed decides, their HTML, their links both ways.

What a page says is taken from the snapshot that is served, so that a task asks for nothing that an agent cannot see;
titles, languages and links come from the catalog.
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

_BATCH = 200


@dataclass(frozen=True, slots=True)
class CrawlPage:
    """The latest good capture of an address, an HTML page that search can find."""

    url: str
    host: str
    domain: str
    """The registrable one."""
    title: str
    description: str
    headings: tuple[str, ...]
    language: str
    """ISO 639-1; empty where it is neither declared nor sure."""
    digest: str
    """Of the payload, as the catalog has it."""
    text: str
    """As the text view serves it: a paragraph or a table row is a line, cells are parted by ` | `."""


_PAGES = """
SELECT p.url, c.url_host_name, c.url_host_registered_domain, p.title, p.description, p.headings, p.language
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
SELECT DISTINCT c.url, c.url_host_registered_domain, l.anchor
FROM links l JOIN captures c USING (source_id, warc_record_offset)
WHERE l.target = ? AND c.url <> l.target ORDER BY ALL
"""
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
    """Read-only; one thread. Raises CatalogError where there is no collection or a writer holds it."""

    def __init__(self, folder: Path) -> None:
        self.dropped: Counter[tuple[str, str]] = Counter()
        """By (recipe, reason): what recipes looked at and made no task of."""
        self._catalog = Catalog(folder, read_only=True)
        self._world = open_world(folder)
        self.page = lru_cache(maxsize=512)(self._of)
        """The page of this very address; None where there is none."""

    def pages(self, seed: int | str = 0) -> Iterator[CrawlPage]:
        """Every page once. The same collection and seed give the same order."""
        cursor = self._catalog.db.cursor()
        cursor.execute(_PAGES.format(condition=""), [str(seed)])
        while rows := cursor.fetchmany(_BATCH):
            for row in rows:
                if (page := self._page(row)) is not None:
                    yield page

    def _of(self, url: str) -> CrawlPage | None:
        if self._capture(url) is None:  # sooner told than the catalog does
            return None
        rows = self._catalog.db.execute(_PAGES.format(condition="AND p.url = ?"), [url, ""]).fetchall()
        return self._page(rows[0]) if rows else None

    def html(self, page: CrawlPage) -> str | None:
        """Its decoded document; None where the bytes are gone or cannot be read."""
        capture = self._capture(page.url)
        try:
            return self._world.html_of(capture) if capture else None
        except EmulatorError:
            return None

    def links(self, page: CrawlPage) -> list[tuple[str, str]]:
        """(address, anchor text) of what the page links to."""
        return self._catalog.db.execute(_LINKS, [page.url, page.digest]).fetchall()

    def inlinks(self, url: str) -> list[tuple[str, str, str]]:
        """(address, registrable domain, anchor text) of the pages that link to an address."""
        return self._catalog.db.execute(_INLINKS, [url]).fetchall()

    def anchors(self, seed: int | str = 0) -> Iterator[tuple[str, str, int, list[str]]]:
        """(words, address, pages, registrable domains) of links whose words lead to one page alone.

        At least two domains or three pages link with them.
        """
        cursor = self._catalog.db.cursor()
        cursor.execute(_ANCHORS, [str(seed)])
        while rows := cursor.fetchmany(_BATCH):
            yield from rows

    def saying(self, words: str, limit: int = 5) -> list[str]:
        """Addresses of pages that say these words one after another, at most `limit`; former captures do not count."""
        finder = self._world.ranker
        plan, until = finder.plan(ParsedQuery(phrases=(words,))), finder.doc_values.until
        hits = [doc for _, doc in finder.top(plan, 4 * limit)[0] if until[doc] == FOREVER]
        return sorted({finder.render_hit(doc, 0.0, plan).url for doc in hits})[:limit]

    def frequency(self, words: str) -> int:
        """In how many pages the rarest of the words occurs."""
        return self._world.ranker.frequency(words)

    def titles(self, host: str) -> dict[str, int]:
        """How many different texts that a host shows last bear each title."""
        return dict(self._catalog.db.execute(_TITLES, [host]).fetchall())

    def _capture(self, url: str) -> Capture | None:
        """What is served for this very address, if that is a page."""
        try:
            capture = self._world.locate(PageRequest(url, follow=False))
        except EmulatorError:
            return None
        return capture if capture.url == url and capture.status == 200 and capture.doc >= 0 else None

    def _page(self, row: tuple[str, str, str, str, str, str, str]) -> CrawlPage | None:
        url, host, domain, title, description, headings, language = row
        capture = self._capture(url)
        if capture is None:
            self.dropped["", "not served"] += 1
            return None
        return CrawlPage(
            *(url, host, domain or host, title or "", description or "", tuple((headings or "").split("\n"))),
            *(language or "", capture.digest, self._world.text_of(capture)[1]),
        )

    def close(self) -> None:
        self._catalog.close()

    def __enter__(self) -> Crawl:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
