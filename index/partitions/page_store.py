"""The port `webemu.emulator.ports.PageStore` over remote partitions.

Calls about one URL go to its partition alone; looser URL keys, hosts and listings go to all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from heapq import merge
from itertools import groupby

from webemu.emulator.types import Archive, Capture, Payload
from webemu.index.open import DocumentConverter
from webemu.index.partitions import methods
from webemu.index.partitions.methods import Method, SurtCaptures
from webemu.index.partitions.partition import locate_remote_doc, partition_of
from webemu.index.partitions.ranker import DocValueCache, PartitionClient
from webemu.index.partitions.server import LISTING_BATCH


class PartitionedPageStore(DocumentConverter):
    """Captures of a URL and their content, in whichever partition they are."""

    def __init__(self, client: PartitionClient, doc_values: DocValueCache) -> None:
        self._client = client
        self._doc_values = doc_values
        self._cached_archives = lru_cache(1)(lambda: client.call_one(0, methods.ARCHIVES))
        self.knows_host = lru_cache(1 << 14)(self._knows_host)

    def exact(self, url: str) -> list[Capture]:
        """Return the captures of exactly this URL, oldest first."""
        partition = partition_of(url, self._client.count)
        return [
            self._with_global_id(partition, capture) for capture in self._client.call_one(partition, methods.EXACT, url)
        ]

    def canonical(self, url: str) -> list[Capture]:
        """Return the captures of all URLs with the same canonical form."""
        return self._captures_of_all(methods.CANONICAL, url)

    def surt(self, url: str) -> list[Capture]:
        """Return the captures of all URLs with the same SURT key."""
        return self._captures_of_all(methods.SURT, url)

    def by_loose_key(self, url: str) -> list[Capture]:
        """Return the captures of all URLs with the same loosened SURT key."""
        return self._captures_of_all(methods.BY_LOOSE_KEY, url)

    def error_page_of(self, host: str) -> list[Capture]:
        """Return the captures of the host's 404 page whose URL comes first, as one index would."""
        error_captures = self._captures_of_all(methods.ERROR_PAGE, host)
        first_url = min((capture.url for capture in error_captures), default="")
        return [capture for capture in error_captures if capture.url == first_url]

    def listing(self, first: str, last: str) -> Iterator[SurtCaptures]:
        """Yield (SURT, captures of all URLs that have it, in time order), merged over the partitions."""
        listings = [self._listing(part, first, last) for part in range(self._client.count)]
        merged = merge(*listings, key=lambda entry: entry[0].encode("utf-8", "surrogatepass"))
        for key, same in groupby(merged, key=lambda entry: entry[0]):
            yield (
                key,
                sorted(
                    (capture for _, captures in same for capture in captures),
                    key=lambda capture: (capture.time, capture.url),
                ),
            )

    def _listing(self, partition: int, first: str, last: str) -> Iterator[SurtCaptures]:
        """Yield the listing of one partition, fetched in batches."""
        while True:
            batch = self._client.call_one(partition, methods.LISTING, first, last)
            for key, captures in batch:
                yield key, [self._with_global_id(partition, capture) for capture in captures]
            if len(batch) < LISTING_BATCH:
                return
            first = batch[-1][0] + "\0"

    @cached_property
    def has_exchanges(self) -> bool:
        """True if a partition has recorded exchanges."""
        answers = self._client.call_all(methods.HAS_EXCHANGES)
        return any(answers)

    def recorded_exchanges(self, key: str) -> list[Capture]:
        """Return the responses that were recorded for requests of a key, in the order of the recording."""
        captures = self._captures_of_all(methods.RECORDED_EXCHANGES, key)
        return sorted(captures, key=lambda capture: (capture.time, capture.file, capture.offset))

    def archives(self) -> Sequence[Archive]:
        """Return the WARC files of the collection."""
        return self._cached_archives()

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
        """Return `length` bytes of a WARC file from `offset` on, in pieces."""
        return self._client.call_one(0, methods.BYTES, archive, offset, length)

    def _knows_host(self, host: str) -> bool:
        answers = self._client.call_all(methods.KNOWS_HOST, host)
        return any(answers)

    def text(self, doc: int) -> tuple[str, str]:
        """Return (title, text) of a page view by dense id."""
        partition, local_doc = self._doc_values.locate(doc)
        return self._client.call_one(partition, methods.TEXT, local_doc)

    def payload(self, capture: Capture, wait: bool = True) -> Payload:
        """Return the recorded response of a capture. Raises BlockingIOError unless `wait`: a partition takes time to
        answer.
        """
        if not wait:
            raise BlockingIOError
        return Payload(*self._client.call_one(partition_of(capture.url, self._client.count), methods.PAYLOAD, capture))

    def html(self, capture: Capture) -> str | None:
        """Return the decoded document of a capture; None if it has no character encoding."""
        return self._client.call_one(partition_of(capture.url, self._client.count), methods.HTML, capture)

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Return title completions of the first partition: every partition has all titles."""
        return self._client.call_one(0, methods.SUGGEST, prefix, limit)

    def nearest(self, word: str) -> Iterable[str]:
        """Return similar words of all titles and of the first partition's texts."""
        return self._client.call_one(0, methods.NEAREST, word)

    def _captures_of_all(self, method: Method[list[Capture]], name: str) -> list[Capture]:
        """Return the captures that all partitions return for a method."""
        captures_by_partition = self._client.call_all(method, name)
        return [
            self._with_global_id(partition, capture)
            for partition, captures in enumerate(captures_by_partition)
            for capture in captures
        ]

    def _with_global_id(self, partition: int, capture: Capture) -> Capture:
        """Return the capture with a dense id over all partitions."""
        remote_location = locate_remote_doc(capture.doc, self._client.count) or (partition, capture.doc)
        return (
            capture._replace(doc=self._doc_values.global_id(*remote_location)) if remote_location[1] >= 0 else capture
        )
