"""Describes a snapshot in `manifest.json`, and names the one that is served: immutable folders, switched atomically.

- snapshots/<id>/: manifest.json (written last), text/, pages.lmdb, columns/, duplicates/, words.txt
- shards/<id>/: the heavy files, shared between snapshots (`webemu.index.shard`)
- CURRENT: the id of the snapshot that is served
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

from webemu.emulator.errors import SnapshotError
from webemu.index.lookup import SourceDocs

_REBUILD = "rebuild it: webemu snapshots remove ID, then webemu snapshots build"
FORMAT = 10
"""Version of the snapshot folder. Raise it whenever the folder changes for the same shards."""


@dataclass(frozen=True, slots=True)
class EmbeddingManifest:
    """The models and vectors of a snapshot, which `webemu.index.dense` made."""

    base: str
    """Id of the snapshot without vectors."""
    model: str
    """Folder or id of the model, as given."""
    digest: str
    passages: int
    """Windows of a page that are embedded, at most."""
    precision: str
    dimensions: int
    vectors: int
    scale: float
    """Factor that rows of length 1 were multiplied by before rounding."""
    recall: float | None
    """Share of the ten nearest pages that the graph finds, for titles as queries; None without a graph."""
    reranker: str
    """Folder or id of a cross-encoder; empty if there is none."""
    reranker_digest: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of `manifest.json`. If the file exists, the snapshot is complete."""

    id: str
    format: int
    shards: tuple[str, ...]
    segments: tuple[int, ...]
    """Number of Tantivy segments of each shard."""
    bases: tuple[int, ...]
    """First dense id of each shard."""
    sources: int
    documents: int
    """Searchable pages."""
    pages: int
    """All pages with a text view."""
    captures: int
    urls: int
    hosts: int
    files: tuple[str, ...]
    """Files that payloads are read from, absolute or relative to the collection folder."""
    names: tuple[str, ...]
    """Public name of each file; no two are equal."""
    crawls: tuple[str, ...]
    """Crawl of each file; empty if unknown."""
    spans: tuple[tuple[int, int], ...]
    """Times of the first and the last capture of each file, in seconds since the epoch; (0, -1) if it has none."""
    hashes: dict[str, str]
    """Hashes of the snapshot's own files by path; those it shares with shards are in `shard.json`."""
    weights: dict[str, float] = field(default_factory=dict)
    """Weights of the ranking features (`webemu.index.rank`)."""
    dense: EmbeddingManifest | None = None
    """None for a snapshot without vectors."""
    contents: tuple[str, ...] = ()
    """`hash_contents` of each shard when the snapshot was built; empty in snapshots of older versions."""
    source_ids: tuple[int, ...] = ()
    """Id of the source of each file; empty in snapshots of older versions, as are the next two."""
    source_contents: tuple[int, ...] = ()
    """Hash of what was read from each file (`content_hash` of the catalog)."""
    docs: tuple[tuple[tuple[int, int], ...], ...] = ()
    """Dense ids of the pages of each file: (first place within the file, dense id) of runs of pages, in order."""
    continued: tuple[int, ...] = ()
    """Positions in `files` of those that also hold later records, which were cut off (`webemu.index.cut`)."""
    redacted: tuple[int, ...] = ()
    """Positions in `files` of those that also hold records of removed captures (`webemu.index.removal`)."""
    exchanges: int = 0
    """Recorded exchanges that answer requests as such (`webemu.emulator.exchange_keys`)."""
    builder: str = ""
    """Hash of the code that built it (`webemu.index.builders`)."""
    removals: str = ""
    """Hash of the removals that the snapshot is known to honour; empty if there were none."""
    digest: str = ""
    """Hash of all the other fields; empty in snapshots of older versions."""

    def source_docs(self) -> dict[int, SourceDocs]:
        """Return the sources by id, as the lookup reads them."""
        return {
            source: SourceDocs(file, tuple(place for place, _ in runs), tuple(doc for _, doc in runs))
            for source, file, runs in zip(self.source_ids, self.files, self.docs, strict=True)
        }


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a snapshot folder. Raises SnapshotError if it is missing, damaged or too old."""
    try:
        values = json.loads((folder / "manifest.json").read_text())
    except FileNotFoundError:
        raise SnapshotError(
            f"there is no snapshot {folder.name}",
            action="list the existing ones: webemu snapshots list",
            location=str(folder),
        ) from None
    except ValueError as error:
        raise SnapshotError(
            f"the manifest of snapshot {folder.name} is damaged: {error}",
            action="webemu snapshots build",
            location=f"{folder}/manifest.json",
        ) from error
    if values.get("digest") not in (None, "", _hash_fields(values)):
        raise SnapshotError(
            f"the manifest of snapshot {folder.name} is not as it was written",
            action="restore it, or build the snapshot again: webemu snapshots build",
            location=f"{folder}/manifest.json",
        )
    # Unknown fields are ignored, so that an older version can say which format it does not read.
    for name in values.keys() - {field_info.name for field_info in fields(Manifest)}:
        del values[name]
    values |= {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    try:
        dense = values.pop("dense", None)
        return Manifest(**values, dense=EmbeddingManifest(**dense) if dense else None)
    except TypeError as error:
        raise SnapshotError(
            f"snapshot {folder.name} is of another version: {error}",
            action="webemu snapshots build",
            location=str(folder),
        ) from error


def hash_contents(shard: Path) -> str:
    """Return a hash of the shard files that are read while serving, computed from its `shard.json`.

    Tantivy's files do not count: their names are random, and they are linked into the snapshot.
    """
    shard_data = json.loads((shard / "shard.json").read_text())
    hashes = sorted(entry for entry in shard_data["hashes"].items() if not entry[0].startswith("text/"))
    return blake2b(
        json.dumps([shard_data["documents"], shard_data["pages"], hashes]).encode(), digest_size=8
    ).hexdigest()


def check_contents(collection: Path, manifest: Manifest) -> None:
    """Raise SnapshotError if a shard has the right name but not the content that the snapshot was built from."""
    for name, contents in zip(manifest.shards, manifest.contents, strict=False):
        shard = collection / "shards" / name
        try:
            stored_contents = hash_contents(shard)
        except (OSError, ValueError, KeyError) as error:
            raise SnapshotError(f"{shard}/shard.json cannot be read: {error}", action=_REBUILD) from error
        if stored_contents != contents:
            raise SnapshotError(
                f"{shard} holds other pages than those that snapshot {manifest.id} was built from; was it copied?",
                action=_REBUILD,
            )


def current_id(collection: Path) -> str | None:
    """Return the id of the snapshot that is served, or None."""
    try:
        return (collection / "CURRENT").read_text().strip() or None
    except FileNotFoundError:
        return None


def set_current(collection: Path, snapshot: str) -> None:
    """Serve this snapshot from now on; running servers follow. Raises SnapshotError if it does not exist."""
    read_manifest(collection / "snapshots" / snapshot)  # raises if there is no such snapshot
    temporary = collection / f".CURRENT.{os.getpid()}"
    temporary.write_text(snapshot + "\n")
    temporary.replace(collection / "CURRENT")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write `manifest.json` atomically, with its digest: complete or not at all."""
    temporary, values = folder / "manifest.json.part", asdict(manifest)
    temporary.write_text(json.dumps(values | {"digest": _hash_fields(values)}, indent=1))
    temporary.replace(folder / "manifest.json")


def _hash_fields(values: dict[str, Any]) -> str:
    """Return a hash of all fields of a manifest but its digest."""
    fields_of_digest = {name: value for name, value in values.items() if name != "digest"}
    return blake2b(json.dumps(fields_of_digest, sort_keys=True).encode(), digest_size=8).hexdigest()
