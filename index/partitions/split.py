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
from typing import Any

from webemu.emulator.errors import SnapshotError
from webemu.emulator.world import World
from webemu.index.analysis import STEMMERS
from webemu.index.builders import SPLIT, fingerprint
from webemu.index.catalog import Catalog
from webemu.index.columns import Columns
from webemu.index.conditions import months_of
from webemu.index.manifest import Manifest, read_manifest, switch
from webemu.index.partitions.engine import Statistics
from webemu.index.partitions.page_store import SplitShelf
from webemu.index.partitions.partition import Part
from webemu.index.partitions.ranker import Asker, Parts, Rows, SplitFinder
from webemu.index.rank import Weights
from webemu.index.snapshot import Given, Progress, build_of, counted
from webemu.index.text import open_index

FILE = "split.json"
"""Name of the file that describes the partitions."""
ENGINES = ("full", "plain", "weak")
"""Rankers that partitions have; vectors are not partitioned."""


@dataclass(frozen=True, slots=True)
class Split:
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
    figures: dict[str, Any]
    """Counts over all partitions, named as in a manifest."""

    def statistics(self) -> Statistics:
        """Return what every partition must know of the whole index."""
        return Statistics(self.figures["documents"], self.newest, self.conditions)


def home(collection: Path, parts: int, number: int | None = None) -> Path:
    """Return the folder of all partitions, or of one of them."""
    folder = collection / "parts" / str(parts)
    return folder if number is None else folder / str(number)


def split(
    collection: Path, parts: int, workers: int = 1, progress: Progress | None = None, weights: Weights = Weights()
) -> Split:
    """Build the snapshots of all partitions, except those that exist, and write `split.json`.

    partitions = split_collection(Path("webemu-data/default"), 8, workers=4)
    """
    anchors = collection / f".anchors.{os.getpid()}.parquet"
    snapshots = []
    try:
        found = counted(collection, anchors)
        for number in range(parts):
            place = home(collection, parts, number)
            place.mkdir(parents=True, exist_ok=True)
            given = Given(collection, place, anchors, weights, Part(number, parts))
            snapshots.append(build_of(given, found, workers, progress))
            switch(place, snapshots[-1])
    finally:
        anchors.unlink(missing_ok=True)
    made = _summed(collection, tuple(snapshots))
    file = home(collection, parts) / FILE
    part = file.with_suffix(".part")  # written beside, then renamed: readers never see half a file
    part.write_text(json.dumps(asdict(made), indent=1))
    part.replace(file)
    return made


def read_split(collection: Path, parts: int) -> Split:
    """Return the content of `split.json`. Raises SnapshotError if the collection is not split that way."""
    try:
        told = json.loads((home(collection, parts) / FILE).read_text())
    except FileNotFoundError:
        raise SnapshotError(
            f"the collection is not split into {parts} partitions",
            action=f"webemu snapshots split {parts}",
            place=str(collection),
        ) from None
    return Split(**{**told, "snapshots": tuple(told["snapshots"]), "bases": tuple(told["bases"])})


def split_world(name: str, made: Split, parts: Parts) -> World:
    """Return the partitions as one world, for the collection of this name."""
    asker = Asker(parts, len(made.snapshots))
    rows = Rows(asker, made.bases)
    engines = {engine: SplitFinder(asker, rows, engine) for engine in ENGINES}
    told = {"collection": name, **made.figures, "parts": len(made.snapshots)}
    return World(made.id, engines["full"], SplitShelf(asker, rows), told, engines)


def _summed(collection: Path, snapshots: tuple[str, ...]) -> Split:
    """Return the description of all partitions, summed from their manifests."""
    places = [home(collection, len(snapshots), number) / "snapshots" / id for number, id in enumerate(snapshots)]
    manifests = [read_manifest(place) for place in places]
    conditions: Counter[str] = Counter()
    for place in places:
        conditions.update(_conditions(place / "text"))
    newest = max(max(Columns(place / "columns").since, default=0) for place in places)
    figures = {
        name: sum(getattr(one, name) for one in manifests) for name in ("captures", "urls", "pages", "documents")
    }
    figures = {"sources": manifests[0].sources, **figures, "hosts": _hosts(collection)}
    return Split(_id(snapshots), snapshots, _bases(manifests), newest, dict(conditions), figures)


def _id(snapshots: tuple[str, ...]) -> str:
    return blake2b(json.dumps([fingerprint(SPLIT), snapshots]).encode(), digest_size=8).hexdigest()


def _bases(manifests: list[Manifest]) -> tuple[int, ...]:
    return tuple(sum(one.pages for one in manifests[:number]) for number in range(len(manifests)))


def _conditions(text: Path) -> dict[str, int]:
    """Return the number of pages of each language and month in one partition."""
    searcher = open_index(text).searcher()
    keys = [f"l:{code}" for code in STEMMERS]
    keys += [f"m:{month}" for month in months_of(lambda field, term: int(searcher.doc_freq(field, term)))]
    return {key: int(searcher.doc_freq("key", key)) for key in keys}


def _hosts(collection: Path) -> int:
    """Return the number of hosts: summing over partitions would count hosts twice."""
    with Catalog(collection, read_only=True) as catalog:
        row = catalog.db.execute("SELECT count(DISTINCT url_host_name) FROM captures").fetchone()
        return int(row[0]) if row else 0
