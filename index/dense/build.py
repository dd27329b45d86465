"""From a snapshot to one with vectors: a new snapshot, the old one's files by hard links and a folder of vectors.

    snapshots/.<id>.parts/   what is embedded so far, a file per `PART` pages; a build that was ended goes on from it
    snapshots/<id>/dense/    see `webemu.index.dense.store`

The id covers the base, the model and what was asked of it, so the same wish finds the snapshot that is there.
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
ASKED = 200
"""Titles of so many pages are asked to measure what the graph finds."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for: `Dense` before the vectors are there."""

    model: str
    digest: str
    passages: int
    precision: str
    reranker: str = ""
    reranker_digest: str = ""


def base_of(collection: Path, snapshot: str) -> Manifest:
    """A snapshot without vectors: this one, or the one it was made of."""
    manifest = read_manifest(collection / "snapshots" / snapshot)
    if manifest.dense is None:
        return manifest
    return read_manifest(collection / "snapshots" / manifest.dense["base"])


def snapshot_id(base: str, wish: Wish) -> str:
    """Models are what is in them, wherever they are."""
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
    """Build the snapshot with vectors unless it is there; return its id, and leave it to others to switch.

    `encoders` loads what embeds passages and what embeds queries; `done` is told how many more pages are embedded.
    """
    folder = collection / "snapshots" / snapshot_id(base.id, wish)
    work = folder.with_name(f".{folder.name}.parts")
    busy = SnapshotError(f"another `webemu embed` is at work in {collection}", action="wait until it ends")
    with only_one(collection / "embed.lock", busy):  # two would write each other's parts
        if (folder / "manifest.json").exists():
            there = read_manifest(folder)  # WARC files and the model may have moved
            moved = {"model": wish.model, "reranker": wish.reranker}
            write_manifest(folder, replace(there, files=base.files, dense=(there.dense or {}) | moved))
        else:
            if not base.documents:
                raise SnapshotError(
                    f"{base.id} has no page to embed", action="webemu ingest SOURCE... --collection NAME"
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
    """The files of all parts, in the order of dense ids; those that are not there are made."""
    for first, records in _records(collection, base):
        for start in range(0, len(records), PART):
            numbers = range(start, min(start + PART, len(records)))
            path = work / f"{first + start:010d}.npz"
            if not path.exists():
                cut = [windows(*texts(records[number]), most) for number in numbers]
                owners = [first + number for number, page in zip(numbers, cut, strict=True) for _ in page]
                rows = encode([window for page in cut for window in page])
                write_part(path, (np.array(owners, np.uint32), rows.astype(np.float16)))
            done(len(numbers))
            yield path


def _compose(
    collection: Path, base: Manifest, folder: Path, parts: list[Path], wish: Wish, queries: Encode, exact: int
) -> None:
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
    """(first dense id, records) of each shard."""
    for shard, first in zip(base.shards, base.bases, strict=True):
        yield first, Blobs(collection / "shards" / shard / "records")


def _titles(collection: Path, base: Manifest) -> list[str]:
    """Of pages evenly through each shard."""
    step = max(1, base.documents // ASKED)
    return [
        texts(records[number])[1]
        for _, records in _records(collection, base)
        for number in range(0, len(records), step)
    ]
