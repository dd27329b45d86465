"""Shards: immutable parts of a snapshot, built once from a set of sources and shared by every snapshot that has them.

Which sources lie together depends on the set of sources alone (a binary trie over their ids), so that any order of
ingesting ends in the same shards, and a new source rebuilds at most the one shard it falls into.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import Any

import zstandard

from emulator.dates import day_number
from index import analysis
from index.blobs import BlobWriter
from index.catalog import Catalog
from index.digests import digests
from index.rank import Weights
from index.records import encode
from index.schema import SCHEMA_VERSION
from index.signals.anchors import Anchors, anchors_of
from index.split.part import WHOLE, Part
from index.text import Entry, write_index

BUILD_VERSION = 3
"""Raise it whenever what a shard holds changes for the same pages."""
SHARD_PAGES = 100_000
"""Sources are split until a shard holds at most so many pages (one source is never split)."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shard:
    """What `shard.json` says."""

    id: str
    sources: tuple[int, ...]
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


def shard_id(contents: Sequence[tuple[int, ...]], weights: Weights, part: Part = WHOLE) -> str:
    """Name by content: (id, hash of its captures and pages, hash of the links to them) of each source in it, and how it
    was built."""
    config = [SCHEMA_VERSION, BUILD_VERSION, analysis.VERSION, weights.title, weights.anchors]
    config += [] if part == WHOLE else [*part]
    return blake2b(json.dumps([config, contents]).encode(), digest_size=8).hexdigest()


def load(folder: Path) -> Shard:
    """Read `shard.json`."""
    values = json.loads((folder / "shard.json").read_text())
    return Shard(values["id"], tuple(values["sources"]), values["documents"], values["pages"], values["hashes"])


_ROWS = """
SELECT p.source_id, p.warc_record_offset, p.url, p.title, p.text,
  p.headings, p.language, p.published, c.fetch_time, c.content_mime_detected AS mime
FROM pages p JOIN captures c USING (source_id, warc_record_offset)
WHERE p.source_id = ? AND p.searchable = ? AND {inside} ORDER BY p.warc_record_offset
"""


def _rows(catalog: Catalog, sources: tuple[int, ...], searchable: bool, part: Part) -> Iterator[Row]:
    rows = _ROWS.format(inside=part.sql("p.url"))
    for source in sources:
        for batch in catalog.db.sql(rows, params=[source, searchable]).to_arrow_reader(1000):
            yield from batch.to_pylist()


def _called(path: Path, sources: tuple[int, ...]) -> dict[tuple[int, int], Anchors]:
    return {(source, offset): texts for source in sources for offset, texts in anchors_of(path, source)}


def page_day(row: Row) -> date:
    """The day a page is dated: published, else fetched."""
    day = row["published"] or row["fetch_time"].date()
    assert isinstance(day, date)
    return day


def view(title: str, text: str, compressor: zstandard.ZstdCompressor) -> bytes:
    """A page view at rest: zstd over title, newline, text (a title has no newline)."""
    return compressor.compress(f"{title}\n{text}".encode("utf-8", "replace"))


def build(
    root: Path, collection: Path, name: str, sources: tuple[int, ...], anchors: Path, weights: Weights,
    count: Callable[[], None], part: Part = WHOLE,
) -> Shard:  # fmt: skip
    """Build the shard of that name under `root` unless it is there; `count` is called for every page done.

    `anchors`: file of `index.signals.anchors`; `part`: which pages of the sources are in it.
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
        catalog.db.execute("SET memory_limit = '2GB'")

        def entries() -> Iterator[Entry]:
            called = _called(anchors, sources)
            for row in _rows(catalog, sources, True, part):
                day = page_day(row)
                title, text = row["title"] or "", row["text"]
                records.add(encode(row["url"], title or row["url"], day_number(day), text, row["language"] or ""))
                views.add(view(title, text, compressor))
                count()
                yield Entry(
                    row["url"], title, text, row["headings"] or "", row["mime"] or "", row["language"] or "", str(day),
                    tuple(called.get((row["source_id"], row["warc_record_offset"]), ())),
                )  # fmt: skip

        documents = write_index(folder / "text", entries(), weights)
        pages = documents
        for row in _rows(catalog, sources, False, part):
            views.add(view(row["title"] or "", row["text"], compressor))
            count()
            pages += 1
    shard = Shard(name, sources, documents, pages, digests(folder))
    (folder / "shard.json").write_text(json.dumps(asdict(shard)))
    shutil.rmtree(root / name, ignore_errors=True)
    folder.rename(root / name)
    return shard
