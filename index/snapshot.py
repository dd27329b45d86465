"""Builds snapshots: immutable folders that are served, made from the catalog and named by a hash of their content.

`webemu.index.manifest` describes a snapshot; `webemu.index.open` opens one for serving.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from hashlib import blake2b
from importlib.resources import files
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from webemu.emulator.dates import day_number
from webemu.index import shard as shards
from webemu.index.builders import SNAPSHOT, fingerprint
from webemu.index.catalog import Catalog
from webemu.index.columns import FOREVER, write_columns
from webemu.index.digests import digests
from webemu.index.evaluation.held_out import held_out_sql
from webemu.index.lookup import FILE as LOOKUP_FILE
from webemu.index.lookup import write_lookup
from webemu.index.manifest import FORMAT, Manifest, contents_of, read_manifest, switch, write_manifest
from webemu.index.parent import leave_with, without_interrupts
from webemu.index.partitions.partition import WHOLE, Part
from webemu.index.rank import Weights
from webemu.index.signals.anchors import gather
from webemu.index.signals.duplicates import FOLDER as DUPLICATES_FOLDER
from webemu.index.signals.duplicates import MEMBERS, write_clusters, write_members
from webemu.index.signals.hosts import NAME, ranks_hash, write_priors
from webemu.index.signals.quality import QUALITY
from webemu.index.signals.urls import ADDRESS
from webemu.index.sorter import Sorter
from webemu.index.text import unite
from webemu.index.titles import FOLDER as TITLES_FOLDER
from webemu.index.titles import write_titles
from webemu.index.unindexable import drop_unindexable
from webemu.index.vocabulary import FILE as WORDS_FILE
from webemu.index.vocabulary import sampled, write_words

Progress = Callable[[str, int, int], None]
"""Called with (name of the stage, pages done, pages in all)."""


class Given(NamedTuple):
    """Inputs of a build other than the sources."""

    collection: Path
    home: Path
    """Folder that holds `shards` and `snapshots`: the collection, or the folder of one partition."""
    anchors: Path
    """Parquet file of link texts (`webemu.index.signals.anchors`)."""
    weights: Weights
    part: Part = WHOLE
    """Partition that is built."""


class Counted(NamedTuple):
    """The catalog as counted before a build."""

    pages: dict[int, int]
    """Number of pages of each source."""
    contents: dict[int, tuple[int, ...]]
    """Hash of what was read from each source, and hash of the links to its pages."""
    ranks: str
    """Hash of the host ranks that were imported; empty if none were."""


def counted(collection: Path, anchors: Path, leave_out: str = "false") -> Counted:
    """Count the catalog's sources, and write the link texts of all pages to the file `anchors`.

    Captures that a snapshot cannot hold are dropped from the catalog first.
    """
    drop_unindexable(collection)
    with Catalog(collection, read_only=True) as catalog:
        sources = catalog.db.execute("SELECT source_id, pages, content_hash FROM sources").fetchall()
        ranks = ranks_hash(catalog.db)
        links = gather(catalog.db, anchors, leave_out)
    contents: dict[int, tuple[int, ...]]
    contents = {source: (content, links.get(source, 0)) for source, _, content in sources}
    return Counted({source: pages or 0 for source, pages, _ in sources}, contents, ranks)


def build(
    collection: Path, workers: int = 1, progress: Progress | None = None, weights: Weights = Weights(),
    hold_out: bool = False,
) -> str:  # fmt: skip
    """Build the snapshot of the whole catalog unless it exists, serve it, and return its id.

    With `hold_out` the links of a fifth of all pages do not count (`webemu.index.evaluation.held_out`).

        snapshot = build_snapshot(Path("webemu-data/default"), workers=4)
    """
    anchors = collection / f".anchors.{os.getpid()}.parquet"
    try:
        found = counted(collection, anchors, held_out_sql("c.url") if hold_out else "false")
        snapshot = build_of(Given(collection, collection, anchors, weights), found, workers, progress)
    finally:
        anchors.unlink(missing_ok=True)
    switch(collection, snapshot)
    return snapshot


def build_of(given: Given, found: Counted, workers: int, progress: Progress | None) -> str:
    """Build the snapshot of the counted catalog, or of one partition of it, unless it exists; return its id."""
    report = progress or (lambda *_: None)
    part, weights = given.part, given.weights
    # Estimates: a partition has about its share of each source's pages.
    pages = {source: count // part.of for source, count in found.pages.items()}
    with Catalog(given.collection, read_only=True) as catalog:
        groups = shards.spanned(catalog.db, shards.plan(pages), pages)
    names = [shards.shard_id([(*span, *found.contents[span[0]]) for span in group], weights, part) for group in groups]
    told = [FORMAT, fingerprint(SNAPSHOT), names, found.ranks, asdict(weights)]
    snapshot = blake2b(json.dumps(told).encode(), digest_size=8).hexdigest()
    folder = given.home / "snapshots" / snapshot
    # Everything that decides the content is in the id, so an existing folder is the same snapshot.
    if (folder / "manifest.json").exists():
        _follow_moves(given, folder)
    else:
        total = sum(found.pages.values()) // part.of
        named = dict(zip(names, groups, strict=True))
        built = _build_shards(given, named, workers, lambda done: report("indexing", done, total))
        report("linking", total, total)
        _compose(given, folder, built, len(found.pages))
    return snapshot


def _follow_moves(given: Given, folder: Path) -> None:
    """Update the paths of WARC files in an existing manifest: files may have moved since the snapshot was built."""
    manifest = read_manifest(folder)
    with Catalog(given.collection, read_only=True) as catalog:
        files = _placed(given, [row[0] for row in catalog.db.execute(_FILES).fetchall()])
    if files != manifest.files:
        write_manifest(folder, replace(manifest, files=files))


def _placed(given: Given, paths: list[str]) -> tuple[str, ...]:
    """Return the paths of payload files as seen from the folder of the snapshot."""
    at_home = given.home == given.collection
    return tuple(path if at_home else str((given.collection / path).resolve()) for path in paths)


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Return the names made distinct: the second of equal names is prefixed with `2/`, and so on."""
    number: dict[str, int] = {}
    distinct = []
    for name in names:
        number[name] = number.get(name, 0) + 1
        distinct.append(name if number[name] == 1 else f"{number[name]}/{name}")
    return tuple(distinct)


_FILES = "SELECT coalesce(copy, path) FROM sources ORDER BY source_id"
_ARCHIVES = """
SELECT coalesce(copy, name), coalesce(min(crawl), ''), coalesce(floor(epoch(min(fetch_time)))::BIGINT, 0),
       coalesce(floor(epoch(max(fetch_time)))::BIGINT, 0)
FROM sources LEFT JOIN captures USING (source_id) GROUP BY source_id, copy, name ORDER BY source_id
"""
_TITLES = "SELECT DISTINCT title FROM pages WHERE searchable AND title <> '' ORDER BY title"
_counter: Synchronized[int] | None = None


def _start_worker(counter: Synchronized[int], parent: int) -> None:
    """Prepare a worker process: share the page counter, and exit with the parent."""
    global _counter
    _counter = counter
    leave_with(parent)


def _count() -> None:
    """Count one page as done, in a worker process."""
    if _counter is not None:
        with _counter.get_lock():
            _counter.value += 1


def _build_one(given: Given, name: str, spans: tuple[shards.Span, ...]) -> shards.Shard:
    """Build one shard, in a worker process."""
    root = given.home / "shards"
    return shards.build(root, given.collection, name, spans, given.anchors, given.weights, _count, given.part)


def _build_shards(
    given: Given, named: dict[str, tuple[shards.Span, ...]], workers: int, report: Callable[[int], None]
) -> list[shards.Shard]:
    """Build the named shards from their spans in `workers` processes; return them in the same order."""
    context = get_context("spawn")  # a fork would inherit locks of DuckDB's threads, but not the threads
    counter = context.Value("q", 0)
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(counter, os.getpid())
    ) as pool:
        with without_interrupts():
            waiting = [pool.submit(_build_one, given, name, group) for name, group in named.items()]
        for future in waiting:
            while not future.done():
                try:  # a timeout only serves to report progress
                    future.result(timeout=0.5)
                except TimeoutError:
                    report(counter.value)
        report(counter.value)
        return [future.result() for future in waiting]


def _compose(given: Given, folder: Path, built: list[shards.Shard], sources: int) -> None:
    """Write the snapshot folder of these shards."""
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    homes = [given.home / "shards" / shard.id for shard in built]
    segments = unite([home / "text" for home in homes], temporary / "text")
    bases = [sum(shard.pages for shard in built[:i]) for i in range(len(built))]
    with Catalog(given.collection, read_only=True) as catalog:
        paths = _resolve(catalog.db, built, bases, given.part)
        _measure(catalog.db)
        write_columns(temporary / "columns", _column_rows(catalog.db))
        write_members(temporary / DUPLICATES_FOLDER, _stream(catalog.db, MEMBERS))
        titles = [title for (title,) in _stream(catalog.db, _TITLES)]
        write_titles(temporary / TITLES_FOLDER, titles)
        sizes = [shard.documents for shard in built]
        write_words(temporary / WORDS_FILE, titles, sampled(list(zip(homes, sizes, strict=True))))
        captures = _scalar(catalog.db, "SELECT count(*) FROM served")
        archives = catalog.db.execute(_ARCHIVES).fetchall()
        surts = _stream(catalog.db, "SELECT url_surtkey, list(DISTINCT url) FROM served GROUP BY ALL ORDER BY 1")
        rows, pairs = _capture_rows(catalog.db), Sorter(catalog.db)
        urls, hosts = write_lookup(temporary / LOOKUP_FILE, rows, surts, pairs)
    manifest = Manifest(
        id=folder.name,
        format=FORMAT,
        shards=tuple(shard.id for shard in built),
        segments=tuple(segments),
        bases=tuple(bases),
        sources=sources,
        documents=sum(shard.documents for shard in built),
        pages=sum(shard.pages for shard in built),
        captures=captures,
        urls=urls,
        hosts=hosts,
        files=_placed(given, paths),
        names=_distinct([name for name, *_ in archives]),
        crawls=tuple(crawl for _, crawl, *_ in archives),
        spans=tuple((first, last) for *_, first, last in archives),
        hashes=digests(temporary),
        weights=asdict(given.weights),
        contents=tuple(contents_of(home) for home in homes),
    )
    write_manifest(temporary, manifest)
    shutil.rmtree(folder, ignore_errors=True)  # the remains of an older build without a manifest
    temporary.rename(folder)


def _resolve(db: duckdb.DuckDBPyConnection, built: list[shards.Shard], bases: list[int], part: Part) -> list[str]:
    """Fill the temporary tables of `resolve.sql`; return the files that payloads are read from."""
    db.execute("SET threads = 2")  # each thread takes a share of the memory limit
    db.execute("CREATE TEMP TABLE shard_of (source_id BIGINT, first BIGINT, last BIGINT, shard INTEGER, base BIGINT)")
    for number, (shard, base) in enumerate(zip(built, bases, strict=True)):
        for span in shard.spans:
            db.execute("INSERT INTO shard_of VALUES (?, ?, ?, ?, ?)", [*span, number, base])
    paths: list[str] = []
    db.execute("CREATE TEMP TABLE file_of (source_id BIGINT, file INTEGER)")
    rows = db.execute("SELECT source_id, coalesce(copy, path) FROM sources ORDER BY source_id").fetchall()
    for number, (source, path) in enumerate(rows):
        db.execute("INSERT INTO file_of VALUES (?, ?)", [source, number])
        paths.append(path)
    db.execute(f"CREATE OR REPLACE TEMP MACRO is_inside(url) AS {part.sql('url')}")
    db.execute(files("webemu.index").joinpath("resolve.sql").read_text())
    db.execute(part.elsewhere_sql())
    return paths


def _scalar(db: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = db.execute(sql).fetchone()
    return int(row[0]) if row else 0


def _stream(db: duckdb.DuckDBPyConnection, sql: str) -> Iterator[tuple[Any, ...]]:
    db.execute(sql)
    while rows := db.fetchmany(10_000):
        yield from rows


_COLUMNS = f"""
WITH placed AS (
  SELECT p.source_id, p.warc_record_offset,
         row_number() OVER (ORDER BY p.url, c.fetch_time, p.source_id, p.warc_record_offset) - 1 AS place
  FROM pages p JOIN captures c USING (source_id, warc_record_offset))
SELECT floor(epoch(c.fetch_time))::BIGINT,
       CASE WHEN p.searchable THEN coalesce(lead(floor(epoch(c.fetch_time))::BIGINT) OVER (
         PARTITION BY p.searchable, p.url
         ORDER BY c.fetch_time, c.warc_record_type = 'response', p.source_id, p.warc_record_offset), {FOREVER})
       ELSE 0 END,
       coalesce(p.published, c.fetch_time::DATE), c.url_host_registered_domain, n.cluster,
       place, coalesce(h.host, 0), coalesce(address(c.url_path, c.url_query), 0), coalesce(quality(p), 1)
FROM pages p JOIN captures c USING (source_id, warc_record_offset) JOIN doc_of d USING (source_id, warc_record_offset)
JOIN placed USING (source_id, warc_record_offset) JOIN cluster_of n USING (text_hash)
LEFT JOIN host_prior h ON h.name = {NAME}
ORDER BY d.doc
"""


def _measure(db: duckdb.DuckDBPyConnection) -> None:
    """Create the temporary tables and macros that the feature columns are read from."""
    write_clusters(db)
    write_priors(db)
    db.execute(ADDRESS)
    db.execute(QUALITY)


_DOMAINS = "SELECT DISTINCT coalesce(url_host_registered_domain, '') AS domain FROM captures ORDER BY domain"


def _column_rows(db: duckdb.DuckDBPyConnection) -> Iterator[tuple[float, ...]]:
    """Yield the rows of `write_columns`. Domains and URL ranks are numbered over the whole catalog, for all partitions
    alike.
    """
    domains = {domain: number for number, (domain,) in enumerate(db.execute(_DOMAINS).fetchall())}
    for since, until, day, domain, *rest in _stream(db, _COLUMNS):
        yield since, until, day_number(day), domains[domain or ""], *rest


_CAPTURES = """
SELECT url, head_file.file, head_offset, head_length, time, status, coalesce(mime, ''), coalesce(charset, ''),
       coalesce(digest, ''), coalesce(redirect, ''), coalesce(truncated, ''), kind, file_of.file, s.warc_record_offset,
       length, coalesce(d.doc, e.doc, -1), coalesce(declared, ''), coalesce(languages, '')
FROM served s JOIN file_of USING (source_id)
LEFT JOIN file_of AS head_file ON head_file.source_id = head_source
LEFT JOIN doc_of d ON d.source_id = s.source_id AND d.warc_record_offset = s.warc_record_offset
LEFT JOIN doc_elsewhere e ON e.source_id = s.source_id AND e.warc_record_offset = s.warc_record_offset
ORDER BY url, time, kind = 'response', own_source, own_offset
"""


def _capture_rows(db: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `write_lookup`, ordered by URL and time."""
    for url, file, offset, length, *rest in _stream(db, _CAPTURES):
        yield url, (None if file is None else [file, offset, length]), *rest
