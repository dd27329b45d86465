"""The port `webemu.emulator.ports.PageStore` over remote partitions.

Calls about one URL go to its partition and those that were added later; looser URL keys, hosts and listings go to all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import merge
from itertools import chain, groupby

from webemu.emulator.types import Archive, Capture, Payload
from webemu.index.open import DocumentConverter
from webemu.index.partitions import methods
from webemu.index.partitions.client import PartitionClient
from webemu.index.partitions.methods import LISTING_BATCH, Method, SurtCaptures
from webemu.index.partitions.partition import locate_remote_doc, partition_of
from webemu.index.partitions.ranker import DocValueCache
from webemu.index.titles import select_best
from webemu.index.vocabulary_reader import Vocabulary


class PartitionedPageStore(DocumentConverter):
    """Captures of a URL and their content, in whichever partition they are."""

    def __init__(
        self,
        client: PartitionClient,
        doc_values: DocValueCache,
        vocabulary: Vocabulary,
        parts: int,
        has_exchanges: bool,
    ) -> None:
        """Take the words of all partitions, the number of partitions that URLs were first divided among, of which those
        after it were added later, and True if any has recorded exchanges.
        """
        self.has_exchanges = has_exchanges
        self._vocabulary = vocabulary
        self._client = client
        self._doc_values = doc_values
        self._parts = parts
        self._added = range(parts, client.count)
        self._archives_by_partition = lru_cache(1)(lambda: client.call_some([0, *self._added], methods.ARCHIVES))
        self.knows_host = lru_cache(1 << 14)(self._knows_host)

    def exact(self, url: str) -> list[Capture]:
        """Return the captures of exactly this URL, oldest first."""
        home = partition_of(url, self._parts)
        captures = self._with_global_ids(self._client.call_some([home, *self._added], methods.EXACT, url))
        return _sort_by_time(captures) if self._added else captures

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

    def listing(self, first: str, last: str) -> Iterator[tuple[str, list[Capture]]]:
        """Yield (SURT, captures of all URLs that have it, in time order), merged over the partitions."""
        listings = [self._listing(group, first, last) for group in self._client.groups]
        merged = merge(*listings, key=lambda entry: entry[0].encode("utf-8", "surrogatepass"))
        for key, same in groupby(merged, key=lambda entry: entry[0]):
            pairs = chain.from_iterable(numbered for _, numbered in same)
            captures = [self._with_global_id(partition, capture) for partition, capture in pairs]
            yield key, sorted(captures, key=lambda capture: (capture.time, capture.url))

    def _listing(self, group: Sequence[int], first: str, last: str) -> Iterator[SurtCaptures]:
        """Yield the listing of the partitions of one process, fetched in batches."""
        while True:
            batch = self._client.call_group(group, methods.LISTING, first, last)
            yield from batch
            if len(batch) < LISTING_BATCH:
                return
            first = batch[-1][0] + "\0"

    def recorded_exchanges(self, key: str) -> list[Capture]:
        """Return the responses that were recorded for requests of a key, in the order of the recording."""
        captures = self._captures_of_all(methods.RECORDED_EXCHANGES, key)
        return sorted(captures, key=lambda capture: (capture.time, capture.file, capture.offset))

    def archives(self) -> Sequence[Archive]:
        """Return the WARC files of the collection."""
        return list(chain.from_iterable(self._archives_by_partition().values()))

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]:
        """Return `length` bytes of a WARC file from `offset` on, in pieces."""
        homes = [home for home, archives in self._archives_by_partition().items() if archive in archives]
        return self._client.call_one(homes[0] if homes else 0, methods.BYTES, archive, offset, length)

    def _knows_host(self, host: str) -> bool:
        return any(self._client.call_each(methods.KNOWS_HOST, host).values())

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
        return Payload(*self._client.call_one(partition_of(capture.url, self._parts), methods.PAYLOAD, capture))

    def html(self, capture: Capture) -> str | None:
        """Return the decoded document of a capture; None if it has no character encoding."""
        return self._client.call_one(partition_of(capture.url, self._parts), methods.HTML, capture)

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Return title completions, the best of all partitions."""
        lists = self._client.search_all(methods.COMPLETE, prefix, limit)
        return [completion.title for completion in select_best(chain.from_iterable(lists), limit)]

    def nearest(self, word: str) -> Iterable[str]:
        """Return similar words of all partitions."""
        return self._vocabulary.nearest(word)

    def _captures_of_all(self, method: Method[list[Capture]], name: str) -> list[Capture]:
        """Return the captures that all partitions return for a method."""
        captures = self._with_global_ids(self._client.call_each(method, name))
        return _sort_by_time(captures) if self._added else captures

    def _with_global_ids(self, captures_by_partition: Mapping[int, list[Capture]]) -> list[Capture]:
        """Return captures in the order of their partitions, with dense ids over all partitions."""
        return [
            self._with_global_id(partition, capture)
            for partition, captures in captures_by_partition.items()
            for capture in captures
        ]

    def _with_global_id(self, partition: int, capture: Capture) -> Capture:
        """Return the capture with a dense id over all partitions."""
        remote_location = locate_remote_doc(capture.doc, self._parts) or (partition, capture.doc)
        return (
            capture._replace(doc=self._doc_values.global_id(*remote_location)) if remote_location[1] >= 0 else capture
        )


def _sort_by_time(captures: list[Capture]) -> list[Capture]:
    """Return captures oldest first; those of one second in the order they were in."""
    return sorted(captures, key=lambda capture: capture.time)
