"""Shards: immutable pieces of a snapshot, built once from a set of sources and shared by all snapshots that have them.

A binary trie over source ids decides which sources share a shard, for small, middle and large sources apart. It depends
on the set alone, so that ingesting in any order ends in the same shards, and a new source rebuilds at most the one
shard of sources like it that it falls into. A source with more pages than a shard may hold is cut into spans of about
equal size.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TypedDict

import duckdb
import zstandard

from webemu.emulator.dates import to_day_number
from webemu.index.blobs import BlobWriter
from webemu.index.builders import SHARD_SOURCES, hash_sources
from webemu.index.catalog import Catalog
from webemu.index.digests import hash_folder
from webemu.index.page_columns import FOLDER as COLUMNS_FOLDER
from webemu.index.page_columns import write_page_columns
from webemu.index.partitions.partition import UNPARTITIONED, Partition
from webemu.index.rank import Weights
from webemu.index.records import analyze_text, encode_record
from webemu.index.shard_file import Shard, Span, load_shard, shard_exists
from webemu.index.signals.anchors import LinkTexts, read_anchors
from webemu.index.source_classes import group_by_class
from webemu.index.text import IndexEntry, write_index
from webemu.index.titles import FOLDER as TITLES_FOLDER
from webemu.index.titles import write_titles
from webemu.index.vocabulary import COUNTS_FILE as WORD_COUNTS_FILE
from webemu.index.vocabulary import count_words, sample_texts

SHARD_PAGES = 100_000
"""Pages of a shard at most."""
END_OFFSET = 2**62
"""An offset beyond the end of every file."""


class PageRow(TypedDict):
    """One page of the catalog."""

    source_id: int
    warc_record_offset: int
    url: str
    title: str | None
    text: str
    language: str | None
    published: date | None
    fetch_time: datetime
    mime: str | None
    """Media type that was detected in the content."""


def group_sources(pages: Mapping[int, int], limit: int = SHARD_PAGES) -> list[tuple[int, ...]]:
    """Return groups of source ids in order, one per shard, given the number of pages of each source.

    Sources of one class of size are grouped, so that a small one does not rebuild the shard of large ones.
    """

    def split_by_bit(sources: list[int], bit: int) -> list[tuple[int, ...]]:
        if len(sources) <= 1 or bit < 0 or sum(pages[s] for s in sources) <= limit:
            return [tuple(sources)] if sources else []
        low = [s for s in sources if not s >> bit & 1]
        high = [s for s in sources if s >> bit & 1]
        return split_by_bit(low, bit - 1) + split_by_bit(high, bit - 1)

    return [group for sources in group_by_class(pages) for group in split_by_bit(sources, 62)]


def split_oversized(db: duckdb.DuckDBPyConnection, groups: Sequence[tuple[int, ...]], pages: Mapping[int, int],
           limit: int = SHARD_PAGES) -> list[tuple[Span, ...]]:  # fmt: skip
    """Return the groups as spans; a source with more pages than `limit` is split into several."""
    spans: list[tuple[Span, ...]] = []
    for group in groups:
        if len(group) > 1 or pages[group[0]] <= limit:
            spans.append(tuple([(source, 0, END_OFFSET) for source in group]))
            continue
        starts = db.execute(_STARTS, [-(-pages[group[0]] // limit), group[0]]).fetchall()
        offsets = [0, *(start for (start,) in starts[1:]), END_OFFSET]
        spans += [((group[0], start, end),) for start, end in pairwise(offsets)]
    return spans


_STARTS = """
SELECT min(warc_record_offset) FROM (
  SELECT warc_record_offset, ntile(?) OVER (ORDER BY warc_record_offset) AS part FROM pages WHERE source_id = ?)
GROUP BY part ORDER BY 1
"""


def shard_id(contents: Sequence[tuple[int, ...]], weights: Weights, partition: Partition = UNPARTITIONED) -> str:
    """Return the id of a shard: a hash of its content and of how it is built.

    `contents` has for each span its source id, first and end offset, the hash of the source's captures and pages, and
    the hash of the links to them.
    """
    config: list[object] = [hash_sources(SHARD_SOURCES), weights.title, weights.anchors]
    config += [] if partition == UNPARTITIONED else [*partition]
    return blake2b(json.dumps([config, contents]).encode(), digest_size=8).hexdigest()


_ROWS = """
SELECT p.source_id, p.warc_record_offset, p.url, p.title, p.text, p.language,
  p.published, c.fetch_time, c.content_mime_detected AS mime
FROM pages p JOIN captures c USING (source_id, warc_record_offset)
WHERE p.source_id = ? AND p.warc_record_offset >= ? AND p.warc_record_offset < ? AND p.searchable = ? AND {inside}
ORDER BY p.warc_record_offset
"""


def _page_rows(catalog: Catalog, spans: Sequence[Span], searchable: bool, partition: Partition) -> Iterator[PageRow]:
    """Yield the pages of the spans that are in the partition, searchable or not, in the order of dense ids."""
    rows = _ROWS.format(inside=partition.membership_sql("p.url"))
    for span in spans:
        for batch in catalog.db.sql(rows, params=[*span, searchable]).to_arrow_reader(1000):
            yield from batch.to_pylist()


def page_day(row: PageRow) -> date:
    """Return the date of a page: the day it was published, else the day it was fetched."""
    return row["published"] or row["fetch_time"].date()


def encode_view(title: str, text: str, compressor: zstandard.ZstdCompressor) -> bytes:
    """Return a page view as stored: zstd over title, newline, text. A title has no newline."""
    return compressor.compress(f"{title}\n{text}".encode("utf-8", "replace"))


class _PageWriter:
    """Writer of the result records and page views of a shard."""

    def __init__(self, records: BlobWriter, views: BlobWriter, on_page: Callable[[], None]) -> None:
        self._records, self._views, self._on_page = records, views, on_page
        self._compressor = zstandard.ZstdCompressor(level=3)
        self.page_count = 0
        """Pages so far."""
        self.titles: set[str] = set()
        """Titles of searchable pages so far."""

    def write_view(self, row: PageRow) -> None:
        """Write the view of a page, and count the page."""
        self._views.add(encode_view(row["title"] or "", row["text"], self._compressor))
        self.page_count += 1
        self._on_page()

    def write_searchable(
        self, rows: Iterable[PageRow], link_texts: Mapping[tuple[int, int], LinkTexts]
    ) -> Iterator[IndexEntry]:
        """Write the records and the views of pages, and yield what is indexed of each."""
        for row in rows:
            day, title, language = page_day(row), row["title"] or "", row["language"] or ""
            self.titles.add(title)
            analyzed = analyze_text(row["text"], language)
            is_published = row["published"] is not None
            self._records.add(
                encode_record(row["url"], title or row["url"], to_day_number(day), analyzed, language, is_published)
            )
            self.write_view(row)
            anchors = tuple(link_texts.get((row["source_id"], row["warc_record_offset"]), ()))
            yield IndexEntry(row["url"], title, analyzed.all_terms, row["mime"] or "", language, str(day), anchors)


def build_shard(
    root: Path, collection: Path, name: str, spans: tuple[Span, ...], anchors: Path, weights: Weights,
    on_page: Callable[[], None], partition: Partition = UNPARTITIONED,
) -> Shard:  # fmt: skip
    """Build a shard under `root` unless it exists, and return it; `on_page` is called for each page that is done.

    `anchors` is the file that `webemu.index.signals.anchors` wrote; `partition` is the partition whose pages are taken.
    """
    if shard_exists(root, name):
        return load_shard(root / name)
    folder = root / f".{name}.{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with (
        Catalog(collection, read_only=True) as catalog,
        BlobWriter(folder / "records") as records,
        BlobWriter(folder / "views") as views,
    ):
        catalog.db.execute("SET threads = 1")  # shards are built by several processes at once
        writer = _PageWriter(records, views, on_page)
        searchable_rows = _page_rows(catalog, spans, True, partition)
        entries = writer.write_searchable(searchable_rows, read_anchors(anchors, spans))
        documents = write_index(folder / "text", entries, weights)
        # Unsearchable pages come after all others: they have a view, but no record and no place in the index.
        for row in _page_rows(catalog, spans, False, partition):
            writer.write_view(row)
        write_page_columns(catalog.db, folder / COLUMNS_FOLDER, spans, partition.membership_sql("p.url"))
    write_titles(folder / TITLES_FOLDER, writer.titles)
    count_words(folder / WORD_COUNTS_FILE, writer.titles, sample_texts(folder, documents))
    shard = Shard(name, spans, documents, writer.page_count, hash_folder(folder))
    (folder / "shard.json").write_text(json.dumps(asdict(shard)))
    shutil.rmtree(root / name, ignore_errors=True)
    folder.rename(root / name)
    return shard
