"""Names embedded snapshots by what they were made of, and finds those whose vectors a new one can copy.

A passage window that an earlier snapshot embedded with the same model and options has the vector that it had there. All
rows of a snapshot have one scale; a snapshot with copied rows takes over theirs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from webemu.emulator.errors import SnapshotError
from webemu.index.builders import DENSE_SOURCES, hash_sources
from webemu.index.dense.open import FOLDER
from webemu.index.dense.store import WINDOWS, map_rows
from webemu.index.digests import find_damage
from webemu.index.manifest import EmbeddingManifest, Manifest, read_manifest


@dataclass(frozen=True, slots=True)
class EmbeddingSpec:
    """Models and options of an embedding: the fields of `EmbeddingManifest` that are known before there are vectors."""

    model: str
    digest: str
    passages: int
    precision: str
    reranker: str = ""
    reranker_digest: str = ""


def embedded_snapshot_id(base: str, spec: EmbeddingSpec, copied_scale: float | None = None) -> str:
    """Return the id of a snapshot with vectors. Models count by their content, wherever they are.

    `copied_scale` is the scale of copied rows, to which new rows are rounded; None if no row was copied.
    """
    parts = [hash_sources(DENSE_SOURCES), base, spec.digest, spec.passages, spec.precision, spec.reranker_digest]
    if copied_scale is not None:
        parts.append(copied_scale)
    return blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class EarlierVectors:
    """Vectors of a snapshot that was embedded with the same model and options, by the windows they were made of."""

    scale: float
    windows: NDArray[np.uint64]
    """Hashes of windows, ascending."""
    numbers: NDArray[np.intp]
    """Number of each of these windows' row."""
    rows: NDArray[np.int8]

    def find_rows(self, windows: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.float16]]:
        """Return which of some windows have a row, and these rows, which round to what they were."""
        places = np.searchsorted(self.windows, windows)
        places[places == len(self.windows)] = 0
        is_known: NDArray[np.bool_] = self.windows[places] == windows
        return is_known, (self.rows[self.numbers[places[is_known]]] / self.scale).astype(np.float16)


def hash_windows(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return the hash of each window's text."""
    digests = b"".join([blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts])
    return np.frombuffer(digests, np.uint64)


def find_embedded(collection: Path, base: str, spec: EmbeddingSpec) -> Manifest | None:
    """Return the snapshot that was made of a base with these models and options; None if there is none."""
    return next((manifest for manifest, dense in _list_embedded(collection, spec) if dense.base == base), None)


def find_earlier_vectors(collection: Path, spec: EmbeddingSpec) -> EarlierVectors | None:
    """Return the vectors of the largest snapshot with these models and options; None if there is none.

    A snapshot whose vectors are damaged is passed over.
    """
    candidates = sorted(_list_embedded(collection, spec), key=lambda pair: (pair[1].vectors, pair[0].id), reverse=True)
    for manifest, dense in candidates:
        folder = collection / "snapshots" / manifest.id
        hashes = {name: value for name, value in manifest.hashes.items() if name.startswith(f"{FOLDER}/")}
        if not find_damage(folder, hashes):
            windows = np.fromfile(folder / FOLDER / WINDOWS, np.uint64)
            numbers = np.argsort(windows, kind="stable")
            return EarlierVectors(dense.scale, windows[numbers], numbers, map_rows(folder / FOLDER, dense.dimensions))
    return None


def _list_embedded(collection: Path, spec: EmbeddingSpec) -> Iterator[tuple[Manifest, EmbeddingManifest]]:
    """Yield the snapshots that this version of the code embedded with these models and options, by id."""
    for path in sorted(collection.glob("snapshots/*/manifest.json")):
        with suppress(SnapshotError):  # of another version, or damaged
            manifest = read_manifest(path.parent)
            if (dense := manifest.dense) is not None:
                ids = {embedded_snapshot_id(dense.base, spec, scale) for scale in (None, dense.scale)}
                if manifest.id in ids:
                    yield manifest, dense
