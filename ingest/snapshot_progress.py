"""Builds the snapshot of a collection with a progress bar on standard error."""

from __future__ import annotations

import sys
from pathlib import Path

from tqdm import tqdm

from webemu.index.snapshot import build_snapshot


def build_with_progress(folder: Path, workers: int, quiet: bool) -> str:
    """Build the snapshot and return its name, showing a progress bar."""
    with tqdm(unit="page", desc="indexing", disable=quiet, file=sys.stderr) as bar:

        def progress(stage: str, done: int, total: int) -> None:
            bar.set_description(stage)
            bar.total = total
            bar.update(done - bar.n)

        return build_snapshot(folder, workers, progress)
