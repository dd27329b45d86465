"""WARC files of a snapshot grouped by crawl, under paths such as Common Crawl's bucket has.

Files that do not name their crawl belong to one whose id is made from the week of their last capture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from weakref import WeakKeyDictionary

from webemu.emulator.types import Archive, Capture
from webemu.emulator.world import World

_ID = re.compile(r"CC-MAIN-\d{4}(?:-\d{2}|-\d{4})?")
_FOLDER = "crawl-data/"


@dataclass(frozen=True, slots=True)
class Crawls:
    """WARC files of a snapshot and the crawls they belong to."""

    of: Mapping[str, str]
    """Crawl id by the path of a file on disk."""
    names: Mapping[str, str]
    """Path in the bucket by the path of a file on disk."""
    files: Mapping[str, Archive]
    """Files by their path in the bucket."""
    spans: Mapping[str, tuple[int, int]]
    """Times of the first and last capture of each crawl, in seconds since the epoch; the newest crawl first."""

    def crawl(self, capture: Capture) -> str:
        """Return the id of the crawl that made a capture; empty if its file is unknown."""
        return self.of.get(capture.record[0], "")

    def filename(self, capture: Capture) -> str:
        """Return the bucket path of the file that holds a capture; empty if it is unknown."""
        return self.names.get(capture.record[0], "")


_KNOWN: WeakKeyDictionary[World, Crawls] = WeakKeyDictionary()
"""Crawl files of every open snapshot."""


def crawls_of(world: World) -> Crawls:
    """Return the crawls of a snapshot; computed once and cached while the snapshot is open."""
    if (known := _KNOWN.get(world.base)) is None:
        known = _KNOWN[world.base] = _crawls(world.archives())
    return known


def _crawls(archives: Sequence[Archive]) -> Crawls:
    # All files without a crawl id share one, of the week in which the last of them ended.
    nameless = [archive.last for archive in archives if not _ID.fullmatch(archive.crawl)]
    other = crawl_id(max(nameless, default=0))
    of = {one.path: one.crawl if _ID.fullmatch(one.crawl) else other for one in archives}
    names = {one.path: _name(one.name, of[one.path]) for one in archives}
    spans: dict[str, tuple[int, int]] = {}
    for one in archives:
        if one.last:
            first, last = spans.get(of[one.path], (one.first, one.last))
            spans[of[one.path]] = min(first, one.first), max(last, one.last)
    newest_first = dict(sorted(spans.items(), key=lambda item: (-item[1][1], item[0])))
    return Crawls(of, names, {names[one.path]: one for one in archives}, newest_first)


def _name(name: str, crawl: str) -> str:
    return name if name.startswith(_FOLDER) else f"{_FOLDER}{crawl}/{name.lstrip('/')}"


def crawl_id(seconds: int) -> str:
    """Return the id `CC-MAIN-YYYY-WW` of the ISO week that a time (seconds since the epoch) falls into."""
    year, week, _ = datetime.fromtimestamp(seconds, UTC).isocalendar()
    return f"CC-MAIN-{year:04}-{week:02}"
