"""Finds what partitions have in common that were built at different times: URLs and texts.

A page ends to be what its URL shows when the next capture begins, wherever that is, and pages with the same text are
duplicates of one another, wherever they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from webemu.index.columns import FOREVER, Columns
from webemu.index.lookup import FILE as LOOKUP_FILE
from webemu.index.lookup import Lookup
from webemu.index.manifest import read_manifest
from webemu.index.partitions.partition import partition_of

Place = tuple[int, int, int]
"""(first second of visibility, partition, dense id) of a page."""


class Overlap(NamedTuple):
    """URLs and texts that partitions have in common."""

    superseded: dict[int, dict[int, int]]
    """New end of the visibility of pages, in seconds, by partition and dense id."""
    copies: dict[int, dict[int, list[int]]]
    """Dense ids of pages by partition and cluster, of clusters that have pages from different times."""
    urls: int
    """Number of times that a URL is in one more partition."""


def find_overlap(homes: list[Path], snapshots: tuple[str, ...], parts: int) -> Overlap:
    """Compare all URLs of the partitions that were added after the first `parts` with the others.

    `homes` are the folders of the partitions, `snapshots` their ids.
    """

    @cache
    def open_partition(number: int) -> tuple[Lookup, Columns]:
        folder = homes[number] / "snapshots" / snapshots[number]
        return Lookup(folder / LOOKUP_FILE, read_manifest(folder).source_docs()), Columns(folder / "columns")

    def find_pages(number: int, url: str) -> Iterator[Place]:
        """Yield the searchable pages of a URL in a partition; captures may also point at pages of other URLs."""
        lookup, columns = open_partition(number)
        for capture in lookup.exact(url):
            if capture.doc >= 0 and columns.until[capture.doc] and columns.since[capture.doc] == capture.time:
                yield capture.time, number, capture.doc

    added = range(parts, len(homes))
    ends_by_page: defaultdict[int, dict[int, int]] = defaultdict(dict)
    repeated = 0
    for number in added:
        for url in open_partition(number)[0].iter_urls():
            earlier = [partition_of(url, parts), *range(parts, number)]
            having = [candidate for candidate in earlier if open_partition(candidate)[0].exact(url)]
            if not having:
                continue
            repeated += 1
            pages = sorted({page for holder in (*having, number) for page in find_pages(holder, url)})
            ends = [following[0] for _, following in pairwise(pages)] + [FOREVER]
            for (_, partition, doc), end in zip(pages, ends, strict=False):  # without pages there is an end too many
                ends_by_page[partition][doc] = end
    changed = {
        partition: {
            doc: end for doc, end in sorted(ends_by_doc.items()) if open_partition(partition)[1].until[doc] != end
        }
        for partition, ends_by_doc in sorted(ends_by_page.items())
    }
    copies = _find_copies([open_partition(number)[1] for number in range(len(homes))], parts)
    return Overlap({partition: ends for partition, ends in changed.items() if ends}, copies, repeated)


def _find_copies(columns: Sequence[Columns], parts: int) -> dict[int, dict[int, list[int]]]:
    """Return the pages of clusters that partitions of different times share."""
    first_clusters = set().union(*[partition_columns.cluster for partition_columns in columns[:parts]])
    clusters_by_time = [first_clusters, *(set(partition_columns.cluster) for partition_columns in columns[parts:])]
    times = Counter(cluster for clusters in clusters_by_time for cluster in clusters)
    shared = {cluster for cluster, count in times.items() if count > 1}
    copies: dict[int, dict[int, list[int]]] = {}
    for number, partition_columns in enumerate(columns):
        docs_by_cluster: defaultdict[int, list[int]] = defaultdict(list)
        for doc, cluster in enumerate(partition_columns.cluster):
            if cluster in shared:
                docs_by_cluster[cluster].append(doc)
        if docs_by_cluster:
            copies[number] = dict(docs_by_cluster)
    return copies
