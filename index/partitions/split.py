"""Splits a collection into partitions: builds a snapshot of each, and records what holds for all of them.

    <collection>/parts/<count>/<number>/        shards/, snapshots/, CURRENT of one partition, perhaps on its own disk
    <collection>/parts/<count>/sets/<id>.json   a set of partitions, and what each must know of the whole
    <collection>/parts/<count>/sets/<id>.words  the words of all partitions (`webemu.index.vocabulary`)
    <collection>/parts/<count>/split.json       written last: the set that is served

All partitions are built from one catalog, so that link texts, duplicates, domains and the order of URLs are those of
the whole collection. A partition that is added later holds the sources that came since (`add_partition`): it is built
of them alone, and the others stay as they are. `webemu serve --ray` serves them, and follows `split.json`.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from webemu.emulator.errors import SnapshotError
from webemu.emulator.world import World
from webemu.index.analysis import STEMMERS
from webemu.index.builders import PARTITION_SOURCES, hash_sources
from webemu.index.catalog import Catalog
from webemu.index.columns import Columns
from webemu.index.conditions import list_months
from webemu.index.manifest import Manifest, read_manifest, set_current
from webemu.index.parent import exit_with_parent, ignore_sigint_in_children
from webemu.index.partitions.client import PartitionClient, PartitionTransport
from webemu.index.partitions.engine import GlobalTermStatistics
from webemu.index.partitions.overlap import find_overlap
from webemu.index.partitions.page_store import PartitionedPageStore
from webemu.index.partitions.partition import Partition
from webemu.index.partitions.ranker import DocValueCache, PartitionedRanker
from webemu.index.rank import Weights
from webemu.index.removal.rules import read_rules
from webemu.index.snapshot import BuildInputs, CatalogCounts, build_from_counts, count_catalog
from webemu.index.text import open_index
from webemu.index.vocabulary import COUNTS_FILE as WORD_COUNTS_FILE
from webemu.index.vocabulary import write_words
from webemu.index.vocabulary_reader import Vocabulary

FILE = "split.json"
"""Name of the file that describes the partitions that are served."""
SETS = "sets"
"""Name of the folder that describes all sets of partitions."""
RANKER_NAMES = ("full", "plain", "weak")
"""Rankers that partitions have; vectors are not partitioned."""
Value = TypeVar("Value")
OnBuilt = Callable[[int], object]
"""Function that is called with 1 whenever a partition is built."""
_SET_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class PartitionSet:
    """The content of `split.json`."""

    id: str
    parts: int
    """Number of partitions that URLs are divided among by their hash; those after them were added later."""
    snapshots: tuple[str, ...]
    """Snapshot id of each partition."""
    bases: tuple[int, ...]
    """First dense id of each partition."""
    newest: int
    """Fetch time of the last page, in seconds since the epoch."""
    conditions: dict[str, int]
    """Number of pages of each language (`l:en`) and month (`m:2024-01`)."""
    figures: dict[str, int]
    """Counts over all partitions, named as in a manifest."""
    sources: dict[int, int]
    """Hash of what was read from each source, by id."""
    exchanges: int
    """Number of recorded exchanges."""
    removals: str
    """Hash of what was removed from the collection before; empty if nothing was."""
    superseded: dict[int, dict[int, int]] = field(default_factory=dict)
    """Pages by partition and dense id that a capture in another partition ends the visibility of, with the time of that
    capture in seconds.
    """
    copies: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    """Pages by partition and cluster of duplicates, of clusters that have pages in partitions of different times."""

    def statistics(self) -> GlobalTermStatistics:
        """Return what every partition must know of the whole index."""
        return GlobalTermStatistics(self.figures["documents"], self.newest, self.conditions)


def partition_folder(collection: Path, parts: int, number: int | None = None) -> Path:
    """Return the folder of all partitions, or of one of them."""
    folder = collection / "parts" / str(parts)
    return folder if number is None else folder / str(number)


def words_file(collection: Path, partition_set: PartitionSet) -> Path:
    """Return the file of the words of a set of partitions."""
    return partition_folder(collection, partition_set.parts) / SETS / f"{partition_set.id}.words"


def split_collection(
    collection: Path,
    parts: int,
    workers: int = 1,
    on_built: OnBuilt | None = None,
    weights: Weights = Weights(),
) -> PartitionSet:
    """Build the snapshots of all partitions, except those that exist, and serve them.

    partitions = split_collection(Path("webemu-data/default"), 8, workers=4)
    """
    anchors = collection / f".anchors.{os.getpid()}.parquet"
    folders = [partition_folder(collection, parts, number) for number in range(parts)]
    try:
        counts = count_catalog(collection, anchors)
        inputs = [
            BuildInputs(collection, folder, anchors, weights, Partition(number, parts))
            for number, folder in enumerate(folders)
        ]
        snapshots = _build_all(inputs, counts, workers, on_built or (lambda _: None))
    finally:
        anchors.unlink(missing_ok=True)
    for folder, snapshot in zip(folders, snapshots, strict=True):
        set_current(folder, snapshot)
    partition_set = _describe_partitions(collection, parts, snapshots, counts.source_contents())
    _write_set(collection, partition_set)
    return partition_set


def add_partition(collection: Path, parts: int, workers: int = 1) -> PartitionSet:
    """Add a partition of the sources that the served set of partitions does not have yet, and serve the larger set; if
    there are none, return the set as it is.

    Only the new partition is built. Where it has captures of URLs that others have, pages end to be what their URL
    shows when the next capture begins, as in one index.

    Raises:
        SnapshotError: the collection was not split that way, or sources were changed or removed since.
    """
    earlier = read_partitions(collection, parts)
    anchors = collection / f".anchors.{os.getpid()}.parquet"
    number = len(earlier.snapshots)
    folder = partition_folder(collection, parts, number)
    with Catalog(collection, read_only=True) as catalog:
        contents = dict(catalog.db.execute("SELECT source_id, content_hash FROM sources").fetchall())
    new_sources = contents.keys() - earlier.sources.keys()
    is_changed = any(contents.get(source) != content for source, content in earlier.sources.items())
    if is_changed or read_rules(collection).digest() != earlier.removals:
        raise SnapshotError(
            "sources of the partitions were changed or removed since they were built",
            action=f"build all of them: webemu snapshots split {parts}",
            location=str(collection),
        )
    if not new_sources:
        return earlier
    weights = _read_weights(collection, earlier)
    try:
        counts = count_catalog(collection, anchors, only_sources=new_sources)
        inputs = BuildInputs(collection, folder, anchors, weights, only_sources=new_sources)
        snapshot = build_from_counts(inputs, counts, workers, None)
    finally:
        anchors.unlink(missing_ok=True)
    set_current(folder, snapshot)
    described = _describe_partitions(collection, parts, (*earlier.snapshots, snapshot), contents)
    folders = [partition_folder(collection, parts, place) for place in range(number + 1)]
    overlap = find_overlap(folders, described.snapshots, parts)
    figures = {**described.figures, "urls": described.figures["urls"] - overlap.urls}
    partition_set = replace(described, superseded=overlap.superseded, copies=overlap.copies, figures=figures)
    _write_set(collection, partition_set)
    return partition_set


def _build_all(
    inputs: Sequence[BuildInputs], counts: CatalogCounts, workers: int, on_built: OnBuilt
) -> tuple[str, ...]:
    """Build partitions and return their snapshot ids: several at a time if there are enough of them."""
    if len(inputs) < workers:
        return tuple(_report_built(build_from_counts(build, counts, workers, None), on_built) for build in inputs)
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=exit_with_parent, initargs=(os.getpid(),)
    ) as pool:
        with ignore_sigint_in_children():
            waiting = [pool.submit(build_from_counts, build, counts, 0, None) for build in inputs]
        return tuple(_report_built(future.result(), on_built) for future in waiting)


def _report_built(snapshot: str, on_built: OnBuilt) -> str:
    """Report that a partition is built, and return its snapshot id."""
    on_built(1)
    return snapshot


def read_partitions(collection: Path, parts: int, set_id: str = "") -> PartitionSet:
    """Return a set of partitions by its id, or the one that is served.

    Raises SnapshotError if the collection is not split that way, or there is no such set.
    """
    folder = partition_folder(collection, parts)
    if set_id and not _SET_ID.fullmatch(set_id):
        raise SnapshotError(f"{set_id[:80]!r} is not an id of partitions", action="webemu snapshots split COUNT")
    try:
        stored_fields = json.loads((folder / SETS / f"{set_id}.json" if set_id else folder / FILE).read_text())
        return PartitionSet(
            **{
                **stored_fields,
                "snapshots": tuple(stored_fields["snapshots"]),
                "bases": tuple(stored_fields["bases"]),
                "sources": _with_int_keys(stored_fields["sources"]),
                "superseded": {int(part): _with_int_keys(ends) for part, ends in stored_fields["superseded"].items()},
                "copies": {int(part): _with_int_keys(docs) for part, docs in stored_fields["copies"].items()},
            }
        )
    except FileNotFoundError:
        raise SnapshotError(
            f"the collection has no partitions {set_id}"
            if set_id
            else f"the collection is not split into {parts} partitions",
            action=f"webemu snapshots split {parts}",
            location=str(collection),
        ) from None
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(
            "the description of the partitions is of another version or damaged",
            action=f"webemu snapshots split {parts}",
            location=str(folder),
        ) from error


def partitioned_world(
    collection: Path, partition_set: PartitionSet, transport: PartitionTransport, is_strict: bool = False
) -> World:
    """Return the partitions of a collection as one world. If `is_strict`, searches are refused while a partition is
    lost.
    """
    count = len(partition_set.snapshots)
    client = PartitionClient(transport, partition_set.id, count, is_strict)
    doc_values = DocValueCache(client, partition_set.bases)
    engines = {engine: PartitionedRanker(client, doc_values, engine) for engine in RANKER_NAMES}
    world_figures = {"collection": collection.name, **partition_set.figures, "parts": count}
    vocabulary = Vocabulary(words_file(collection, partition_set))
    page_store = PartitionedPageStore(client, doc_values, vocabulary, partition_set.parts, partition_set.exchanges > 0)
    return World(partition_set.id, engines["full"], page_store, world_figures, engines)


def _write_set(collection: Path, partition_set: PartitionSet) -> None:
    """Write the words and the description of a set of partitions, and make it the one that is served."""
    folder = partition_folder(collection, partition_set.parts)
    (folder / SETS).mkdir(exist_ok=True)
    homes = [
        partition_folder(collection, partition_set.parts, number) for number in range(len(partition_set.snapshots))
    ]
    manifests = [
        read_manifest(home / "snapshots" / id) for home, id in zip(homes, partition_set.snapshots, strict=True)
    ]
    count_files = [
        home / "shards" / shard / WORD_COUNTS_FILE
        for home, manifest in zip(homes, manifests, strict=True)
        for shard in manifest.shards
    ]
    write_words(words_file(collection, partition_set), count_files)
    text = json.dumps(asdict(partition_set), indent=1)
    for file in (folder / SETS / f"{partition_set.id}.json", folder / FILE):
        temporary = file.with_suffix(f".{os.getpid()}.part")  # renamed when whole: readers never see half a file
        temporary.write_text(text)
        temporary.replace(file)


def _describe_partitions(
    collection: Path, parts: int, snapshots: tuple[str, ...], sources: Mapping[int, int]
) -> PartitionSet:
    """Return the description of all partitions, summed from their manifests."""
    folders = [partition_folder(collection, parts, number) / "snapshots" / id for number, id in enumerate(snapshots)]
    manifests = [read_manifest(folder) for folder in folders]
    conditions: Counter[str] = Counter()
    for folder in folders:
        conditions.update(_count_conditions(folder / "text"))
    newest = max(max(Columns(folder / "columns").since, default=0) for folder in folders)
    figures = {
        name: sum(getattr(manifest, name) for manifest in manifests)
        for name in ("captures", "urls", "pages", "documents")
    }
    figures = {"sources": len(sources), **figures, "hosts": _count_hosts(collection)}
    return PartitionSet(
        _hash_snapshots(snapshots), parts, snapshots, _first_ids(manifests), newest, dict(conditions), figures,
        dict(sorted(sources.items())), sum(manifest.exchanges for manifest in manifests), manifests[-1].removals,
    )  # fmt: skip


def _with_int_keys(values: Mapping[str, Value]) -> dict[int, Value]:
    return {int(key): value for key, value in values.items()}


def _read_weights(collection: Path, partition_set: PartitionSet) -> Weights:
    """Return the ranking weights that a set of partitions was built with."""
    folder = partition_folder(collection, partition_set.parts, 0) / "snapshots" / partition_set.snapshots[0]
    return Weights.from_manifest(read_manifest(folder).weights)


def _hash_snapshots(snapshots: tuple[str, ...]) -> str:
    return blake2b(json.dumps([hash_sources(PARTITION_SOURCES), snapshots]).encode(), digest_size=8).hexdigest()


def _first_ids(manifests: list[Manifest]) -> tuple[int, ...]:
    return tuple(accumulate((manifest.pages for manifest in manifests[:-1]), initial=0))


def _count_conditions(text: Path) -> dict[str, int]:
    """Return the number of pages of each language and month in one partition, where there are any."""
    searcher = open_index(text).searcher()
    keys = [f"l:{code}" for code in STEMMERS]
    keys += [f"m:{month}" for month in list_months(lambda field, term: int(searcher.doc_freq(field, term)))]
    counted = {key: int(searcher.doc_freq("key", key)) for key in keys}
    return {key: count for key, count in counted.items() if count}


def _count_hosts(collection: Path) -> int:
    """Return the number of hosts: summing over partitions would count hosts twice."""
    with Catalog(collection, read_only=True) as catalog:
        row = catalog.db.execute("SELECT count(DISTINCT url_host_name) FROM captures").fetchone()
        return int(row[0]) if row else 0
