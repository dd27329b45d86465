"""Hashes of files: what a source is called by, and what tells that a file at rest is not what was written."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

_STEP = 1 << 20


def fingerprint(path: Path, progress: Callable[[int], None] | None = None) -> int:
    """63 bits of blake2b over the whole file: the same bytes are one source under any name.

    Progress is told how many bytes each step read.
    """
    digest = blake2b(digest_size=8)
    with path.open("rb", buffering=0) as file:
        while part := file.read(_STEP):
            digest.update(part)
            if progress is not None:
                progress(len(part))
    return int.from_bytes(digest.digest()) >> 1


def digests(folder: Path) -> dict[str, str]:
    """Hashes of the files below a folder that are its own (not linked from elsewhere), by relative path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_nlink == 1)
    return {str(path.relative_to(folder)): f"{fingerprint(path):016x}" for path in files}


def changed(folder: Path, hashes: dict[str, str]) -> list[str]:
    """What is wrong with the files of a folder: one line for each that is missing or not as it was."""
    faults = []
    for name, digest in hashes.items():
        path = folder / name
        if not path.exists():
            faults.append(f"{path} is missing")
        elif f"{fingerprint(path):016x}" != digest:
            faults.append(f"{path} is not as it was built")
    return faults
