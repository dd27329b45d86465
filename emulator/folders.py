"""Finds the collections in a root folder, so that a misspelled name fails at once and lists the existing ones."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest

MARKER_FILES = ("catalog.duckdb", "CURRENT", "snapshots")
"""Files of a collection. One of them is enough to mark it, since a partition of a split collection has no catalog."""
MAX_NAMES_LISTED = 20
"""Maximum number of collections that an error lists."""


def find_collection(config: Config, action: str = "") -> Path:
    """Return the folder of the configured collection. Raises BadRequest, which lists the existing collections, if it
    is missing.

    `action` adds another way out to the error.
    """
    if is_collection(config.collection_folder):
        return config.collection_folder
    message, advice = _explain_missing(config)
    raise BadRequest(message, action=f"{advice}; {action}" if action else advice)


def is_collection(folder: Path) -> bool:
    """True if a folder holds a collection, with or without a snapshot."""
    return any((folder / sign).exists() for sign in MARKER_FILES)


def list_collections(root: Path) -> list[str]:
    """Return the names of the collections in a root, sorted; empty if the root is not a folder."""
    return sorted(path.name for path in root.iterdir() if is_collection(path)) if root.is_dir() else []


def _explain_missing(config: Config) -> tuple[str, str]:
    """Return why there is no such collection, and what to do."""
    name, root = config.collection, config.root
    absent = f"there is no collection {name!r} in {root}"
    if is_collection(root):
        folder = root.resolve()
        return f"{absent}, which is a collection itself", f"use --root {folder.parent} --collection {folder.name}"
    if not root.exists():
        return f"{absent}: that folder does not exist", "set --root (or WEBEMU_ROOT) to the folder of all collections"
    if not (names := list_collections(root)):
        return f"{absent}, nor any other", f"create one: webemu ingest SOURCE... --root {root} --collection {name}"
    close = get_close_matches(name, names)
    names = [*close, *(one for one in names if one not in close)]
    more = f" and {len(names) - MAX_NAMES_LISTED:,} more" if len(names) > MAX_NAMES_LISTED else ""
    return (
        f"{absent}; it has {', '.join(names[:MAX_NAMES_LISTED])}{more}",
        f"choose one of them, such as --collection {names[0]}",
    )
