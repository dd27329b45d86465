"""What a snapshot says of itself, and which one is served: immutable folders, switched by an atomic rename.

snapshots/<id>/  manifest.json (written last)  text/  pages.lmdb  columns/  duplicates/  titles/  words.txt
shards/<id>/     the heavy parts, shared between snapshots (`webemu.index.shard`)
CURRENT          the id that is served
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

from webemu.emulator.errors import SnapshotError

_REBUILD = "build it anew: webemu snapshots remove ID, then webemu snapshots build"
FORMAT = 7
"""Raise it whenever the snapshot folder changes for the same shards."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `manifest.json` says; its existence means that the snapshot is whole."""

    id: str
    format: int
    shards: tuple[str, ...]
    segments: tuple[int, ...]
    """How many Tantivy segments each shard gave."""
    bases: tuple[int, ...]
    """First dense id of each shard."""
    sources: int
    documents: int
    pages: int
    captures: int
    urls: int
    hosts: int
    files: tuple[str, ...]
    """Files that payloads are read from, absolute or relative to the collection folder."""
    names: tuple[str, ...]
    """What each of them is called outside, distinct."""
    crawls: tuple[str, ...]
    """The crawl each of them is of, empty where it is not known."""
    spans: tuple[tuple[int, int], ...]
    """When the first and the last capture of each was fetched, in seconds since the epoch."""
    hashes: dict[str, str]
    """Of the snapshot's own files, by path; those it shares with shards are hashed there."""
    weights: dict[str, Any] = field(default_factory=dict)
    """Of the signals (`webemu.index.rank`)."""
    dense: dict[str, Any] | None = None
    """What `webemu.index.dense` added to it: a snapshot with vectors. None is one without."""
    contents: tuple[str, ...] = ()
    """`contents_of` each shard when the snapshot was built; empty in snapshots of older versions."""


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a snapshot folder."""
    try:
        values = json.loads((folder / "manifest.json").read_text())
    except FileNotFoundError:
        raise SnapshotError(
            f"there is no snapshot {folder.name}",
            action="see the ones there are: webemu snapshots list",
            place=str(folder),
        ) from None
    except ValueError as error:
        raise SnapshotError(
            f"the manifest of snapshot {folder.name} is damaged: {error}",
            action="webemu snapshots build",
            place=f"{folder}/manifest.json",
        ) from error
    known = {one.name for one in fields(Manifest)}
    told: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if name in known}
    try:
        return Manifest(**told)
    except TypeError as error:
        raise SnapshotError(
            f"snapshot {folder.name} is of another version: {error}", action="webemu snapshots build", place=str(folder)
        ) from error


def contents_of(shard: Path) -> str:
    """Return a hash of what is read of a shard's folder while serving, by what its `shard.json` says.

    The names of Tantivy's files are random and its folder is linked into the snapshot, so that it does not count.
    """
    told = json.loads((shard / "shard.json").read_text())
    hashes = sorted(entry for entry in told["hashes"].items() if not entry[0].startswith("text/"))
    return blake2b(json.dumps([told["documents"], told["pages"], hashes]).encode(), digest_size=8).hexdigest()


def check_contents(collection: Path, manifest: Manifest) -> None:
    """Raise SnapshotError if a shard is not the one that the snapshot was built of, though it has its name."""
    for name, contents in zip(manifest.shards, manifest.contents, strict=False):
        shard = collection / "shards" / name
        try:
            there = contents_of(shard)
        except (OSError, ValueError, KeyError) as error:
            raise SnapshotError(f"{shard}/shard.json cannot be read: {error}", action=_REBUILD) from error
        if there != contents:
            raise SnapshotError(
                f"{shard} holds other pages than those that snapshot {manifest.id} was built of; was it copied there?",
                action=_REBUILD,
            )


def current_id(collection: Path) -> str | None:
    """Which snapshot is served, or None."""
    try:
        return (collection / "CURRENT").read_text().strip() or None
    except FileNotFoundError:
        return None


def switch(collection: Path, snapshot: str) -> None:
    """Serve this snapshot from now on; running servers follow."""
    read_manifest(collection / "snapshots" / snapshot)
    temporary = collection / f".CURRENT.{os.getpid()}"
    temporary.write_text(snapshot + "\n")
    temporary.replace(collection / "CURRENT")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write it whole or not at all."""
    part = folder / "manifest.json.part"
    part.write_text(json.dumps(asdict(manifest), indent=1))
    part.replace(folder / "manifest.json")
