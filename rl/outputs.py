"""Check of output files before the work of a command, which may take hours, begins."""

from __future__ import annotations

import os
from pathlib import Path

from webemu.agent_client.errors import BadRequest


def check_writable(*paths: Path | None) -> None:
    """Raise if one of these files cannot be written; None stands for an output that was not requested.

    Raises: BadRequest if a path is a folder, or its parent folder does not exist or is read-only.
    """
    for path in paths:
        if path is not None and (obstacle := _write_obstacle(path)):
            raise BadRequest(f"{path} cannot be written: {obstacle}", action="name a file in an existing folder")


def _write_obstacle(path: Path) -> str:
    """Return why a file cannot be written; empty if it can."""
    if path.is_dir():
        return "it is a folder"
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist"
    return "" if os.access(path.parent, os.W_OK) else f"the folder {path.parent} is read-only"
