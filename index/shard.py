"""Shards: immutable parts of a snapshot, built once from a set of sources and shared by every snapshot that has them.

Which sources lie together depends on the set of sources alone (a binary trie over their ids), so that any order of
ingesting ends in the same shards, and a new source rebuilds at most the one shard it falls into. A source of more pages
than a shard may hold is cut into spans of about as many pages each.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import zstandard

from webemu.emulator.dates import day_number
from webemu.index.blobs import BlobWriter
from webemu.index.builders import SHARD, fingerprint
from webemu.index.catalog import Catalog
from webemu.index.digests import digests
from webemu.index.partitions.partition import WHOLE, Part
from webemu.index.rank import Weights
from webemu.index.records import encode, said
from webemu.index.signals.anchors import Anchors, anchors_of
from webemu.index.text import Entry, write_index

SHARD_PAGES = 100_000
"""No shard holds more pages."""
END = 2**62
"""Past every offset."""

Span = tuple[int, int, int]
"""Pages of a source whose records begin at one offset or later, and before another."""
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shard:
    """What `shard.json` says."""

    id: str
    spans: tuple[Span, ...]
    documents: int
    """Searchable pages: local ids 0 to documents - 1."""
    pages: int
    """All pages with a text view; the unsearchable ones come last."""
    hashes: dict[str, str]
    """Of its files, by path."""


def plan(pages: Mapping[int, int], limit: int = SHARD_PAGES) -> list[tuple[int, ...]]:
    """Groups of source ids, in order, given each source's number of pages."""

    def split(sources: list[int], bit: int) -> list[tuple[int, ...]]:
        if len(sources) <= 1 or bit < 0 or sum(pages[s] for s in sources) <= limit:
            return [tuple(sources)] if sources else []
        low = [s for s in sources if not s >> bit & 1]
        high = [s for s in sources if s >> bit & 1]
        return split(low, bit - 1) + split(high, bit - 1)

    return split(sorted(pages), 62)


def spanned(db: duckdb.DuckDBPyConnection, groups: Sequence[tuple[int, ...]], pages: Mapping[int, int],
           limit: int = SHARD_PAGES) -> list[tuple[Span, ...]]:  # fmt: skip
    """The groups as spans, with those of one source of too many pages cut up."""
    found: list[tuple[Span, ...]] = []
    for group in groups:
        if len(group) > 1 or pages[group[0]] <= limit:
            found.append(tuple([(source, 0, END) for source in group]))
            continue
        starts = db.execute(_STARTS, [-(-pages[group[0]] // limit), group[0]]).fetchall()
        places = [0, *(start for (start,) in starts[1:]), END]
        found += [((group[0], start, end),) for start, end in pairwise(places)]
    return found


_STARTS = """
SELECT min(warc_record_offset) FROM (
  SELECT warc_record_offset, ntile(?) OVER (ORDER BY warc_record_offset) AS part FROM pages WHERE source_id = ?)
GROUP BY part ORDER BY 1
"""


def shard_id(contents: Sequence[tuple[int, ...]], weights: Weights, part: Part = WHOLE) -> str:
    """Name by content: (id, first offset, end, hash of its source's captures and pages, hash of the links to them) of
    each span in it, and how it was built."""
    config: list[object] = [fingerprint(SHARD), weights.title, weights.anchors]
    config += [] if part == WHOLE else [*part]
    return blake2b(json.dumps([config, contents]).encode(), digest_size=8).hexdigest()


def load(folder: Path) -> Shard:
    """Read `shard.json`."""
    values = json.loads((folder / "shard.json").read_text())
    spans = tuple([(source, start, end) for source, start, end in values["spans"]])
    return Shard(values["id"], spans, values["documents"], values["pages"], values["hashes"])


_ROWS = """
SELECT p.source_id, p.warc_record_offset, p.url, p.title, p.text, p.language,
  p.published, c.fetch_time, c.content_mime_detected AS mime
FROM pages p JOIN captures c USING (source_id, warc_record_offset)
WHERE p.source_id = ? AND p.warc_record_offset >= ? AND p.warc_record_offset < ? AND p.searchable = ? AND {inside}
ORDER BY p.warc_record_offset
"""


def _rows(catalog: Catalog, spans: Sequence[Span], searchable: bool, part: Part) -> Iterator[Row]:
    rows = _ROWS.format(inside=part.sql("p.url"))
    for span in spans:
        for batch in catalog.db.sql(rows, params=[*span, searchable]).to_arrow_reader(1000):
            yield from batch.to_pylist()


def _called(path: Path, spans: Sequence[Span]) -> dict[tuple[int, int], Anchors]:
    return {(span[0], offset): texts for span in spans for offset, texts in anchors_of(path, *span)}


def page_day(row: Row) -> date:
    """The day a page is dated: published, else fetched."""
    day = row["published"] or row["fetch_time"].date()
    assert isinstance(day, date)
    return day


def view(title: str, text: str, compressor: zstandard.ZstdCompressor) -> bytes:
    """A page view at rest: zstd over title, newline, text (a title has no newline)."""
    return compressor.compress(f"{title}\n{text}".encode("utf-8", "replace"))


def build(
    root: Path, collection: Path, name: str, spans: tuple[Span, ...], anchors: Path, weights: Weights,
    count: Callable[[], None], part: Part = WHOLE,
) -> Shard:  # fmt: skip
    """Build the shard of that name under `root` unless it is there; `count` is called for every page done.

    `anchors`: file of `webemu.index.signals.anchors`; `part`: which pages of the sources are in it.
    """
    if (root / name / "shard.json").exists():
        return load(root / name)
    folder = root / f".{name}.{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    compressor = zstandard.ZstdCompressor(level=3)
    with (
        Catalog(collection, read_only=True) as catalog,
        BlobWriter(folder / "records") as records,
        BlobWriter(folder / "views") as views,
    ):
        catalog.db.execute("SET threads = 1")

        def entries() -> Iterator[Entry]:
            called = _called(anchors, spans)
            for row in _rows(catalog, spans, True, part):
                day = page_day(row)
                title, text = row["title"] or "", row["text"]
                terms = said(text, row["language"] or "")
                is_published = row["published"] is not None
                records.add(
                    encode(row["url"], title or row["url"], day_number(day), terms, row["language"] or "", is_published)
                )
                views.add(view(title, text, compressor))
                count()
                yield Entry(
                    row["url"], title, terms.all, row["mime"] or "", row["language"] or "", str(day),
                    tuple(called.get((row["source_id"], row["warc_record_offset"]), ())),
                )  # fmt: skip

        documents = write_index(folder / "text", entries(), weights)
        pages = documents
        for row in _rows(catalog, spans, False, part):
            views.add(view(row["title"] or "", row["text"], compressor))
            count()
            pages += 1
    shard = Shard(name, spans, documents, pages, digests(folder))
    (folder / "shard.json").write_text(json.dumps(asdict(shard)))
    shutil.rmtree(root / name, ignore_errors=True)
    folder.rename(root / name)
    return shard
