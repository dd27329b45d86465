"""Copies payloads into the collection, so that source files may go; and follows source files that were moved.

A file is copied beside its place and renamed, then the catalog names it, then the manifests do: whichever of the two
paths a manifest has, the bytes are there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from webemu.emulator.errors import SourceError
from webemu.index.catalog import Catalog
from webemu.index.manifest import read_manifest, write_manifest

FOLDER = "payloads"
"""Folder of copies in a collection."""
_PIECE_BYTES = 1 << 20
_FOREIGN = "SELECT source_id, path, bytes FROM sources WHERE copy IS NULL AND path LIKE '/%' ORDER BY source_id"


def own_payloads(collection: Path, on_bytes: Callable[[int], object] = lambda count: None) -> int:
    """Copy the source files that payloads are read from into the collection; return their number.

    Raises SourceError if a file is gone, or is not the one that was ingested.
    """
    with Catalog(collection, read_only=True) as catalog:
        rows = catalog.db.execute(_FOREIGN).fetchall()
    (collection / FOLDER).mkdir(exist_ok=True)
    renamed = {path: _copy_source(collection, source, Path(path), on_bytes) for source, path, _ in rows}
    change_paths(collection, renamed)
    return len(renamed)


def count_foreign_bytes(collection: Path) -> int:
    """Return the size of the source files that payloads are read from."""
    with Catalog(collection, read_only=True) as catalog:
        return sum(size for _, _, size in catalog.db.execute(_FOREIGN).fetchall())


def _copy_source(collection: Path, source: int, path: Path, on_bytes: Callable[[int], object]) -> str:
    """Copy a source file unless its copy is complete; return the path of the copy inside the collection."""
    target = collection / FOLDER / f"{source:016x}{''.join(path.suffixes[-2:])}"
    if not target.exists():
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        digest = blake2b(digest_size=8)
        with temporary.open("wb") as file:
            for piece in _read_pieces(path):
                digest.update(piece)
                file.write(piece)
                on_bytes(len(piece))
            file.flush()
            os.fsync(file.fileno())
        if int.from_bytes(digest.digest()) >> 1 != source:
            temporary.unlink()
            raise SourceError(f"{path} is not the file that was ingested", action="restore it")
        temporary.replace(target)
    return str(target.relative_to(collection))


def _read_pieces(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece
    except OSError as error:
        raise SourceError(
            f"{path} cannot be read: {error.strerror}", action="restore it, or say where it is: webemu move --sources"
        ) from error


def move_sources(collection: Path, old: str, new: str) -> int:
    """Let sources below the path `old` be read below `new`; return their number.

    Raises SourceError if one of them is not there.
    """
    with Catalog(collection, read_only=True) as catalog:
        paths = [path for _, path, _ in catalog.db.execute(_FOREIGN).fetchall()]
    renamed = {path: _moved(path, old, new) for path in paths if Path(path).is_relative_to(old)}
    if missing := [path for path in renamed.values() if not Path(path).is_file()]:
        raise SourceError(f"{missing[0]} does not exist", action="give the folder that the files were moved to")
    change_paths(collection, renamed)
    return len(renamed)


def _moved(path: str, old: str, new: str) -> str:
    return str(Path(new).resolve() / Path(path).relative_to(old))


def change_paths(collection: Path, renamed: Mapping[str, str]) -> None:
    """Replace paths of sources in the catalog, then in the manifests of all snapshots."""
    with Catalog(collection) as catalog:
        catalog.db.execute("BEGIN TRANSACTION")
        for old, new in renamed.items():
            catalog.db.execute("UPDATE sources SET path = ? WHERE path = ?", [new, old])
        catalog.db.execute("COMMIT")
    for path in sorted(collection.glob("snapshots/*/manifest.json")):
        manifest = read_manifest(path.parent)
        files = tuple(renamed.get(file, file) for file in manifest.files)
        if files != manifest.files:
            write_manifest(path.parent, replace(manifest, files=files))
