"""The folder of a generated web: it appears under its name when it is whole, and replaces only its like."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from webemu.emulator.errors import SourceError

TASKS = "tasks.jsonl"


@contextmanager
def writing(out: Path) -> Iterator[Path]:
    """A folder to write to, which becomes `out` at the end. Raises SourceError where `out` is something else."""
    if out.exists() and not (out / TASKS).exists() and (not out.is_dir() or any(out.iterdir())):
        raise SourceError(f"{out} exists and is no generated web", action="name a folder that does not exist yet")
    unfinished = out.with_name(f"{out.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    yield unfinished
    shutil.rmtree(out, ignore_errors=True)
    unfinished.replace(out)
