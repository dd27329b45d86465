"""Fingerprints of the code that builds shards and snapshots. They are part of ids, so changed code rebuilds.

A fingerprint hashes the source of every module that decides what is built, and the versions of the libraries that do.
It errs on the side of change: a changed comment also rebuilds (`docs/decisions/016-builders-are-part-of-a-name.md`).
`tests/index/test_builders.py` compares these lists with what the builders import.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from importlib.resources import files

SHARD_SOURCES = (
    "emulator/dates.py",
    "emulator/urls.py",
    "index/analysis.py",
    "index/blobs.py",
    "index/earlier_results.py",
    "index/page_columns.py",
    "index/quantities.py",
    "index/query_rows.py",
    "index/record_reader.py",
    "index/records.py",
    "index/shard.py",
    "index/shard_file.py",
    "index/signals/anchors.py",
    "index/signals/earlier_anchors.py",
    "index/signals/linked_hosts.py",
    "index/signals/quality.py",
    "index/signals/urls.py",
    "index/source_classes.py",
    "index/partitions/partition.py",
    "index/text.py",
    "index/titles.py",
    "index/vocabulary.py",
)
"""Sources that decide the content of a shard."""
SNAPSHOT_SOURCES = (
    *SHARD_SOURCES,
    "index/arrow_arrays.py",
    "index/columns.py",
    "index/duplicate_clusters.py",
    "index/evaluation/held_out.py",
    "index/lookup.py",
    "index/lookup_rows.py",
    "index/lookup_writer.py",
    "index/removal/rules.py",
    "index/removal/sweep.py",
    "index/resolve.sql",
    "index/schema.py",
    "index/signals/duplicates.py",
    "index/signals/hosts.py",
    "index/snapshot.py",
    "index/sorter.py",
    "index/unindexable.py",
)
"""Sources that decide the content of a snapshot beside its shards."""
DENSE_SOURCES = (
    "index/dense/build.py",
    "index/dense/earlier_vectors.py",
    "index/dense/passages.py",
    "index/dense/store.py",
    "index/records.py",
)
"""Sources that decide which vectors a snapshot gets from given models."""
PARTITION_SOURCES = ("index/partitions/overlap.py", "index/partitions/split.py")
"""Sources that decide what partitions know of the whole index."""
LIBRARIES = ("duckdb", "surt", "tantivy", "w3lib")
"""Libraries that decide what is built. Those that only store it, such as zstandard, do not count."""


@cache
def hash_sources(sources: tuple[str, ...]) -> str:
    """Return a hash of these source files and of the library versions, in hex."""
    digest = blake2b(digest_size=8)
    for name in (unicodedata.unidata_version, *(f"{library} {version(library)}" for library in LIBRARIES)):
        digest.update(name.encode() + b"\n")
    for source in sources:
        package, _, path = source.partition("/")
        text = files(f"webemu.{package}").joinpath(path).read_bytes().replace(b"\r\n", b"\n")
        digest.update(b"%b %d\n" % (source.encode(), len(text)) + text)
    return digest.hexdigest()
