"""Writes the URL lookup of a snapshot: whole, or as a copy of an earlier one with what further sources change.

A file of three pages is added to a million at the cost of the URLs that it touches: those with the SURTs of its
captures, and those whose revisits may now repeat one of its payloads (`write_touched`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import duckdb
import lmdb
import orjson

from webemu.emulator import urls
from webemu.emulator.errors import SnapshotError
from webemu.index.digests import find_damage
from webemu.index.lookup import FILE, MAX_SURT, MAX_URL, STATUS, lookup_key, order_key
from webemu.index.manifest import FORMAT, Manifest, read_manifest
from webemu.index.sorter import BATCH_PAIRS, PairSorter

Row = tuple[object, ...]
Pair = tuple[bytes, bytes]


class LookupCounts(NamedTuple):
    """Counts of what a lookup file holds."""

    captures: int
    urls: int
    hosts: int


class EarlierLookup(NamedTuple):
    """Lookup file of a snapshot of some of the same sources, as they are now."""

    path: Path
    sources: tuple[int, ...]
    counts: LookupCounts


def find_earlier_lookup(snapshots: Path, builder: str, contents: Mapping[int, int]) -> EarlierLookup | None:
    """Return the intact lookup in a folder of snapshots that has the most captures of the given sources and no other.

    - builder: hash of the code that builds snapshots
    - contents: `content_hash` of the catalog by source
    """
    manifests: list[Manifest] = []
    for folder in snapshots.glob("*/manifest.json"):
        try:
            manifest = read_manifest(folder.parent)
        except SnapshotError:  # of another version, or damaged: others may serve
            continue
        earlier_contents = zip(manifest.source_ids, manifest.source_contents, strict=True)
        is_usable = manifest.format == FORMAT and manifest.builder == builder and FILE in manifest.hashes
        if is_usable and all(contents.get(source) == content for source, content in earlier_contents):
            manifests.append(manifest)
    for manifest in sorted(manifests, key=lambda manifest: (-manifest.captures, manifest.id)):
        folder = snapshots / manifest.id
        if not find_damage(folder, {FILE: manifest.hashes[FILE]}):
            counts = LookupCounts(manifest.captures, manifest.urls, manifest.hosts)
            return EarlierLookup(folder / FILE, manifest.source_ids, counts)
    return None


_TOUCHED = """
CREATE OR REPLACE TEMP TABLE added_capture AS
SELECT url, url_surtkey, digest_key, warc_record_id FROM captures
WHERE source_id NOT IN (SELECT unnest($sources::BIGINT[]));
CREATE OR REPLACE TEMP TABLE touched AS
SELECT url_surtkey AS surt FROM added_capture
UNION
SELECT url_surtkey FROM captures
WHERE warc_record_type = 'revisit'
  AND (refers_to_url IN (SELECT url FROM added_capture)
       OR digest_key IN (SELECT digest_key FROM added_capture WHERE digest_key IS NOT NULL)
       OR refers_to_id IN (SELECT warc_record_id FROM added_capture WHERE warc_record_id IS NOT NULL))
"""


def write_touched(db: duckdb.DuckDBPyConnection, earlier: EarlierLookup | None) -> None:
    """Define the macro is_touched(surt): true if captures of a SURT may differ from those of the earlier lookup."""
    if earlier is None:
        db.execute("CREATE OR REPLACE TEMP MACRO is_touched(key) AS true")
        return
    first, second = _TOUCHED.split(";")
    db.execute(first, {"sources": list(earlier.sources)})
    db.execute(second)
    db.execute("CREATE OR REPLACE TEMP MACRO is_touched(key) AS key IN (SELECT surt FROM touched)")


def write_lookup(
    path: Path,
    rows: Iterable[Row],
    surts: Iterable[tuple[str, list[str]]],
    exchanges: Iterable[Row],
    pairs: PairSorter,
    earlier: EarlierLookup | None = None,
) -> LookupCounts:
    """Write the lookup file (`webemu.index.lookup`) and return what it holds.

    - rows: (url, head, *FIELDS), ordered by URL and time. `head` is None, or [source, offset, length] of the record
      whose HTTP head goes with the payload (revisits)
    - surts: (SURT, URLs that have it), in order
    - exchanges: (key, url, *FIELDS) of all recorded exchanges, ordered by key and time
    - pairs: an empty sorter, which decides the order on disk
    - earlier: a lookup that is copied; `rows` and `surts` are then those that are touched (`write_touched`)
    """
    hosts: set[str] = set()
    count, captures_count = 0, 0
    for url, group in groupby(rows, key=itemgetter(0)):
        # The head comes last and only if there is one: most captures are no revisits.
        captures = [[*row[2:], row[1]] if row[1] else list(row[2:]) for row in group]
        exact = lookup_key("e", url)
        pairs.add(exact, orjson.dumps([url, captures]))
        pairs.add(lookup_key("c", urls.canonical_key(url)), exact[1:])  # without the letter: 16 bytes per URL
        if (stripped_url := urls.strip_idle_parameters(url)) != url:
            pairs.add(lookup_key("l", urls.surt_key(stripped_url)), exact[1:])
        name = urls.host_of(url)
        hosts.add(name)
        if captures[-1][STATUS] == 404:
            pairs.add(_error_key(name, url, exact), b"")
        count += 1
        captures_count += len(captures)
    for surt, members in surts:
        hashes = [lookup_key("e", member)[1:] for member in sorted(members)]
        pairs.add(lookup_key("s", surt), b"".join(hashes))
        surt_bytes = surt.encode("utf-8", "surrogatepass")
        for url_hash in hashes:
            pairs.add(order_key(surt_bytes) + b"\0" + url_hash, surt_bytes if len(surt_bytes) > MAX_SURT else b"")
    for key, same_key in groupby(exchanges, key=itemgetter(0)):
        recorded = [[url, capture_fields] for _, url, *capture_fields in same_key]
        pairs.add(lookup_key("r", str(key)), orjson.dumps(recorded))
        hosts.update(urls.host_of(str(url)) for url, _ in recorded)
    for name in hosts:
        pairs.add(lookup_key("h", name), b"")
    written = LookupCounts(captures_count, count, len(hosts))
    if earlier is None:
        _write_pairs(path, pairs, pairs.map_size)
        return written
    replaced = _patch(path, earlier.path, pairs, pairs.map_size)
    return LookupCounts(*(a + b - c for a, b, c in zip(earlier.counts, written, replaced, strict=True)))


def _error_key(host: str, url: str, exact: bytes) -> bytes:
    """Return the key which says that a URL of a host was last captured as a 404; `exact` is the URL's own key."""
    return lookup_key("m", host) + url.encode("utf-8", "surrogatepass")[:MAX_URL] + exact[1:]


def _merge_pairs(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield one pair for each key: the hashes of a group one after the other, in order."""
    for key, group in groupby(pairs, key=itemgetter(0)):
        yield key, b"".join(sorted(value for _, value in group))


def _write_pairs(path: Path, pairs: Iterable[Pair], size: int) -> None:
    """Write pairs to LMDB in key order, so that pages are full; LMDB holds one batch in memory."""
    merged_pairs = _merge_pairs(pairs)
    with lmdb.open(str(path), subdir=False, map_size=size, lock=False, sync=False) as env:
        while batch := list(islice(merged_pairs, BATCH_PAIRS)):
            with env.begin(write=True) as txn:
                for key, value in batch:
                    txn.put(key, value, append=True)
        env.sync(True)


def _patch(path: Path, earlier: Path, pairs: Iterable[Pair], size: int) -> LookupCounts:
    """Write a copy of an earlier file with new pairs; return how much of the earlier one they replaced."""
    shutil.copyfile(earlier, path)
    merged_pairs = _merge_pairs(pairs)
    captures, urls_count, hosts = 0, 0, 0
    with lmdb.open(str(path), subdir=False, map_size=path.stat().st_size + size, lock=False, sync=False) as env:
        while batch := list(islice(merged_pairs, BATCH_PAIRS)):
            with env.begin(write=True) as txn:
                for key, value in batch:
                    before = txn.get(key)
                    if before is not None and key[:1] in b"cl":
                        value = _unite(before, value)
                    elif before is not None and key[:1] == b"h":
                        hosts += 1
                    elif before is not None and key[:1] == b"e":
                        url, captures_before = orjson.loads(before)
                        urls_count += 1
                        captures += len(captures_before)
                        if captures_before[-1][STATUS] == 404 != orjson.loads(value)[1][-1][STATUS]:
                            txn.delete(_error_key(urls.host_of(url), url, key))
                    txn.put(key, value)
        env.sync(True)
    return LookupCounts(captures, urls_count, hosts)


def _unite(before: bytes, after: bytes) -> bytes:
    """Return the hashes of either group, in order."""
    return b"".join(sorted({group[i : i + 16] for group in (before, after) for i in range(0, len(group), 16)}))
