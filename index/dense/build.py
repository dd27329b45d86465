"""Adds vectors to a snapshot: writes a new snapshot of hard links to the old one's files and a folder of vectors.

    snapshots/.<id>.parts/   embeddings made so far, one file per `PART_PAGES`; an interrupted run continues there
    snapshots/<id>/dense/    see `webemu.index.dense.store`

The id covers the base snapshot, the models and the options, so that equal inputs find the snapshot that exists. Rows
of passages that an earlier snapshot has are copied (`webemu.index.dense.earlier_vectors`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from webemu.emulator.errors import SnapshotError
from webemu.index.blobs import Blobs
from webemu.index.dense.earlier_vectors import (
    EarlierVectors,
    EmbeddingSpec,
    embedded_snapshot_id,
    find_earlier_vectors,
    find_embedded,
    hash_windows,
)
from webemu.index.dense.model import Encode
from webemu.index.dense.open import FOLDER
from webemu.index.dense.passages import cut_windows
from webemu.index.dense.store import (
    MAX_EXACT_VECTORS,
    EmbeddingPart,
    VectorStore,
    measure_recall,
    quantize,
    write_part,
    write_vectors,
)
from webemu.index.digests import hash_folder
from webemu.index.lock import exclusive_lock
from webemu.index.manifest import EmbeddingManifest, Manifest, read_manifest, write_manifest
from webemu.index.records import read_texts

PART_PAGES = 1024
"""Pages that are embedded per file."""
RECALL_QUERIES = 200
"""Pages whose titles are queried to measure the recall of the graph."""


def read_base_manifest(collection: Path, snapshot: str) -> Manifest:
    """Return the manifest of a snapshot without vectors: this one, or the one that it was made from."""
    manifest = read_manifest(collection / "snapshots" / snapshot)
    if manifest.dense is None:
        return manifest
    return read_manifest(collection / "snapshots" / manifest.dense.base)


def embed_snapshot(
    collection: Path,
    base: Manifest,
    spec: EmbeddingSpec,
    encoders: Callable[[], tuple[Encode, Encode]],
    on_pages: Callable[[int], object] = lambda pages: None,
    exact: int = MAX_EXACT_VECTORS,
) -> str:
    """Build the snapshot with vectors unless it exists; return its id without serving it.

    Only passages that no earlier snapshot of these models and options has are encoded.

    - encoders: loads the encoder of passages and that of queries
    - on_pages: called with the number of pages that were just embedded
    - exact: vectors up to which no graph is built

    Raises SnapshotError if the snapshot has no pages or another run is at work.
    """
    busy = SnapshotError(f"another `webemu embed` is running in {collection}", action="wait until it ends")
    with exclusive_lock(collection / "embed.lock", busy):  # two runs would overwrite each other's parts
        if existing := find_embedded(collection, base.id, spec):
            # It exists, but WARC files and models may have moved since.
            dense = existing.dense and replace(existing.dense, model=spec.model, reranker=spec.reranker)
            folder = collection / "snapshots" / existing.id
            write_manifest(folder, replace(existing, files=base.files, dense=dense))
            return existing.id
        if not base.documents:
            raise SnapshotError(
                f"snapshot {base.id} has no pages to embed", action="webemu ingest SOURCE... --collection NAME"
            )
        earlier = find_earlier_vectors(collection, spec)
        scale = earlier.scale if earlier else None
        folder = collection / "snapshots" / embedded_snapshot_id(base.id, spec, scale)
        work = folder.with_name(f".{folder.name}.parts")
        work.mkdir(exist_ok=True)
        passages, queries = encoders()
        encoder = _WindowEncoder(passages, spec.passages, earlier)
        parts = list(_embed_parts(collection, base, work, encoder, on_pages))
        _write_snapshot(collection, base, folder, parts, spec, queries, exact, scale)
        shutil.rmtree(work, ignore_errors=True)
    return folder.name


@dataclass(frozen=True, slots=True)
class _WindowEncoder:
    """Encodes the passage windows of pages, except for those that an earlier snapshot has."""

    encode: Encode
    max_windows: int
    earlier: EarlierVectors | None

    def encode_pages(self, records: Blobs, numbers: range, first: int) -> EmbeddingPart:
        """Return the rows of some pages of a shard, whose first page has the dense id `first`."""
        page_windows = [cut_windows(*read_texts(records[number]), self.max_windows) for number in numbers]
        owners = [first + number for number, page in zip(numbers, page_windows, strict=True) for _ in page]
        texts = [window for page in page_windows for window in page]
        windows = hash_windows(texts)
        if self.earlier is None:
            # One call for all pages of the part: the encoder sorts windows by length and batches them.
            return EmbeddingPart(np.array(owners, np.uint32), windows, self.encode(texts).astype(np.float16))
        is_known, known_rows = self.earlier.find_rows(windows)
        rows = np.empty((len(texts), known_rows.shape[1]), np.float16)
        rows[is_known] = known_rows
        if not is_known.all():
            rows[~is_known] = self.encode([texts[number] for number in np.flatnonzero(~is_known)])
        return EmbeddingPart(np.array(owners, np.uint32), windows, rows)


def _embed_parts(
    collection: Path, base: Manifest, work: Path, encoder: _WindowEncoder, on_pages: Callable[[int], object]
) -> Iterator[Path]:
    """Yield the embedding files in the order of dense ids, after writing those that do not exist."""
    for first, records in _shard_records(collection, base):
        for start in range(0, len(records), PART_PAGES):
            numbers = range(start, min(start + PART_PAGES, len(records)))
            path = work / f"{first + start:010d}.npz"
            if not path.exists():
                write_part(path, encoder.encode_pages(records, numbers, first))
            on_pages(len(numbers))
            yield path


def _write_snapshot(
    collection: Path,
    base: Manifest,
    folder: Path,
    parts: list[Path],
    spec: EmbeddingSpec,
    queries: Encode,
    exact: int,
    earlier_scale: float | None,
) -> None:
    """Write the snapshot folder from the files of the base and the embeddings."""
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    ignored_files = shutil.ignore_patterns("manifest.json", "*.lock", "*-lock")
    shutil.copytree(folder.with_name(base.id), temporary, copy_function=os.link, ignore=ignored_files)
    count, dimensions, scale = write_vectors(temporary / FOLDER, parts, exact, earlier_scale)
    graph_recall = None
    if count > exact:
        store = VectorStore(temporary / FOLDER, dimensions, scale, range(base.pages))
        graph_recall = measure_recall(store, [quantize(row) for row in queries(_sample_titles(collection, base))])
    hashes = {f"{FOLDER}/{name}": value for name, value in hash_folder(temporary / FOLDER).items()}
    dense = EmbeddingManifest(
        base.id, dimensions=dimensions, vectors=count, scale=scale, recall=graph_recall, **asdict(spec)
    )
    manifest = replace(base, id=folder.name, hashes=base.hashes | hashes, dense=dense)
    write_manifest(temporary, manifest)
    shutil.rmtree(folder, ignore_errors=True)
    temporary.rename(folder)


def _shard_records(collection: Path, base: Manifest) -> Iterator[tuple[int, Blobs]]:
    """Yield (first dense id, records) of each shard."""
    for shard, first in zip(base.shards, base.bases, strict=True):
        yield first, Blobs(collection / "shards" / shard / "records")


def _sample_titles(collection: Path, base: Manifest) -> list[str]:
    """Return the titles of pages at even distances in each shard."""
    step = max(1, base.documents // RECALL_QUERIES)
    return [
        read_texts(records[number])[1]
        for _, records in _shard_records(collection, base)
        for number in range(0, len(records), step)
    ]
