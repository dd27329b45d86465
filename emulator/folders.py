"""Finds the collections that a root holds, so that a misspelled name is an error that names them and nothing waits."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest

SIGNS = ("catalog.duckdb", "CURRENT", "snapshots")
"""Files of a collection; one of them is enough to know it, since a part of a split one has no catalog."""
SHOWN = 20
"""Collections that an error names."""


def existing(config: Config, action: str = "") -> Path:
    """Return the folder of the config's collection. Raises BadRequest, which names those that are there.

    `action` says what else can be done.
    """
    if is_collection(config.folder):
        return config.folder
    message, advice = _problem(config)
    raise BadRequest(message, action=f"{advice}; {action}" if action else advice)


def is_collection(folder: Path) -> bool:
    """True if a folder holds a collection, with a snapshot or without."""
    return any((folder / sign).exists() for sign in SIGNS)


def collections(root: Path) -> list[str]:
    """Return the names of the collections of a root, sorted; empty if it is no folder."""
    return sorted(path.name for path in root.iterdir() if is_collection(path)) if root.is_dir() else []


def _problem(config: Config) -> tuple[str, str]:
    """Return why there is no collection, and what to do."""
    name, root = config.collection, config.root
    absent = f"there is no collection {name!r} in {root}"
    if is_collection(root):
        place = root.resolve()
        return f"{absent}, which is a collection itself", f"use --root {place.parent} --collection {place.name}"
    if not root.exists():
        return f"{absent}: there is no such folder", "name the folder of all collections with --root (or WEBEMU_ROOT)"
    if not (names := collections(root)):
        return f"{absent}, nor any other", f"webemu ingest SOURCE... --root {root} --collection {name} makes one"
    close = get_close_matches(name, names)
    names = [*close, *(one for one in names if one not in close)]
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return f"{absent}; it has {', '.join(names[:SHOWN])}{more}", f"name one: --collection {names[0]}"
