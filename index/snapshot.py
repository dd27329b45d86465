"""Builds snapshots: immutable folders that are served, made from the catalog and named by a hash of their content.

`webemu.index.manifest` describes a snapshot; `webemu.index.open` opens one for serving.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from hashlib import blake2b
from importlib.resources import files
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import NamedTuple

import duckdb

from webemu.index import shard as shards
from webemu.index.builders import SHARD_SOURCES, SNAPSHOT_SOURCES, hash_sources
from webemu.index.catalog import Catalog
from webemu.index.columns import FOREVER, write_columns
from webemu.index.digests import hash_folder
from webemu.index.duplicate_clusters import FOLDER as DUPLICATES_FOLDER
from webemu.index.earlier_results import find_earlier_result, keep_result
from webemu.index.evaluation.held_out import held_out_sql
from webemu.index.lookup import FILE as LOOKUP_FILE
from webemu.index.lookup_rows import query_docs, write_resolved
from webemu.index.lookup_writer import EarlierLookup, find_earlier_lookup, write_touched
from webemu.index.manifest import FORMAT, Manifest, hash_contents, read_manifest, set_current, write_manifest
from webemu.index.page_columns import FOLDER as PAGE_COLUMNS_FOLDER
from webemu.index.parent import exit_with_parent, ignore_sigint_in_children
from webemu.index.partitions.partition import UNPARTITIONED, Partition
from webemu.index.rank import Weights
from webemu.index.removal.rules import read_rules
from webemu.index.removal.sweep import REASON as REMOVED
from webemu.index.removal.sweep import sweep_collection
from webemu.index.shard_file import Shard, Span, shard_exists
from webemu.index.signals.anchors import gather_anchors
from webemu.index.signals.duplicates import MEMBERS, write_leaders, write_members
from webemu.index.signals.duplicates import NAME as BANDS
from webemu.index.signals.earlier_anchors import NAME as LINK_TEXTS
from webemu.index.signals.hosts import HOST_NAME_SQL, hash_ranks, write_priors
from webemu.index.signals.linked_hosts import are_listed, list_linked_hosts
from webemu.index.text import unite_indexes
from webemu.index.unindexable import drop_unindexable
from webemu.index.vocabulary import COUNTS_FILE as WORD_COUNTS_FILE
from webemu.index.vocabulary import FILE as WORDS_FILE
from webemu.index.vocabulary import write_words

SMALL_BUILD_PAGES = 1000
"""Pages that are indexed in this process: starting another one takes as long."""
Progress = Callable[[str, int, int], None]
"""Called with (name of the stage, pages done, pages in all)."""


class BuildInputs(NamedTuple):
    """Inputs of a build other than the sources."""

    collection: Path
    home: Path
    """Folder that holds `shards` and `snapshots`: the collection, or the folder of one partition."""
    anchors: Path
    """Parquet file of link texts (`webemu.index.signals.anchors`)."""
    weights: Weights
    partition: Partition = UNPARTITIONED
    """Partition that is built."""
    only_sources: Collection[int] = ()
    """Ids of the sources that are read; none for all."""


class CatalogCounts(NamedTuple):
    """The catalog as counted before a build."""

    pages: dict[int, int]
    """Number of pages of each source."""
    contents: dict[int, tuple[int, int]]
    """Hash of what was read from each source, and hash of the links to its pages."""
    ranks: str
    """Hash of the host ranks that were imported; empty if none were."""
    removals: str = ""
    """Hash of what was removed from the collection; empty if nothing was."""

    def source_contents(self) -> dict[int, int]:
        """Return the hash of what was read from each source, by id in order."""
        return {source: content for source, (content, _) in sorted(self.contents.items())}


def count_catalog(
    collection: Path, anchors: Path, leave_out: str = "false", only_sources: Collection[int] = ()
) -> CatalogCounts:
    """Count the catalog's sources, and write the link texts of all pages to the file `anchors`.

    Captures that were removed, and those that a snapshot cannot hold, are dropped from the catalog first. With
    `only_sources` the catalog is read as if it had these sources only.
    """
    sweep_collection(collection)
    drop_unindexable(collection)
    _list_linked_hosts(collection)
    with Catalog(collection, read_only=True) as catalog:
        catalog.raise_memory_limit()
        _restrict_to_sources(catalog.db, only_sources)
        sources = catalog.db.execute("SELECT source_id, coalesce(pages, 0), content_hash FROM sources").fetchall()
        pages = {source: count for source, count, _ in sources}
        source_contents = {source: content for source, _, content in sources}
        ranks = hash_ranks(catalog.db)
        earlier = None
        if leave_out == "false" and not only_sources:
            earlier = find_earlier_result(collection, LINK_TEXTS, hash_sources(SHARD_SOURCES), source_contents)
        links = gather_anchors(catalog.db, anchors, leave_out, earlier)
    contents = {source: (content, links.get(source, 0)) for source, content in source_contents.items()}
    return CatalogCounts(pages, contents, ranks, read_rules(collection).digest())


def _list_linked_hosts(collection: Path) -> None:
    """List the links between hosts of sources that are new. Raises CatalogError if the catalog cannot be written."""
    with Catalog(collection, read_only=True) as catalog:
        if are_listed(catalog.db):
            return
    with Catalog(collection) as catalog:
        list_linked_hosts(catalog.db)


def _restrict_to_sources(db: duckdb.DuckDBPyConnection, only_sources: Collection[int]) -> None:
    """Hide all other sources and what was read from them from this connection; with no sources, hide nothing."""
    if only_sources:
        ids = ", ".join(map(str, sorted(only_sources)))
        (catalog_name,) = db.execute("SELECT current_database()").fetchone() or ("",)
        for table in (
            "sources",
            "captures",
            "pages",
            "links",
        ):  # a temporary view is found before the table of its name
            all_rows = f'"{catalog_name}".main.{table}'
            db.execute(f"CREATE TEMP VIEW {table} AS SELECT rowid, * FROM {all_rows} WHERE source_id IN ({ids})")


def build_snapshot(
    collection: Path, workers: int = 1, progress: Progress | None = None, weights: Weights = Weights(),
    hold_out: bool = False,
) -> str:  # fmt: skip
    """Build the snapshot of the whole catalog unless it exists, serve it, and return its id.

    With `hold_out` the links of a fifth of all pages do not count (`webemu.index.evaluation.held_out`).

        snapshot = build_snapshot(Path("webemu-data/default"), workers=4)
    """
    anchors = collection / f".anchors.{os.getpid()}.parquet"
    try:
        counts = count_catalog(collection, anchors, held_out_sql("c.url") if hold_out else "false")
        snapshot = build_from_counts(BuildInputs(collection, collection, anchors, weights), counts, workers, progress)
        if not hold_out:
            links = {source: of_links for source, (_, of_links) in counts.contents.items()}
            keep_result(collection, LINK_TEXTS, anchors, hash_sources(SHARD_SOURCES), counts.source_contents(), links)
    finally:
        anchors.unlink(missing_ok=True)
    set_current(collection, snapshot)
    return snapshot


def build_from_counts(inputs: BuildInputs, counts: CatalogCounts, workers: int, progress: Progress | None) -> str:
    """Build the snapshot of the counted catalog, or of one partition of it, unless it exists; return its id."""
    report = progress or (lambda *_: None)
    partition, weights = inputs.partition, inputs.weights
    # Estimates: a partition has about its share of each source's pages.
    pages = {source: count // partition.total for source, count in counts.pages.items()}
    with Catalog(inputs.collection, read_only=True) as catalog:
        _restrict_to_sources(catalog.db, inputs.only_sources)
        groups = shards.split_oversized(catalog.db, shards.group_sources(pages), pages)
    names = [
        shards.shard_id([(*span, *counts.contents[span[0]]) for span in group], weights, partition) for group in groups
    ]
    id_parts = [FORMAT, hash_sources(SNAPSHOT_SOURCES), names, counts.ranks, asdict(weights)]
    snapshot = blake2b(json.dumps(id_parts).encode(), digest_size=8).hexdigest()
    folder = inputs.home / "snapshots" / snapshot
    # Everything that decides the content is in the id, so an existing folder is the same snapshot.
    if (folder / "manifest.json").exists():
        _update_manifest(inputs, folder, counts.removals)
    else:
        total = sum(counts.pages.values()) // partition.total
        groups_by_name = dict(zip(names, groups, strict=True))
        missing = [group for name, group in groups_by_name.items() if not shard_exists(inputs.home / "shards", name)]
        missing_sources = {span[0] for group in missing for span in group}
        processes = workers if sum(pages[source] for source in missing_sources) > SMALL_BUILD_PAGES else 0
        shards_built = _build_shards(
            inputs, groups_by_name, processes, lambda pages_done: report("indexing", pages_done, total)
        )
        report("linking", total, total)
        _write_snapshot(inputs, folder, shards_built, counts)
    return snapshot


def _update_manifest(inputs: BuildInputs, folder: Path, removals: str) -> None:
    """Update paths of WARC files and removals in an existing manifest: files may have moved since it was built."""
    manifest = read_manifest(folder)
    with Catalog(inputs.collection, read_only=True) as catalog:
        _restrict_to_sources(catalog.db, inputs.only_sources)
        files = _payload_paths(inputs, [row[0] for row in catalog.db.execute(_FILES).fetchall()])
    if (files, removals) != (manifest.files, manifest.removals):
        write_manifest(folder, replace(manifest, files=files, removals=removals))


def _payload_paths(inputs: BuildInputs, paths: list[str]) -> tuple[str, ...]:
    """Return the paths of payload files as seen from the folder of the snapshot."""
    is_collection = inputs.home == inputs.collection
    return tuple(path if is_collection else str((inputs.collection / path).resolve()) for path in paths)


def _make_distinct(names: list[str]) -> tuple[str, ...]:
    """Return the names made distinct: the second of equal names is prefixed with `2/`, and so on."""
    number: dict[str, int] = {}
    distinct = []
    for name in names:
        number[name] = number.get(name, 0) + 1
        distinct.append(name if number[name] == 1 else f"{number[name]}/{name}")
    return tuple(distinct)


_FILES = "SELECT coalesce(copy, path) FROM sources ORDER BY source_id"
_FILE_OF = """
CREATE TEMP TABLE file_of AS
SELECT source_id, (row_number() OVER (ORDER BY source_id) - 1)::INTEGER AS file FROM sources
"""
_SHARD_OF = """
CREATE TEMP TABLE shard_of AS
SELECT unnest($1::BIGINT[]) AS source_id, unnest($2::BIGINT[]) AS first, unnest($3::BIGINT[]) AS last,
       unnest($4::INTEGER[]) AS shard, unnest($5::BIGINT[]) AS base
"""
_ARCHIVES = """
SELECT coalesce(copy, name), coalesce(min(crawl), ''), coalesce(floor(epoch(min(fetch_time)))::BIGINT, 0),
       coalesce(floor(epoch(max(fetch_time)))::BIGINT, -1)
FROM sources LEFT JOIN captures USING (source_id) GROUP BY source_id, copy, name ORDER BY source_id
"""
_REDACTED = f"""
SELECT file FROM file_of WHERE source_id IN (SELECT source_id FROM drops WHERE reason = '{REMOVED}') ORDER BY file
"""
_counter: Synchronized[int] | None = None


def _start_worker(counter: Synchronized[int], parent: int) -> None:
    """Prepare a worker process: share the page counter, and exit with the parent."""
    global _counter
    _counter = counter
    exit_with_parent(parent)


def _count_page() -> None:
    """Count one page as done, in a worker process."""
    if _counter is not None:
        with _counter.get_lock():
            _counter.value += 1


def _build_shard(inputs: BuildInputs, name: str, spans: tuple[Span, ...]) -> Shard:
    """Build one shard, in a worker process."""
    root = inputs.home / "shards"
    return shards.build_shard(
        root, inputs.collection, name, spans, inputs.anchors, inputs.weights, _count_page, inputs.partition
    )


def _build_shards(
    inputs: BuildInputs, groups_by_name: dict[str, tuple[Span, ...]], workers: int, report: Callable[[int], None]
) -> list[Shard]:
    """Build the named shards from their spans in `workers` processes, with 0 in this one; return them in the same
    order.
    """
    if not workers:
        return [_build_shard(inputs, name, group) for name, group in groups_by_name.items()]
    context = get_context("spawn")  # a fork would inherit locks of DuckDB's threads, but not the threads
    counter = context.Value("q", 0)
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(counter, os.getpid())
    ) as pool:
        with ignore_sigint_in_children():
            waiting = [pool.submit(_build_shard, inputs, name, group) for name, group in groups_by_name.items()]
        for future in waiting:
            while not future.done():
                try:  # a timeout only serves to report progress
                    future.result(timeout=0.5)
                except TimeoutError:
                    report(counter.value)
        report(counter.value)
        return [future.result() for future in waiting]


def _write_snapshot(inputs: BuildInputs, folder: Path, shards_built: list[Shard], counts: CatalogCounts) -> None:
    """Write the snapshot folder of these shards."""
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    homes = [inputs.home / "shards" / shard.id for shard in shards_built]
    segments = unite_indexes([home / "text" for home in homes], temporary / "text")
    bases = [sum(shard.pages for shard in shards_built[:i]) for i in range(len(shards_built))]
    builder = hash_sources(SNAPSHOT_SOURCES)
    contents = counts.source_contents()
    earlier = None
    if inputs.partition == UNPARTITIONED:  # captures of a partition name pages of others, which new sources renumber
        earlier = find_earlier_lookup(inputs.home / "snapshots", builder, contents)
    with Catalog(inputs.collection, read_only=True) as catalog:
        catalog.raise_memory_limit()
        catalog.db.execute("SET threads = 2")  # each thread takes a share of the memory limit
        write_priors(catalog.db)  # of all sources: a small graph of hosts would make each of them look central
        _restrict_to_sources(catalog.db, inputs.only_sources)
        paths = _resolve_captures(catalog.db, shards_built, bases, inputs.partition, earlier)
        _find_leaders(catalog.db, inputs, contents)
        page_columns = [home / PAGE_COLUMNS_FOLDER for home in homes]
        write_columns(temporary / "columns", page_columns, catalog.db.sql(_COLUMNS).to_arrow_reader(100_000))
        write_members(temporary / DUPLICATES_FOLDER, catalog.db.sql(MEMBERS).to_arrow_reader(100_000))
        docs = query_docs(catalog.db, list(contents))
        archives = catalog.db.execute(_ARCHIVES).fetchall()
        redacted = tuple(number for (number,) in catalog.db.execute(_REDACTED).fetchall())
        lookup, exchanges = write_resolved(temporary / LOOKUP_FILE, catalog.db, earlier)
    write_words(temporary / WORDS_FILE, [home / WORD_COUNTS_FILE for home in homes])
    manifest = Manifest(
        id=folder.name,
        format=FORMAT,
        shards=tuple(shard.id for shard in shards_built),
        segments=tuple(segments),
        bases=tuple(bases),
        sources=len(counts.pages),
        documents=sum(shard.documents for shard in shards_built),
        pages=sum(shard.pages for shard in shards_built),
        captures=lookup.captures,
        urls=lookup.urls,
        hosts=lookup.hosts,
        exchanges=exchanges,
        files=_payload_paths(inputs, paths),
        source_ids=tuple(contents),
        source_contents=tuple(contents.values()),
        docs=docs,
        names=_make_distinct([name for name, *_ in archives]),
        crawls=tuple(crawl for _, crawl, *_ in archives),
        spans=tuple((first, last) for *_, first, last in archives),
        hashes=hash_folder(temporary),
        weights=asdict(inputs.weights),
        contents=tuple(hash_contents(home) for home in homes),
        redacted=redacted,
        builder=builder,
        removals=counts.removals,
    )
    write_manifest(temporary, manifest)
    shutil.rmtree(folder, ignore_errors=True)  # the remains of an older build without a manifest
    temporary.rename(folder)


def _find_leaders(db: duckdb.DuckDBPyConnection, inputs: BuildInputs, contents: dict[int, int]) -> None:
    """Fill the temporary table of near duplicates; build upon what the last build found, and keep it for the next."""
    if inputs.partition != UNPARTITIONED or inputs.only_sources:
        write_leaders(db)
        return
    builder = hash_sources(SNAPSHOT_SOURCES)
    bands = inputs.collection / f".{BANDS}.{os.getpid()}.parquet"
    try:
        write_leaders(db, find_earlier_result(inputs.collection, BANDS, builder, contents), bands)
        keep_result(inputs.collection, BANDS, bands, builder, contents)
    finally:
        bands.unlink(missing_ok=True)


def _resolve_captures(
    db: duckdb.DuckDBPyConnection,
    shards_built: list[Shard],
    bases: list[int],
    partition: Partition,
    earlier: EarlierLookup | None,
) -> list[str]:
    """Fill the temporary tables of `resolve.sql`; return the files that payloads are read from."""
    rows = [
        (*span, number, base)
        for number, (shard, base) in enumerate(zip(shards_built, bases, strict=True))
        for span in shard.spans
    ]
    db.execute(_SHARD_OF, [[row[column] for row in rows] for column in range(5)])
    db.execute(_FILE_OF)
    paths = [path for (path,) in db.execute(_FILES).fetchall()]
    db.execute(f"CREATE OR REPLACE TEMP MACRO is_inside(url) AS {partition.membership_sql('url')}")
    write_touched(db, earlier)
    db.execute(files("webemu.index").joinpath("resolve.sql").read_text())
    db.execute(partition.remote_docs_sql())
    return paths


_COLUMNS = f"""
WITH host_of AS (SELECT url_host_name, host FROM (SELECT DISTINCT url_host_name FROM captures)
                 JOIN host_prior ON name = {HOST_NAME_SQL}),
     captured_again AS (SELECT searchable, url FROM pages GROUP BY ALL HAVING count(*) > 1),
     ended AS (
  SELECT p.source_id, p.warc_record_offset,
         lead(floor(epoch(c.fetch_time))::BIGINT) OVER (
           PARTITION BY p.searchable, p.url
           ORDER BY c.fetch_time, c.warc_record_type = 'response', p.source_id, p.warc_record_offset) AS until
  FROM pages p SEMI JOIN captured_again USING (searchable, url) JOIN captures c USING (source_id, warc_record_offset)),
     ordered AS (
  SELECT p.source_id, p.warc_record_offset, p.searchable, p.text_hash, c.url_host_name,
         row_number() OVER (ORDER BY p.url, c.fetch_time, p.source_id, p.warc_record_offset) - 1 AS rank
  FROM pages p JOIN captures c USING (source_id, warc_record_offset))
SELECT CASE WHEN p.searchable THEN coalesce(until, {FOREVER}) ELSE 0 END::BIGINT AS until,
       coalesce(leader, text_hash) AS cluster, rank::UINTEGER AS "order", coalesce(host, 0)::FLOAT AS host
FROM ordered p JOIN doc_of d USING (source_id, warc_record_offset) LEFT JOIN ended USING (source_id, warc_record_offset)
LEFT JOIN led_by USING (text_hash) LEFT JOIN host_of USING (url_host_name)
ORDER BY d.doc
"""
"""Query of the rows for `write_columns`. The number of a URL is its rank over all partitions, so that it means the same
in each.
"""
