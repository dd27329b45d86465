"""The peer pywb over WARC files: its process, and its URL for a page (`requirements-pywb.txt`)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers.process import run_server
from webemu.api.bench.server import Server

COLLECTION = "bench"
"""Name of the collection in pywb."""


@contextmanager
def run_pywb(programs: Path, folder: Path, warcs: Sequence[Path]) -> Iterator[Server]:
    """Run pywb with one collection of the files, built in `folder` if it is missing. `programs` is pywb's `bin`."""
    if not (folder / "ready").exists():
        _build_collection(programs, folder, warcs)
    command = [str(programs / "wayback"), "-b", "127.0.0.1", "-p", "{port}"]
    with run_server(command, folder, "/") as server:
        yield server


def _build_collection(programs: Path, folder: Path, warcs: Sequence[Path]) -> None:
    """Create the collection and index the files."""

    def manage(*arguments: str) -> None:
        command = [str(programs / "wb-manager"), *arguments, COLLECTION]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "collections" / COLLECTION).exists():
        manage("init")
    for number, path in enumerate(warcs):
        link = folder / "collections" / COLLECTION / "archive" / f"{number}-{path.name}"
        if not link.is_symlink():
            link.symlink_to(path.resolve())
    manage("reindex")
    (folder / "ready").touch()


def replay_target(url: str, time: str = "") -> str:
    """Return the request target of a page without rewriting, at its latest time or at `time` (14 digits)."""
    return f"/{COLLECTION}/{time}id_/{url}"
