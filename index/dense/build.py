"""Adds vectors to a snapshot: writes a new snapshot of hard links to the old one's files and a folder of vectors.

    snapshots/.<id>.parts/   embeddings made so far, one file per `PART_PAGES`; an interrupted run continues there
    snapshots/<id>/dense/    see `webemu.index.dense.store`

The id covers the base snapshot, the models and the options, so that equal inputs find the snapshot that exists.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

from webemu.emulator.errors import SnapshotError
from webemu.index.blobs import Blobs
from webemu.index.builders import DENSE, fingerprint
from webemu.index.dense.model import Encode
from webemu.index.dense.open import FOLDER
from webemu.index.dense.passages import windows
from webemu.index.dense.store import EXACT, Dense, Store, quantised, recall, write, write_part
from webemu.index.digests import digests
from webemu.index.lock import only_one
from webemu.index.manifest import Manifest, read_manifest, write_manifest
from webemu.index.records import texts

PART = 1024
"""Pages that are embedded per file."""
ASKED = 200
"""Pages whose titles are queried to measure the recall of the graph."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Models and options of an embedding: the fields of `EmbeddingManifest` that are known before there are vectors."""

    model: str
    digest: str
    passages: int
    precision: str
    reranker: str = ""
    reranker_digest: str = ""


def base_of(collection: Path, snapshot: str) -> Manifest:
    """Return the manifest of a snapshot without vectors: this one, or the one that it was made from."""
    manifest = read_manifest(collection / "snapshots" / snapshot)
    if manifest.dense is None:
        return manifest
    return read_manifest(collection / "snapshots" / manifest.dense["base"])


def snapshot_id(base: str, wish: Wish) -> str:
    """Return the id of a snapshot with vectors. Models count by their content, wherever they are."""
    parts = [fingerprint(DENSE), base, wish.digest, wish.passages, wish.precision, wish.reranker_digest]
    return blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


def embed(
    collection: Path,
    base: Manifest,
    wish: Wish,
    encoders: Callable[[], tuple[Encode, Encode]],
    done: Callable[[int], object] = lambda pages: None,
    exact: int = EXACT,
) -> str:
    """Build the snapshot with vectors unless it exists; return its id without serving it.

    - encoders: loads the encoder of passages and that of queries
    - on_pages: called with the number of pages that were just embedded
    - exact: vectors up to which no graph is built

    Raises SnapshotError if the snapshot has no pages or another run is at work.
    """
    folder = collection / "snapshots" / snapshot_id(base.id, wish)
    work = folder.with_name(f".{folder.name}.parts")
    busy = SnapshotError(f"another `webemu embed` is running in {collection}", action="wait until it ends")
    with only_one(collection / "embed.lock", busy):  # two runs would overwrite each other's parts
        if (folder / "manifest.json").exists():
            there = read_manifest(folder)  # exists, but WARC files and models may have moved since
            moved = {"model": wish.model, "reranker": wish.reranker}
            write_manifest(folder, replace(there, files=base.files, dense=(there.dense or {}) | moved))
        else:
            if not base.documents:
                raise SnapshotError(
                    f"snapshot {base.id} has no pages to embed", action="webemu ingest SOURCE... --collection NAME"
                )
            passages, queries = encoders()
            work.mkdir(exist_ok=True)
            parts = list(_embedded(collection, base, wish.passages, work, passages, done))
            _compose(collection, base, folder, parts, wish, queries, exact)
        shutil.rmtree(work, ignore_errors=True)
    return folder.name


def _embedded(
    collection: Path, base: Manifest, most: int, work: Path, encode: Encode, done: Callable[[int], object]
) -> Iterator[Path]:
    """Yield the embedding files in the order of dense ids, after writing those that do not exist."""
    for first, records in _records(collection, base):
        for start in range(0, len(records), PART):
            numbers = range(start, min(start + PART, len(records)))
            path = work / f"{first + start:010d}.npz"
            if not path.exists():
                cut = [windows(*texts(records[number]), most) for number in numbers]
                owners = [first + number for number, page in zip(numbers, cut, strict=True) for _ in page]
                # One call for all pages of the part: the encoder sorts windows by length and batches them.
                rows = encode([window for page in cut for window in page])
                write_part(path, (np.array(owners, np.uint32), rows.astype(np.float16)))
            done(len(numbers))
            yield path


def _compose(
    collection: Path, base: Manifest, folder: Path, parts: list[Path], wish: Wish, queries: Encode, exact: int
) -> None:
    """Write the snapshot folder from the files of the base and the embeddings."""
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    others = shutil.ignore_patterns("manifest.json", "*.lock", "*-lock")
    shutil.copytree(folder.with_name(base.id), temporary, copy_function=os.link, ignore=others)
    count, dimensions, scale = write(temporary / FOLDER, parts, exact)
    found = None
    if count > exact:
        store = Store(temporary / FOLDER, dimensions, scale, range(base.pages))
        found = recall(store, [quantised(row) for row in queries(_titles(collection, base))])
    hashes = {f"{FOLDER}/{name}": value for name, value in digests(temporary / FOLDER).items()}
    dense = Dense(base.id, dimensions=dimensions, vectors=count, scale=scale, recall=found, **asdict(wish))
    made = replace(base, id=folder.name, hashes=base.hashes | hashes, dense=asdict(dense))
    write_manifest(temporary, made)
    shutil.rmtree(folder, ignore_errors=True)
    temporary.rename(folder)


def _records(collection: Path, base: Manifest) -> Iterator[tuple[int, Blobs]]:
    """Yield (first dense id, records) of each shard."""
    for shard, first in zip(base.shards, base.bases, strict=True):
        yield first, Blobs(collection / "shards" / shard / "records")


def _titles(collection: Path, base: Manifest) -> list[str]:
    """Return the titles of pages at even distances in each shard."""
    step = max(1, base.documents // ASKED)
    return [
        texts(records[number])[1]
        for _, records in _records(collection, base)
        for number in range(0, len(records), step)
    ]
