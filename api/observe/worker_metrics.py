"""What all workers of a server did: each leaves its figures in their folder every second, and who is asked adds up.

A worker that died leaves what it did up to its last second, so that no sum ever falls.
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


class Tally:
    """One worker's view of all; without a folder it is the only one."""

    def __init__(self, own: Callable[[], Figures], folder: Path | None) -> None:
        self._own = own
        self._folder = folder

    def write(self) -> None:
        """Leave what this worker did for the others."""
        if self._folder is None:
            return
        part = self._folder / f"{os.getpid()}.part"
        with suppress(OSError):  # the folder goes when the server ends
            part.write_text(json.dumps(self._own()))
            part.replace(self._folder / f"{os.getpid()}.json")

    def read(self) -> list[Figures]:
        """Of each worker that ever was, this one first."""
        found = [self._own()]
        for path in sorted(self._folder.glob("*.json")) if self._folder else ():
            if path.stem != str(os.getpid()):
                with suppress(OSError, ValueError):
                    found.append(json.loads(path.read_text()))
        return found


def living(all_of: Sequence[Figures]) -> list[Figures]:
    """Those whose process is there."""
    return [one for one in all_of if _lives(one["pid"])]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def total(all_of: Sequence[Figures], *names: str) -> float:
    """The sum of one figure, named by its path."""
    return sum(_at(one, names) for one in all_of)


def _at(figures: Any, names: Sequence[str]) -> float:
    for name in names:
        figures = figures.get(name, {})
    return figures or 0


def requests(all_of: Sequence[Figures]) -> dict[tuple[str, str], int]:
    """How many by place and status."""
    found: dict[tuple[str, str], int] = {}
    for one in all_of:
        for place, statuses in one["requests"].items():
            for status, number in statuses.items():
                found[place, status] = found.get((place, status), 0) + number
    return found


def times(all_of: Sequence[Figures]) -> dict[str, tuple[float, list[int]]]:
    """By place: seconds in all, and how many requests in each bucket."""
    found: dict[str, tuple[float, list[int]]] = {}
    for one in all_of:
        for place, spent in one["seconds"].items():
            seconds, buckets = found.get(place, (0.0, [0] * len(spent["buckets"])))
            added = [a + b for a, b in zip(buckets, spent["buckets"], strict=True)]
            found[place] = (seconds + spent["sum"], added)
    return found
