"""Reads a whole snapshot to verify it: every hash, record, view, key and payload. Used by `webemu snapshots verify`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from webemu.emulator.errors import EmulatorError
from webemu.index.blobs import Blobs
from webemu.index.catalog import Catalog
from webemu.index.digests import find_damage, hash_file
from webemu.index.manifest import Manifest, read_manifest
from webemu.index.open import SnapshotPageStore, open_snapshot
from webemu.index.records import read_hit
from webemu.index.shard_file import load_shard


def verify_snapshot(collection: Path, snapshot: str, on_fault: Callable[[str], None]) -> dict[str, int]:
    """Check everything and call `on_fault` with one line for each problem. Return the number of items read, by kind."""
    folder = collection / "snapshots" / snapshot
    try:
        manifest = read_manifest(folder)
        damaged = list(_find_damage(collection, folder, manifest))
        for line in damaged:
            on_fault(line)
        if damaged:
            return {"files": len(damaged)}
        open_snapshot(collection, snapshot)
    except EmulatorError as error:
        on_fault(str(error))
        return {}
    pages = SnapshotPageStore(folder, collection, manifest)
    views = sum(_can_read(partial(pages.text, doc), f"view {doc}", on_fault) for doc in range(manifest.pages))
    records = sum(_check_records(collection, manifest, on_fault))
    captures, payloads = 0, 0
    for url in pages.iter_urls():
        for capture in pages.exact(url):
            captures += 1
            if capture.length:
                payloads += _can_read(partial(pages.payload, capture), f"{url} ({capture.time})", on_fault)
    if captures != manifest.captures:
        on_fault(f"{captures} captures can be looked up, {manifest.captures} were built")
    return {"views": views, "records": records, "captures": captures, "payloads": payloads}


def _find_damage(collection: Path, folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield a line for each file that changed since it was built or ingested; if any did, contents are not read."""
    yield from find_damage(folder, manifest.hashes)
    for name in manifest.shards:
        shard = collection / "shards" / name
        try:
            yield from find_damage(shard, load_shard(shard).hashes)
        except (OSError, ValueError, KeyError) as error:
            yield f"{shard}/shard.json: {error}"
    with Catalog(collection, read_only=True) as catalog:
        sources = catalog.db.execute("SELECT source_id, path FROM sources WHERE copy IS NULL").fetchall()
    redacted = {manifest.files[number] for number in manifest.redacted}
    for source, name in sources:
        path = collection / name
        # Removed records may have been overwritten in the collection's own files.
        is_purged = name in redacted and not Path(name).is_absolute()
        if name in manifest.files and path.exists() and not is_purged and hash_file(path) != source:
            yield f"{path} is not the file that was ingested"


def _read_url(blobs: Blobs, number: int) -> str:
    """Return the URL of a record, after all of it was read. Raises any kind of error if it is damaged."""
    return read_hit(blobs[number], number, 0.0, ()).url


def _can_read(read: Callable[[], object], name: str, on_fault: Callable[[str], None]) -> bool:
    """Call `read`; return True if it succeeds, else report the error under this name."""
    try:
        read()
    except Exception as error:  # damage shows as any kind of error
        on_fault(f"{name}: {error}")
        return False
    return True


def _check_records(collection: Path, manifest: Manifest, on_fault: Callable[[str], None]) -> Iterator[bool]:
    """Yield True for each record of each shard that can be read, else False; report shards of a wrong size."""
    for name in manifest.shards:
        shard = load_shard(collection / "shards" / name)
        blobs = Blobs(collection / "shards" / name / "records")
        if len(blobs) != shard.documents:
            on_fault(f"shard {name}: {len(blobs)} records for {shard.documents} documents")
        for number in range(len(blobs)):
            yield _can_read(partial(_read_url, blobs, number), f"record {number} of {name}", on_fault)
