"""Hashes of files: the id of a source, and the check that a stored file is what was written.

Digests that WARC records state are in `webemu.index.payload_digests`.
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path


def hash_file(path: Path) -> int:
    """Return 63 bits of blake2b over a file: equal bytes are one source under any name."""
    with path.open("rb", buffering=0) as file:
        digest = file_digest(file, partial(blake2b, digest_size=8))
    return int.from_bytes(digest.digest()) >> 1  # 63 bits: ids are signed 64-bit integers in DuckDB


def hash_folder(folder: Path) -> dict[str, str]:
    """Return the hashes of files below a folder by relative path. Files that are linked from elsewhere are left out."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_nlink == 1)
    return {str(path.relative_to(folder)): f"{hash_file(path):016x}" for path in files}


def find_damage(folder: Path, hashes: dict[str, str]) -> list[str]:
    """Return one line for each file of a folder that is missing or does not have its hash; empty if all are intact."""
    damage = []
    for name, digest in hashes.items():
        path = folder / name
        if not path.exists():
            damage.append(f"{path} is missing")
        elif f"{hash_file(path):016x}" != digest:
            damage.append(f"{path} does not match the hash that was recorded when it was built")
    return damage
