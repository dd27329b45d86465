"""Figures of all workers of a server: each writes its own to a shared folder every second, and any of them can sum up.

The file of a worker that died remains with its last figures, so that no sum ever decreases.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

PERIOD = 1.0
"""Seconds between two writes."""
Figures = Mapping[str, Any]
"""Figures of one worker, as `Counters.to_dict` returns them."""


class Tally:
    """Reads and writes the figures of the workers. Without a folder this process is the only worker."""

    def __init__(self, own: Callable[[], Figures], folder: Path | None) -> None:
        self._own = own
        self._folder = folder

    def write(self) -> None:
        """Write the figures of this worker for the others to read."""
        if self._folder is None:
            return
        part = self._folder / f"{os.getpid()}.part"
        with suppress(OSError):  # the folder is deleted when the server stops
            # Written aside and renamed, so that no reader sees half a file.
            part.write_text(json.dumps(self._own()))
            part.replace(self._folder / f"{os.getpid()}.json")

    def read(self) -> list[Figures]:
        """Return the figures of every worker that ever ran, this one first."""
        found = [self._own()]
        for path in sorted(self._folder.glob("*.json")) if self._folder else ():
            if path.stem != str(os.getpid()):
                with suppress(OSError, ValueError):
                    found.append(json.loads(path.read_text()))
        return found


def living(all_of: Sequence[Figures]) -> list[Figures]:
    """Return the figures of the workers whose process still exists."""
    return [one for one in all_of if _lives(one["pid"])]


def _lives(pid: int) -> bool:
    """True if there is a process with this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def total(all_of: Sequence[Figures], *names: str) -> float:
    """Return the sum of one figure over the workers, named by its path; absent ones count as 0."""
    return sum(_at(one, names) for one in all_of)


def _at(figures: Any, names: Sequence[str]) -> float:
    for name in names:
        figures = figures.get(name, {})
    return figures or 0


def requests(all_of: Sequence[Figures]) -> dict[tuple[str, str], int]:
    """Return the number of requests by route and status, over all workers."""
    found: dict[tuple[str, str], int] = {}
    for one in all_of:
        for place, statuses in one["requests"].items():
            for status, number in statuses.items():
                found[place, status] = found.get((place, status), 0) + number
    return found


def times(all_of: Sequence[Figures]) -> dict[str, tuple[float, list[int]]]:
    """Return, by route, the total seconds and the number of requests in each bucket, over all workers."""
    found: dict[str, tuple[float, list[int]]] = {}
    for one in all_of:
        for place, spent in one["seconds"].items():
            seconds, buckets = found.get(place, (0.0, [0] * len(spent["buckets"])))
            added = [a + b for a, b in zip(buckets, spent["buckets"], strict=True)]
            found[place] = (seconds + spent["sum"], added)
    return found
