"""The port `webemu.emulator.ports.PageStore` over remote partitions.

Calls about one URL go to its partition alone; looser URL keys, hosts and listings go to all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import merge
from itertools import groupby

from webemu.emulator.types import Archive, Capture, Payload
from webemu.index.open import Conversions
from webemu.index.partitions.partition import elsewhere, part_of
from webemu.index.partitions.ranker import Asker, Rows
from webemu.index.partitions.server import LISTED

Listed = tuple[str, list[Capture]]


class SplitShelf(Conversions):
    """Captures of a URL and their content, in whichever partition they are."""

    def __init__(self, asker: Asker, rows: Rows) -> None:
        self._asker = asker
        self._rows = rows
        self._archives = lru_cache(1)(lambda: asker.one(0, "archives"))
        self.knows_host = lru_cache(1 << 14)(self._knows_host)

    def exact(self, url: str) -> list[Capture]:
        """Return the captures of exactly this URL, oldest first."""
        part = part_of(url, self._asker.count)
        return [self._numbered(part, one) for one in self._asker.one(part, "exact", url)]

    def canonical(self, url: str) -> list[Capture]:
        """Return the captures of all URLs with the same canonical form."""
        return self._of_all("canonical", url)

    def surt(self, url: str) -> list[Capture]:
        """Return the captures of all URLs with the same SURT key."""
        return self._of_all("surt", url)

    def loose(self, url: str) -> list[Capture]:
        """Return the captures of all URLs with the same loosened SURT key."""
        return self._of_all("loose", url)

    def missing(self, host: str) -> list[Capture]:
        """Return the captures of the host's 404 page whose URL comes first, as one index would."""
        found = self._of_all("missing", host)
        first = min((one.url for one in found), default="")
        return [one for one in found if one.url == first]

    def listing(self, first: str, last: str) -> Iterator[Listed]:
        """Yield (SURT, captures of all URLs that have it, in time order), merged over the partitions."""
        of_each = [self._listing(part, first, last) for part in range(self._asker.count)]
        merged = merge(*of_each, key=lambda entry: entry[0].encode("utf-8", "surrogatepass"))
        for key, same in groupby(merged, key=lambda entry: entry[0]):
            yield key, sorted((one for _, captures in same for one in captures), key=lambda one: (one.time, one.url))

    def _listing(self, part: int, first: str, last: str) -> Iterator[Listed]:
        """Yield the listing of one partition, fetched in batches."""
        while True:
            found: list[Listed] = self._asker.one(part, "listing", first, last)
            for key, captures in found:
                yield key, [self._numbered(part, one) for one in captures]
            if len(found) < LISTED:
                return
            first = found[-1][0] + "\0"

    def archives(self) -> Sequence[Archive]:
        """Return the WARC files of the collection."""
        archives: Sequence[Archive] = self._archives()
        return archives

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
        """Return `length` bytes of a WARC file from `offset` on, in pieces."""
        pieces: list[bytes] = self._asker.one(0, "bytes_of", archive, offset, length)
        return pieces

    def _knows_host(self, host: str) -> bool:
        return any(self._asker.each("knows_host", host))

    def text(self, doc: int) -> tuple[str, str]:
        """Return (title, text) of a page view by dense id."""
        part, inside = self._rows.place(doc)
        title, text = self._asker.one(part, "text", inside)
        return title, text

    def payload(self, capture: Capture, wait: bool = True) -> Payload:
        """Return the recorded response of a capture. Raises BlockingIOError unless `wait`: a partition takes time to
        answer.
        """
        if not wait:
            raise BlockingIOError
        return Payload(*self._asker.one(part_of(capture.url, self._asker.count), "payload", capture))

    def html(self, capture: Capture) -> str | None:
        """Return the decoded document of a capture; None if it has no character encoding."""
        html: str | None = self._asker.one(part_of(capture.url, self._asker.count), "html", capture)
        return html

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Return title completions of the first partition: every partition has all titles."""
        titles: list[str] = self._asker.one(0, "suggest", prefix, limit)
        return titles

    def nearest(self, word: str) -> Iterable[str]:
        """Return similar words of all titles and of the first partition's texts."""
        words: list[str] = self._asker.one(0, "nearest", word)
        return words

    def _of_all(self, method: str, name: str) -> list[Capture]:
        """Return the captures that all partitions return for a method."""
        found = self._asker.each(method, name)
        return [self._numbered(part, one) for part, captures in enumerate(found) for one in captures]

    def _numbered(self, part: int, capture: Capture) -> Capture:
        """Return the capture with a dense id over all partitions."""
        place = elsewhere(capture.doc, self._asker.count) or (part, capture.doc)
        return capture._replace(doc=self._rows.number(*place)) if place[1] >= 0 else capture
