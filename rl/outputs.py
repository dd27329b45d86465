"""Where a command is going to write: looked at before the work, which may take hours."""

from __future__ import annotations

import os
from pathlib import Path

from webemu.agent_client.errors import BadRequest


def writable(*paths: Path | None) -> None:
    """Raises BadRequest where one of these files could not be written; those that were not asked for are None."""
    for path in paths:
        if path is not None and (why := _hindrance(path)):
            raise BadRequest(f"{path} cannot be written: {why}", action="name a file in a folder that is there")


def _hindrance(path: Path) -> str:
    if path.is_dir():
        return "it is a folder"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return "" if os.access(path.parent, os.W_OK) else f"the folder {path.parent} is read-only"
