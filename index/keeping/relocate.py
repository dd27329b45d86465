"""Moves the folder of a collection, on its own disk by a rename, to another by a copy that keeps hard links.

Killed at any moment, the collection is whole at the old place or at the new one; the same command then ends the move.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import is_collection

_MARK = ".moved-from"
"""File in a copied collection that says where it was copied from, until the old one is gone."""


def relocate(collection: Path, target: Path) -> None:
    """Move a collection to a folder that does not exist yet.

    Raises BadRequest if it exists, unless an interrupted move from here made it.
    """
    if _is_interrupted_move(collection, target):
        _delete_moved(collection, target)
        return
    if target.exists():
        raise BadRequest(f"{target} exists", action="choose another name, or remove it")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        collection.rename(target)
    except OSError:  # another disk
        partial_copy = target.with_name(f".{target.name}.part")
        shutil.rmtree(partial_copy, ignore_errors=True)
        copy_tree(collection, partial_copy)
        (partial_copy / _MARK).write_text(str(collection.resolve()))
        os.sync()
        partial_copy.rename(target)
        _delete_moved(collection, target)


def _is_interrupted_move(collection: Path, target: Path) -> bool:
    """True if the target is a whole copy of the collection, whose old folder was not deleted yet."""
    mark = target / _MARK
    return mark.exists() and mark.read_text() == str(collection.resolve()) and is_collection(target)


def _delete_moved(collection: Path, target: Path) -> None:
    """Delete the old folder of a copied collection: it is hidden first, so that it never looks half whole."""
    hidden = collection.with_name(f".{collection.name}.moved")
    if collection.exists():
        collection.rename(hidden)
    shutil.rmtree(hidden, ignore_errors=True)
    (target / _MARK).unlink(missing_ok=True)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder; files that have several names in it have them in the copy too."""
    copies: dict[tuple[int, int], Path] = {}
    for folder, _, names in os.walk(source):
        here = target / Path(folder).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        for name in names:
            path, stat = Path(folder, name), Path(folder, name).lstat()
            if (earlier := copies.get((stat.st_dev, stat.st_ino))) is not None:
                os.link(earlier, here / name)
                continue
            shutil.copy2(path, here / name, follow_symlinks=False)
            copies[stat.st_dev, stat.st_ino] = here / name
