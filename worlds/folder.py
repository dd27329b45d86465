"""Create the folder of a generated web so that it appears only when complete and replaces nothing but another such
web.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from webemu.emulator.errors import SourceError

TASKS_FILE = "tasks.jsonl"
"""Name of the file of tasks; its presence marks a folder as a generated web."""


@contextmanager
def open_output_folder(out: Path) -> Iterator[Path]:
    """Yield a temporary folder to write to; it becomes `out` when the block ends without an error.

    Raises SourceError if `out` exists, is not empty, and is not a generated web.
    """
    if out.exists() and not (out / TASKS_FILE).exists() and (not out.is_dir() or any(out.iterdir())):
        raise SourceError(
            f"{out} exists and is not a generated web (it has no {TASKS_FILE})",
            action="name a folder that is empty or does not exist yet",
        )
    # Written beside `out`, on the same file system, so that the last step is a rename.
    unfinished = out.with_name(f"{out.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    yield unfinished
    shutil.rmtree(out, ignore_errors=True)
    unfinished.replace(out)
