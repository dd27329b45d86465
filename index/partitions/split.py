"""Splits a collection into partitions: builds a snapshot of each, and records what holds for all of them.

    <collection>/parts/<count>/<number>/    shards/, snapshots/, CURRENT of one partition, perhaps on its own disk
    <collection>/parts/<count>/split.json   written last: the partitions, and what each must know of the whole

All partitions are built from one catalog, so that link texts, duplicates, domains and the order of URLs are those of
the whole collection. `webemu serve --ray` serves them.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

from webemu.emulator.errors import SnapshotError
from webemu.emulator.world import World
from webemu.index.analysis import STEMMERS
from webemu.index.builders import PARTITION_SOURCES, hash_sources
from webemu.index.catalog import Catalog
from webemu.index.columns import Columns
from webemu.index.conditions import list_months
from webemu.index.manifest import Manifest, read_manifest, set_current
from webemu.index.partitions.engine import GlobalTermStatistics
from webemu.index.partitions.page_store import PartitionedPageStore
from webemu.index.partitions.partition import Partition
from webemu.index.partitions.ranker import DocValueCache, PartitionClient, PartitionedRanker, PartitionTransport
from webemu.index.rank import Weights
from webemu.index.snapshot import BuildInputs, Progress, build_from_counts, count_catalog
from webemu.index.text import open_index

FILE = "split.json"
"""Name of the file that describes the partitions."""
RANKER_NAMES = ("full", "plain", "weak")
"""Rankers that partitions have; vectors are not partitioned."""


@dataclass(frozen=True, slots=True)
class PartitionSet:
    """The content of `split.json`."""

    id: str
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

    def statistics(self) -> GlobalTermStatistics:
        """Return what every partition must know of the whole index."""
        return GlobalTermStatistics(self.figures["documents"], self.newest, self.conditions)


def partition_folder(collection: Path, parts: int, number: int | None = None) -> Path:
    """Return the folder of all partitions, or of one of them."""
    folder = collection / "parts" / str(parts)
    return folder if number is None else folder / str(number)


def split_collection(
    collection: Path, parts: int, workers: int = 1, progress: Progress | None = None, weights: Weights = Weights()
) -> PartitionSet:
    """Build the snapshots of all partitions, except those that exist, and write `split.json`.

    partitions = split_collection(Path("webemu-data/default"), 8, workers=4)
    """
    anchors = collection / f".anchors.{os.getpid()}.parquet"
    snapshots = []
    try:
        counts = count_catalog(collection, anchors)
        for number in range(parts):
            folder = partition_folder(collection, parts, number)
            folder.mkdir(parents=True, exist_ok=True)
            inputs = BuildInputs(collection, folder, anchors, weights, Partition(number, parts))
            snapshots.append(build_from_counts(inputs, counts, workers, progress))
            set_current(folder, snapshots[-1])
    finally:
        anchors.unlink(missing_ok=True)
    partitions = _describe_partitions(collection, tuple(snapshots))
    file = partition_folder(collection, parts) / FILE
    temporary = file.with_suffix(".part")  # written beside, then renamed: readers never see half a file
    temporary.write_text(json.dumps(asdict(partitions), indent=1))
    temporary.replace(file)
    return partitions


def read_partitions(collection: Path, parts: int) -> PartitionSet:
    """Return the content of `split.json`. Raises SnapshotError if the collection is not split that way."""
    try:
        stored_fields = json.loads((partition_folder(collection, parts) / FILE).read_text())
    except FileNotFoundError:
        raise SnapshotError(
            f"the collection is not split into {parts} partitions",
            action=f"webemu snapshots split {parts}",
            location=str(collection),
        ) from None
    return PartitionSet(
        **{**stored_fields, "snapshots": tuple(stored_fields["snapshots"]), "bases": tuple(stored_fields["bases"])}
    )


def partitioned_world(name: str, partitions: PartitionSet, transport: PartitionTransport) -> World:
    """Return the partitions as one world, for the collection of this name."""
    client = PartitionClient(transport, len(partitions.snapshots))
    doc_values = DocValueCache(client, partitions.bases)
    engines = {engine: PartitionedRanker(client, doc_values, engine) for engine in RANKER_NAMES}
    world_figures = {"collection": name, **partitions.figures, "parts": len(partitions.snapshots)}
    return World(partitions.id, engines["full"], PartitionedPageStore(client, doc_values), world_figures, engines)


def _describe_partitions(collection: Path, snapshots: tuple[str, ...]) -> PartitionSet:
    """Return the description of all partitions, summed from their manifests."""
    folders = [
        partition_folder(collection, len(snapshots), number) / "snapshots" / id for number, id in enumerate(snapshots)
    ]
    manifests = [read_manifest(folder) for folder in folders]
    conditions: Counter[str] = Counter()
    for folder in folders:
        conditions.update(_count_conditions(folder / "text"))
    newest = max(max(Columns(folder / "columns").since, default=0) for folder in folders)
    figures = {
        name: sum(getattr(manifest, name) for manifest in manifests)
        for name in ("captures", "urls", "pages", "documents")
    }
    figures = {"sources": manifests[0].sources, **figures, "hosts": _count_hosts(collection)}
    return PartitionSet(_hash_snapshots(snapshots), snapshots, _first_ids(manifests), newest, dict(conditions), figures)


def _hash_snapshots(snapshots: tuple[str, ...]) -> str:
    return blake2b(json.dumps([hash_sources(PARTITION_SOURCES), snapshots]).encode(), digest_size=8).hexdigest()


def _first_ids(manifests: list[Manifest]) -> tuple[int, ...]:
    return tuple(sum(manifest.pages for manifest in manifests[:number]) for number in range(len(manifests)))


def _count_conditions(text: Path) -> dict[str, int]:
    """Return the number of pages of each language and month in one partition."""
    searcher = open_index(text).searcher()
    keys = [f"l:{code}" for code in STEMMERS]
    keys += [f"m:{month}" for month in list_months(lambda field, term: int(searcher.doc_freq(field, term)))]
    return {key: int(searcher.doc_freq("key", key)) for key in keys}


def _count_hosts(collection: Path) -> int:
    """Return the number of hosts: summing over partitions would count hosts twice."""
    with Catalog(collection, read_only=True) as catalog:
        row = catalog.db.execute("SELECT count(DISTINCT url_host_name) FROM captures").fetchone()
        return int(row[0]) if row else 0
