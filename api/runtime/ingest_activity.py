"""Work of `webemu ingest` on a collection that is served, read from the folders that it works in.

No lock is tried: a server that held it, even for a moment, could stop an ingest that begins.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def describe_ingest(collection: Path) -> dict[str, object]:
    """Return the number of sources that are read now, of those that wait to be imported, and of shards and snapshots
    that are built, and when the catalog last changed (seconds since the epoch; None without one).
    """
    staged = [name for name in _list_names(collection / "staging") if not name.startswith(".")]
    readers = [name for name in staged if _is_working(name)]
    finished = [name for name in staged if not name.rpartition(".")[2].isdigit()]
    built = [
        name for part in ("shards", "snapshots") for name in _list_names(collection / part) if name.startswith(".")
    ]
    changed = None
    with suppress(OSError):
        changed = (collection / "catalog.duckdb").stat().st_mtime
    return {"reading": len(readers), "waiting": len(finished), "building": len(built), "catalog_changed": changed}


def _list_names(folder: Path) -> Iterator[str]:
    """Yield the names in a folder; none if it cannot be read."""
    with suppress(OSError):
        yield from (path.name for path in folder.iterdir())


def _is_working(name: str) -> bool:
    """True if a staging folder belongs to a process that runs on this machine; its name ends with the process id."""
    pid = name.rpartition(".")[2]
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
